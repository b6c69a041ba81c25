"""The grading policy: how points become a grade, with extra credit and late days. Pure functions, exact numbers.

The order: extra credit is added, the sum is capped if the policy says so, the late penalty is taken off, the rest is
scaled to what full marks are worth in the gradebook, and only then rounded, half up to the cent.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor

from autograder.gradebooks.match_students import normal

NONE = Fraction(0)
STARTED, EXACT = "started", "exact"
EARNED, FULL_MARKS = "earned", "full marks"
DAY = timedelta(days=1) // timedelta(microseconds=1)


@dataclass(frozen=True)
class Points:
    """What grading gave a student."""

    required: Fraction
    extra: Fraction
    full: Fraction  # full marks: all required points
    all_extra: Fraction = NONE  # what there is of extra credit
    by_staff: int = 0  # tests of which people have set the points


@dataclass(frozen=True)
class Late:
    """What being late costs. A day is 24 hours; the one in which the clocks are set back has 25."""

    deadline: datetime
    percent_per_day: Fraction = NONE
    days: str = STARTED  # or EXACT: a part of a day costs its part
    percent_of: str = EARNED  # or FULL_MARKS
    max_percent: Fraction = Fraction(100)
    grace: timedelta = timedelta(0)  # a tolerance: later than that, the lateness counts from the deadline
    last: datetime | None = None  # after this moment nothing counts
    extensions: Mapping[str, datetime] = field(default_factory=dict)  # normal name -> own deadline; moves `last` too
    zone: tzinfo | None = None  # of moments that name none; without it they are not guessed

    def due(self, student: str) -> datetime:
        """The student's own deadline."""
        return self.extensions.get(normal(student), self.deadline)

    def days_late(self, student: str, handed_in: datetime) -> Fraction:
        """How many days count as late."""
        late = self._lateness(self.due(student), handed_in)
        if late <= self.grace:
            return NONE
        days = Fraction(late // timedelta(microseconds=1), DAY)
        return Fraction(ceil(days)) if self.days == STARTED else days

    def _lateness(self, due: datetime, handed_in: datetime) -> timedelta:
        """The time between two moments, or on the clock of the zone if that is less, in favour of the student."""
        real = handed_in - due
        if self.zone is None:
            return real
        start, end = (moment.astimezone(self.zone).replace(tzinfo=None) for moment in (due, handed_in))
        # In the hour that comes twice, late work stays late.
        return min(real, max(end - start, timedelta.resolution)) if real > timedelta(0) else real

    def too_late(self, student: str, handed_in: datetime) -> bool:
        """Whether nothing counts any more."""
        if self.last is None or self.days_late(student, handed_in) == 0:
            return False
        return handed_in > self.last + (self.due(student) - self.deadline)


@dataclass(frozen=True)
class Policy:
    """How points become a grade."""

    late: Late | None = None
    capped: bool = False  # whether extra credit only makes up for lost points
    worth: Fraction | None = None  # what full marks are worth in the gradebook; None: as many points as there are


@dataclass(frozen=True)
class Grade:
    """A grade and how it came about."""

    points: Points
    counted: Fraction  # with extra credit, capped
    days_late: Fraction
    percent: Fraction  # of the penalty
    penalty: Fraction  # in points
    final: Decimal  # as the gradebook gets it
    explanation: str
    handed_in: datetime | None
    due: datetime | None


def grade_of(student: str, points: Points, policy: Policy, handed_in: datetime | None = None) -> Grade:
    """The grade of a student.

    Args:
        handed_in: when; needed if the policy has deadlines.
    """
    raw = points.required + points.extra
    counted = min(raw, points.full) if policy.capped else raw
    said = [f"{number(points.required)} of {number(points.full)} points"]
    if points.by_staff:
        said[0] += f" ({points.by_staff} test{'s' if points.by_staff > 1 else ''} set by the staff)"
    if points.extra:
        said[0] += f" + {number(points.extra)} extra credit = {number(raw)}"
    if counted < raw:
        said[0] += f", capped at {number(counted)}"
    days = percent = penalty = NONE
    due = policy.late.due(student) if policy.late else None
    if late := policy.late:
        assert handed_in is not None, "a policy with deadlines needs the time"
        days = late.days_late(student, handed_in)
        said.append(f"handed in {shown(handed_in, late.zone)}, due {shown(late.due(student), late.zone)}")
        if late.too_late(student, handed_in):
            percent, penalty = Fraction(100), counted
            said[-1] += ": after the last moment, nothing counts"
        elif days:
            percent = min(days * late.percent_per_day, late.max_percent)
            base = points.full if late.percent_of == FULL_MARKS else counted
            penalty = min(counted, percent / 100 * base)
            said[-1] += f": {number(days)} {'day' if days == 1 else 'days'} late"
            said.append(f"minus {number(percent)} % of {number(base)} = {number(penalty)}")
        else:
            said[-1] += ": on time" if handed_in <= late.due(student) else ": within the grace"
    rest = counted - penalty
    if policy.worth not in (None, points.full):
        said.append(f"{number(rest)} of {number(points.full)} is {number(scaled(rest, points, policy))}")
    final = to_the_cent(scaled(rest, points, policy))
    explanation = "; ".join([*said, f"grade {final}"])
    return Grade(points, counted, days, percent, penalty, final, explanation, handed_in, due)


def scaled(points: Fraction, of: Points, policy: Policy) -> Fraction:
    """Points as the gradebook counts them."""
    return points if policy.worth is None else points * policy.worth / of.full


def to_the_cent(value: Fraction) -> Decimal:
    """A number that is not negative, rounded half up to two decimals."""
    return _rounded(value, 2)


def number(value: Fraction) -> str:
    """A number for people: at most four decimals, no zeros at the end."""
    return format(_rounded(value, 4).normalize(), "f")


def _rounded(value: Fraction, decimals: int) -> Decimal:
    return Decimal(floor(value * 10**decimals + Fraction(1, 2))).scaleb(-decimals)


def shown(moment: datetime, zone: tzinfo | None) -> str:
    """A moment for people."""
    return moment.astimezone(zone or timezone.utc).strftime("%Y-%m-%d %H:%M:%S %z")

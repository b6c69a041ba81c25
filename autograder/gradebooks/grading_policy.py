"""The grading policy: compute a grade from points, with extra credit and late days. All functions are pure.

Extra credit is added, and the sum is capped if the policy says so. Then the late penalty is subtracted, and the rest is
scaled to full marks in the gradebook. Finally, the result is rounded half up, to two decimal places. All numbers are
exact.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor

from autograder.gradebooks.match_students import normal
from autograder.reports.console import listed

NONE = Fraction(0)
STARTED, EXACT = "started", "exact"
EARNED, FULL_MARKS = "earned", "full marks"
DAY = timedelta(days=1) // timedelta(microseconds=1)


@dataclass(frozen=True)
class Points:
    """A student's points."""

    required: Fraction
    extra: Fraction
    full: Fraction  # full marks: all required points
    all_extra: Fraction = NONE  # the maximum of extra credit
    by_staff: int = 0  # number of stages, tests and parts whose points the staff changed


@dataclass(frozen=True)
class Late:
    """The late policy. A day has 24 hours, or 25 if the clocks are set back on that day."""

    deadline: datetime
    percent_per_day: Fraction = NONE
    days: str = STARTED  # or EXACT: a fraction of a day costs that fraction of the penalty
    percent_of: str = EARNED  # or FULL_MARKS
    max_percent: Fraction = Fraction(100)
    grace: timedelta = timedelta(0)  # a tolerance; beyond it, lateness is counted from the deadline
    last: datetime | None = None  # work after this moment gets no points
    extensions: Mapping[str, datetime] = field(default_factory=dict)  # normalised name -> deadline; shifts `last`
    zone: tzinfo | None = None  # for times without a zone; None rejects them

    def due(self, student: str) -> datetime:
        """Return the student's individual deadline."""
        return self.extensions.get(normal(student), self.deadline)

    def days_late(self, student: str, handed_in: datetime) -> Fraction:
        """Return the number of days that count as late."""
        late = self._lateness(self.due(student), handed_in)
        if late <= self.grace:
            return NONE
        days = Fraction(late // timedelta(microseconds=1), DAY)
        return Fraction(ceil(days)) if self.days == STARTED else days

    def _lateness(self, due: datetime, handed_in: datetime) -> timedelta:
        """Return the time since the deadline, or the difference between the zone's clock times if that is smaller."""
        real = handed_in - due
        if self.zone is None:
            return real
        start, end = (moment.astimezone(self.zone).replace(tzinfo=None) for moment in (due, handed_in))
        # In the repeated hour, late work is still late.
        return min(real, max(end - start, timedelta.resolution)) if real > timedelta(0) else real

    def too_late(self, student: str, handed_in: datetime) -> bool:
        """Whether the work was handed in too late to get any points."""
        if self.last is None or self.days_late(student, handed_in) == 0:
            return False
        return handed_in > self.last + (self.due(student) - self.deadline)


@dataclass(frozen=True)
class Policy:
    """The rules for computing a grade from points."""

    late: Late | None = None
    capped: bool = False  # whether extra credit only makes up for lost points
    worth: Fraction | None = None  # full marks in the gradebook; None: the number of points
    slips: Mapping[str, int] = field(default_factory=dict)  # normalised name -> days late that cost nothing


@dataclass(frozen=True)
class Grade:
    """A grade and how it was calculated."""

    points: Points
    counted: Fraction  # with extra credit, after the cap
    days_late: Fraction
    percent: Fraction  # of the penalty
    penalty: Fraction  # in points
    final: Decimal  # as written into the gradebook
    explanation: str
    handed_in: datetime | None
    due: datetime | None
    slipped: int = 0  # number of late days that cost nothing


def grade_of(
    student: str, points: Points, policy: Policy, handed_in: datetime | None = None, free: int | None = None
) -> Grade:
    """Compute a student's grade.

    Args:
        handed_in: the time of submission; required if the policy has deadlines.
        free: the slip days that the student can use; None means those that the policy lists for the student.
    """
    raw = points.required + points.extra
    counted = min(raw, points.full) if policy.capped else raw
    said = [f"{number(points.required)} of {number(points.full)} points"]
    if points.by_staff:
        said[0] += f" ({points.by_staff} change{'s' if points.by_staff > 1 else ''} by the staff)"
    if points.extra:
        said[0] += f" + {number(points.extra)} extra credit = {number(raw)}"
    if counted < raw:
        said[0] += f", capped at {number(counted)}"
    days = percent = penalty = NONE
    slipped = 0
    due = policy.late.due(student) if policy.late else None
    if late := policy.late:
        assert handed_in is not None, "a policy with deadlines needs the time"
        days = late.days_late(student, handed_in)
        said.append(f"handed in {shown(handed_in, late.zone)}, due {shown(late.due(student), late.zone)}")
        if late.too_late(student, handed_in):
            percent, penalty = Fraction(100), counted
            said[-1] += ": after the last moment, no points"
        elif days:
            slipped = min(ceil(days), policy.slips.get(normal(student), 0) if free is None else free)
            percent = min(max(days - slipped, NONE) * late.percent_per_day, late.max_percent)
            base = points.full if late.percent_of == FULL_MARKS else counted
            penalty = min(counted, percent / 100 * base)
            said[-1] += f": {number(days)} {'day' if days == 1 else 'days'} late"
            said[-1] += f", {slipped} slip {'day' if slipped == 1 else 'days'} used" if slipped else ""
            said.append(f"minus {number(percent)} % of {number(base)} = {number(penalty)}")
        else:
            said[-1] += ": on time" if handed_in <= late.due(student) else ": within the grace period"
    rest = counted - penalty
    if policy.worth not in (None, points.full):
        said.append(f"{number(rest)} of {number(points.full)} is {number(scaled(rest, points, policy))}")
    final = to_the_cent(scaled(rest, points, policy))
    explanation = "; ".join([*said, f"grade {final}"])
    return Grade(points, counted, days, percent, penalty, final, explanation, handed_in, due, slipped)


def unknown_names(policy: Policy, times: Iterable[str], known: Iterable[str]) -> list[str]:
    """Return notes on entries for extensions and submission times that match no student; names are often misspelt.

    Args:
        times: the normalised names for which there is a time.
        known: all names of students and submissions.
    """
    there, extended = set(map(normal, known)), policy.late.extensions if policy.late else ()
    given = {"the policy has an extension": extended, "there is a time": times}
    nobody = {what: [repr(name) for name in sorted({*names} - there)] for what, names in given.items()}
    return [f"{what} for {listed(names)}, but no submission has that name" for what, names in nobody.items() if names]


def scaled(points: Fraction, of: Points, policy: Policy) -> Fraction:
    """Scale points to the gradebook's full marks."""
    return points if policy.worth is None else points * policy.worth / of.full


def to_the_cent(value: Fraction) -> Decimal:
    """Round a non-negative number half up, to two decimal places."""
    return _rounded(value, 2)


def number(value: Fraction) -> str:
    """Format a number for display: at most four decimal places, no trailing zeros."""
    return format(_rounded(value, 4).normalize(), "f")


def _rounded(value: Fraction, decimals: int) -> Decimal:
    return Decimal(floor(value * 10**decimals + Fraction(1, 2))).scaleb(-decimals)


def shown(moment: datetime, zone: tzinfo | None) -> str:
    """Format a time for display."""
    return moment.astimezone(zone or timezone.utc).strftime("%Y-%m-%d %H:%M:%S %z")

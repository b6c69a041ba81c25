"""The final grades for a term, and how they are calculated: late days, slip days, dropped assignments, weights.

All functions are pure and use exact numbers. Each assignment's grade is computed according to its policy, as a
percentage of full marks. The lowest grades are dropped. The weighted average of the rest is rounded half up, to two
decimal places.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from math import ceil

from autograder.gradebooks.class_grades import ClassGrades
from autograder.gradebooks.grading_policy import Grade, Points, Policy, grade_of, number, to_the_cent
from autograder.gradebooks.hand_in_times import of_members
from autograder.gradebooks.match_students import normal
from autograder.gradebooks.people import People


@dataclass(frozen=True)
class Assessed:
    """An assignment of the term, with all student data that the grades depend on."""

    name: str
    policy: Policy
    points: Mapping[str, Points]
    times: Mapping[str, datetime] = field(default_factory=dict)  # by normalised name
    ungraded: Mapping[str, str] = field(default_factory=dict)  # student -> why there are no points
    weight: Fraction = Fraction(1)

    @property
    def full(self) -> Fraction:
        """The points for full marks in the gradebook."""
        return self.policy.worth or next((points.full for points in self.points.values()), Fraction(0))


@dataclass(frozen=True)
class Part:
    """A student's grade for an assignment."""

    name: str
    percent: Fraction | None  # None: there is no grade
    words: str
    slipped: int = 0
    dropped: bool = False


@dataclass(frozen=True)
class Final:
    """A student's final grade, as a percentage."""

    student: str
    parts: tuple[Part, ...]
    grade: Decimal | None  # None: an assignment has no grade, or the weights add up to 0
    arithmetic: str


def assessed_in(
    people: People,
    name: str,
    policy: Policy,
    times: Mapping[str, datetime],
    grades: ClassGrades | None = None,
    weight: Fraction = Fraction(1),
) -> Assessed:
    """Return an assignment with all students named as in the roster.

    Args:
        times: submission times, by the submission's normalised name or any other entry in the student's roster row.
        grades: the points of the class; None if only the times are needed.
    """
    points, ungraded, submissions = (grades.points, grades.ungraded, grades.submissions) if grades else ({}, {}, {})
    called = people.called([*points, *ungraded])
    by_key = {normal(student): name for student, name in called.items()}

    def key_of(name: str) -> str:
        return normal(by_key.get(normal(name)) or people.name(name))

    late = policy.late and replace(
        policy.late, extensions={key_of(name): moment for name, moment in policy.late.extensions.items()}
    )
    of_submission = {called[student]: key_of(submission) for student, submission in submissions.items()}
    return Assessed(
        name=name,
        policy=replace(policy, late=late),
        points={called[student]: earned for student, earned in points.items()},
        times=of_members({key_of(name): moment for name, moment in times.items()}, of_submission),
        ungraded={called[student]: why for student, why in ungraded.items()},
        weight=weight,
    )


def slip_days(term: Sequence[Assessed], budget: int, each: int | None) -> dict[str, dict[str, int]]:
    """Return the slip days that students use, by assignment and normalised name.

    Slip days are used automatically, in the order of the deadlines; each assignment uses as many as it needs. Work that
    is too late to earn any points uses no slip days.

    Args:
        budget: a student's slip days for the whole term.
        each: the maximum number of slip days for one assignment.
    """
    used: dict[str, dict[str, int]] = {one.name: {} for one in term}
    spent = Counter[str]()
    dated = [(one.policy.late.deadline, one.policy.late, one) for one in term if one.policy.late]
    for _, late, one in sorted(dated, key=lambda entry: entry[0]):
        for student, moment in one.times.items():
            if late.too_late(student, moment):
                continue
            days = min(ceil(late.days_late(student, moment)), budget - spent[student], budget if each is None else each)
            if days > 0:
                used[one.name][student] = days
                spent[student] += days
    return used


def final_grades(
    term: Sequence[Assessed], students: Sequence[str], budget: int = 0, each: int | None = None, drop: int = 0
) -> list[Final]:
    """Return the final grades.

    Args:
        students: everybody who gets a grade; work that a student has not handed in counts as 0.
        drop: the number of assignments to leave out; those with the lowest percentages are left out.
    """
    slips = slip_days(term, budget, each)
    return [_final(student, [_part(one, student, slips[one.name]) for one in term], term, drop) for student in students]


def _part(one: Assessed, student: str, slips: Mapping[str, int]) -> Part:
    if student in one.ungraded:
        return Part(one.name, None, f"no grade ({one.ungraded[student]})")
    if student not in one.points:
        return Part(one.name, Fraction(0), f"nothing handed in, 0 of {number(one.full)}")
    moment = one.times.get(normal(student))
    if one.policy.late and moment is None:
        return Part(one.name, None, "no grade (the submission time is not known)")
    free = slips.get(normal(student), 0)
    grade: Grade = grade_of(student, one.points[student], one.policy, moment, free)
    return Part(one.name, Fraction(grade.final) / one.full * 100, grade.explanation, grade.slipped)


def _final(student: str, parts: list[Part], term: Sequence[Assessed], drop: int) -> Final:
    open_parts = [part.name for part in parts if part.percent is None]
    lowest = sorted(range(len(parts)), key=lambda place: parts[place].percent or 0)[: min(drop, len(parts) - 1)]
    if not open_parts:
        parts = [Part(part.name, part.percent, part.words, part.slipped, at in lowest) for at, part in enumerate(parts)]
    said = [f"{part.name}: {part.words}" + ", dropped" * part.dropped for part in parts]
    if open_parts:
        return Final(student, tuple(parts), None, "; ".join([*said, f"no final grade without {', '.join(open_parts)}"]))
    counted = [
        (one.weight, part.percent or Fraction(0)) for one, part in zip(term, parts, strict=True) if not part.dropped
    ]
    weights = sum((weight for weight, _ in counted), Fraction(0))
    if not weights:
        said.append("no final grade: the weights of the assignments that count add up to 0")
        return Final(student, tuple(parts), None, "; ".join(said))
    total = sum((weight * percent for weight, percent in counted), Fraction(0))
    grade = to_the_cent(total / weights)
    terms = " + ".join(f"{number(weight)} * {number(percent)} %" for weight, percent in counted)
    return Final(student, tuple(parts), grade, "; ".join([*said, f"({terms}) / {number(weights)} = {grade} %"]))

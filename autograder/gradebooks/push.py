"""Send the grades of a class to a learning platform.

Grades that have arrived are not sent again, so an interrupted run can be resumed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Protocol

from autograder.gradebooks.class_grades import ClassGrades, Details
from autograder.gradebooks.grading_policy import Policy
from autograder.gradebooks.roster import EXPORTED, FEEDBACK, Line, Roster, fill


@dataclass(frozen=True)
class Held:
    """A student's existing grade on the platform."""

    grade: Decimal | None = None
    comments: tuple[str, ...] = ()
    rubric: dict[str, Decimal] = field(default_factory=dict)  # criterion -> points
    takes_comment: bool = True  # False if comments are off, or if somebody else's would be lost


@dataclass(frozen=True)
class Change:
    """The grade to send for a student."""

    user: str  # the platform's number
    name: str
    grade: Decimal
    before: Decimal | None
    comment: str = ""  # "" if the platform already has it
    rubric: dict[str, Decimal] = field(default_factory=dict)

    def __str__(self) -> str:
        more = [*(["comment"] if self.comment else []), *(["rubric"] if self.rubric else [])]
        grade = f"{self.before} -> {self.grade}" if self.before is not None else str(self.grade)
        return f"{self.name}: {grade}" + (f" ({', '.join(more)})" if more else "")


class Platform(Protocol):
    """An assignment on a learning platform. All methods raise UserError if the platform refuses a request."""

    title: str
    notes: list[str]

    def roster(self, students: Sequence[str], match: str | None, policy: Policy) -> Roster:
        """Return the assignment's students, as in the gradebook file that the platform would export."""

    def held(self, users: Sequence[str]) -> dict[str, Held]:
        """Return the existing grades, by student number."""

    def criteria(self, details: Details) -> dict[str, Decimal]:
        """Return a student's points for each criterion of the assignment's rubric; empty if there is no rubric."""

    def send(self, changes: Sequence[Change]) -> None:
        """Send grades, comments and rubric points."""


@dataclass(frozen=True)
class Plan:
    """The changes to send."""

    lines: list[Line]
    changes: list[Change]
    same: int  # grades that the platform already has
    roster: Roster


def plan(
    platform: Platform, grades: ClassGrades, policy: Policy, times: dict[str, datetime], match: str | None
) -> Plan:
    """Compare the grades of a class with those on the platform.

    Raises:
        UserError: if the grades do not fit the assignment's full marks, or the platform refuses.
    """
    roster = platform.roster([*grades.points, *grades.ungraded], match, policy)
    lines = fill(roster, grades, policy, times)
    graded = [line for line in lines if line.status == EXPORTED]
    held = platform.held([roster.numbers[line.place] for line in graded])
    changes = []
    for line in graded:
        assert line.grade is not None
        user, details = roster.numbers[line.place], grades.details[line.student]
        has, rubric = held.get(user, Held()), platform.criteria(details)
        comment = "\n".join([FEEDBACK + line.grade.explanation, *details.comments])
        change = Change(
            user,
            f"{line.student} = {line.row}" if line.row != line.student else line.student,
            line.grade.final,
            has.grade,
            comment if has.takes_comment and comment not in has.comments else "",
            {} if rubric.items() <= has.rubric.items() else rubric,
        )
        if has.grade != line.grade.final or change.comment or change.rubric:
            changes.append(change)
    return Plan(lines, changes, len(graded) - len(changes), roster)


def send(platform: Platform, changes: Sequence[Change], say: Callable[[str], None]) -> list[Change]:
    """Send the planned changes, then read them back; return the changes that have not arrived.

    Raises:
        UserError: if the platform refuses. The next run does not resend grades that have arrived.
    """
    if changes:
        platform.send(changes)
    after = platform.held([change.user for change in changes])
    missing = [change for change in changes if after.get(change.user, Held()).grade != change.grade]
    say(f"Sent to {platform.title} and read back: {len(changes) - len(missing)} of {len(changes)} grades.")
    return missing

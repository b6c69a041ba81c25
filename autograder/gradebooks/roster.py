"""Enter the grades of a class into a roster: a file that Canvas or Moodle exported and will import again."""

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction

from autograder.gradebooks.class_grades import ClassGrades
from autograder.gradebooks.grading_policy import Grade, Policy, grade_of, number
from autograder.gradebooks.hand_in_times import of_members
from autograder.gradebooks.match_students import match, normal
from autograder.reports.csv_sheet import Sheet
from course.errors import UserError

EXPORTED, UNGRADED, NO_ROW, KEPT, NO_SUBMISSION = (
    *("exported", "no grade", "not in the gradebook", "left as it was", "no submission"),
)
FEEDBACK = "Autograder: "  # the start of our feedback, so that a later export replaces only that


@dataclass
class Roster:
    """A gradebook in a CSV file: the students' rows and the column for the grades."""

    sheet: Sheet
    column: int
    keys: dict[int, str]  # row -> the key by which students are matched
    names: dict[int, str]  # row -> the name, for people
    key_of: Callable[[str], str]  # maps a submission's name to the key of its row
    possible: dict[int, Fraction]  # row -> full marks in the gradebook
    locked: dict[int, str]  # row -> why its grade must not change
    ceiling: str = ""  # why no grade may exceed full marks; "" if grades may
    feedback: int | None = None  # column of the feedback
    numbers: dict[int, str] = field(default_factory=dict)  # row -> the platform's own number of the student
    times: dict[int, datetime] = field(default_factory=dict)  # row -> time of submission, if the file has it
    others: Collection[int] = ()  # columns of other assignments

    def only_column(self) -> None:
        """Drop all other assignments' columns: an import would reset grades entered there since the export."""
        self.sheet.keep(set(range(len(self.sheet.header))) - set(self.others))


@dataclass(frozen=True)
class Line:
    """The outcome of the export for a student."""

    status: str
    student: str  # name of the submission
    row: str  # name in the roster
    why: str = ""
    grade: Grade | None = None
    place: int = 0  # the row's number in the roster


def fill(roster: Roster, grades: ClassGrades, policy: Policy, times: dict[str, datetime]) -> list[Line]:
    """Write the grades into the roster. A cell without a new grade stays unchanged.

    Args:
        times: the submission times; they take precedence over the roster's own. Here and in the policy's
            extensions, a student may be named by the submission's name, the row's name, the matching key, or the
            platform's number.

    Raises:
        UserError: if the grades do not fit the gradebook's full marks.
    """
    matching = match([*grades.points, *grades.ungraded], roster.keys, roster.key_of)
    aliases = {student: [student] for student in grades.points}
    for student in matching.row_of.keys() & aliases.keys():
        place = matching.row_of[student]
        aliases[student] += [roster.keys[place], roster.names[place], roster.numbers.get(place, student)]
    of_roster = {normal(student): roster.times[row] for student, row in matching.row_of.items() if row in roster.times}
    given = dict(times)
    for student, names in aliases.items():
        given |= {normal(student): times[key] for key in map(normal, reversed(names)) if key in times}
    moments = of_members(of_roster, grades.submissions) | of_members(given, grades.submissions)
    lines = []
    for student in sorted([*grades.points, *grades.ungraded], key=normal):
        row = matching.row_of.get(student)
        name = roster.names[row] if row is not None else ""
        if student in grades.ungraded:
            lines.append(Line(UNGRADED, student, name, grades.ungraded[student]))
            continue
        called, handed_in = aliases[student], moments.get(normal(student))
        grade = None
        if policy.late is None or handed_in is not None:
            extended = policy.late.extensions if policy.late else {}
            known_as = next((alias for alias in called if normal(alias) in extended), student)
            free = next((policy.slips[normal(alias)] for alias in called if normal(alias) in policy.slips), 0)
            grade = grade_of(known_as, grades.points[student], policy, handed_in, free)
        if row is None:
            lines.append(Line(NO_ROW, student, name, matching.unmatched[student], grade))
        elif row in roster.locked:
            lines.append(Line(KEPT, student, name, roster.locked[row], grade))
        elif grade is None:
            lines.append(Line(UNGRADED, student, name, "the submission time is not known"))
        else:
            check(roster, row, student, grade, policy)
            roster.sheet.fill(row, roster.column, str(grade.final))
            lines.append(Line(EXPORTED, student, name, write_feedback(roster, row, grade), grade, row))
    lines += [Line(NO_SUBMISSION, "", roster.names[row]) for row in matching.left]
    return lines


def check(roster: Roster, row: int, student: str, grade: Grade, policy: Policy) -> None:
    """Refuse grades on a different scale: 90 out of 100 points must not become 90 out of 50."""
    points = grade.points
    worth = points.full if policy.worth is None else policy.worth
    with_extra = worth if policy.capped else worth * (points.full + points.all_extra) / points.full
    possible = roster.possible.get(row, worth)
    place = f"{roster.sheet.path}, column {roster.sheet.header[roster.column]!r}"
    if possible not in (worth, with_extra):
        here = number(worth) if worth == with_extra else f"{number(worth)} ({number(with_extra)} with all extra credit)"
        raise UserError(
            f"{place}: full marks are {number(possible)} points there and {here} here: change the points of the "
            f"assignment there, or set points = {number(possible)} in [grade] of the policy, which scales all grades"
        )
    if roster.ceiling and Fraction(grade.final) > possible:
        raise UserError(f"{place}: {student} would get {grade.final} of {number(possible)}, and {roster.ceiling}")


def write_feedback(roster: Roster, row: int, grade: Grade) -> str:
    """Explain the grade to the student, unless the cell contains other text; return a note for the instructor."""
    if roster.feedback is None:
        return ""
    if (old := roster.sheet.cell(row, roster.feedback)) and FEEDBACK not in old:
        return "the existing feedback stays"
    roster.sheet.fill(row, roster.feedback, FEEDBACK + grade.explanation)
    return ""


def read_number(text: str) -> Fraction | None:
    """Parse a number with a decimal point or comma; None if the string is not a number."""
    matched = re.fullmatch(r"(\d+)(?:[.,](\d+))?", text.strip())
    return Fraction(f"{matched[1]}.{matched[2] or 0}") if matched else None

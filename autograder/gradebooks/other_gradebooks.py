"""Fill in gradebook files of Brightspace and Blackboard, or any CSV file that has a row for each student.

Brightspace: OrgDefinedId and Username begin with "#", grade items are called "NAME Points Grade <Numeric MaxPoints:100
...>", and the last column, End-of-Line Indicator, is "#". Blackboard: grade columns are called "NAME [Total Pts: 100
Score] |12345"; uploads are matched by this number. Totals ("up to 100") are computed by the platform.
"""

import re
from collections.abc import Callable
from pathlib import Path

from autograder.gradebooks.class_grades import ClassGrades
from autograder.gradebooks.roster import Roster, read_number
from autograder.reports.csv_sheet import Sheet
from course.errors import UserError

BRIGHTSPACE = re.compile(r"(?P<name>.*\S)\s+Points Grade(?:\s*<.*?MaxPoints:\s*(?P<most>[\d.,]+).*>)?")
BLACKBOARD = re.compile(r"(?P<name>.*\S)\s*\[Total Pts:\s*(?P<most>[\d.,]+)[^]]*\]\s*\|\s*(?P<number>\d+)")
ALIASES = {
    BRIGHTSPACE: {"login": "Username", "id": "OrgDefinedId", "email": "Email"},
    BLACKBOARD: {"login": "Username", "id": "Student ID"},
}


def brightspace_roster(sheet: Sheet, column: str, matched_by: str) -> Roster:
    """Return the roster from a gradebook that Brightspace exported.

    Args:
        column: the header of the grade item, or its name.
        matched_by: login, id, email, or the header of any column.

    Raises:
        UserError: if it is not such a file, or has no such item.
    """
    if not sheet.has("End-of-Line Indicator") or not (sheet.has("Username") or sheet.has("OrgDefinedId")):
        raise UserError(
            f"{sheet.path} is not a Brightspace gradebook: it needs Username or OrgDefinedId, and End-of-Line "
            "Indicator. In Brightspace: Grades, Enter Grades, Export, with Both as the key field and Points Grade"
        )
    return _roster(sheet, BRIGHTSPACE, column, matched_by, lambda cell: cell.removeprefix("#"))


def blackboard_roster(sheet: Sheet, column: str, matched_by: str) -> Roster:
    """Return the roster from a gradebook that Blackboard exported.

    Args:
        column: the header of the grade column, its name, or its number.
        matched_by: login, id, or the header of any column.

    Raises:
        UserError: if it is not such a file, or has no such column.
    """
    if not sheet.has("Username"):
        raise UserError(
            f"{sheet.path} is not a Blackboard gradebook: it has no column Username. In Blackboard, set the "
            "language to English, then choose Gradebook, Download Grades"
        )
    return _roster(sheet, BLACKBOARD, column, matched_by, str)


def _roster(sheet: Sheet, items: re.Pattern[str], column: str, matched_by: str, plain: Callable[[str], str]) -> Roster:
    header = [cell.strip() for cell in sheet.header]
    columns = {at: matched for at, cell in enumerate(header) if (matched := items.fullmatch(cell))}
    wanted = [at for at, matched in columns.items() if column.strip() in (matched[0], *matched.groupdict().values())]
    if len(wanted) != 1:
        listed = ", ".join(matched["name"] for matched in columns.values()) or "none"
        raise UserError(f"{sheet.path} needs exactly one column for the assignment {column!r}; its columns: {listed}")
    most = read_number(columns[wanted[0]]["most"] or "")
    key = sheet.column(ALIASES[items].get(matched_by, matched_by))
    roster = csv_roster(sheet, header[wanted[0]], header[key])
    roster.keys = {row: plain(cell) for row, cell in roster.keys.items()}
    roster.possible = dict.fromkeys(roster.keys, most) if most is not None else {}
    roster.others = columns.keys() - wanted
    named = [at for name in ("Last Name", "First Name") if sheet.has(name) for at in [sheet.column(name)]]
    if named:
        roster.names = {row: ", ".join(sheet.cell(row, at) for at in named) for row in roster.keys}
    return roster


def csv_roster(sheet: Sheet, column: str, matched_by: str) -> Roster:
    """Return the roster from any CSV file whose first row names the columns.

    Args:
        column: the header of the column for the grades.
        matched_by: the header of the column that submissions are named after.

    Raises:
        UserError: if it has no such columns.
    """
    key, students = sheet.column(matched_by), [row for row in range(1, len(sheet.rows)) if any(sheet.rows[row])]
    keys = {row: sheet.cell(row, key) for row in students}
    return Roster(sheet, sheet.column(column), keys, dict(keys), str, {}, {})


def new_sheet(path: Path, grades: ClassGrades) -> Sheet:
    """Return a file with the columns student and grade, for a class without a gradebook."""
    students = sorted([*grades.points, *grades.ungraded])
    return Sheet(path, [["student", "grade"], *([student, ""] for student in students)], encoding="utf-8-sig")

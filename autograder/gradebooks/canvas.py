"""Read and fill in a Canvas gradebook file, following the rules of Canvas' own importer.

The first row names the columns: Student (or LastName, FirstName), ID, optionally SIS User ID, SIS Login ID and other
columns, then Section, then a column "Name (number)" for each assignment, then read-only totals. A row of posting
policies may come next, and a row that begins with "Points Possible" comes before the students. Excused students have
"EX"; students without the assignment have "N/A". An empty cell would clear the grade in Canvas, so cells without a new
grade keep their content.
"""

import re
import unicodedata
from collections.abc import Collection

from autograder.gradebooks.match_students import normal
from autograder.gradebooks.roster import Roster, read_number
from autograder.reports.csv_sheet import Sheet
from course.errors import UserError

ALIASES = {"login": ("SIS Login ID",), "sis": ("SIS User ID",), "id": ("ID",), "email": ("Email", "SIS Login ID")}
ASSIGNMENT = re.compile(r"(.*\S)\s*\((\d+)\)")
NOT_A_STUDENT = re.compile(r"(?i)\s*(Muted|Manual Posting.*)?\s*")
UNTOUCHED = {"EX": "excused in Canvas (EX)", "N/A": "not assigned in Canvas (N/A)"}
# Downloaded submissions are named NAME_STUDENT NUMBER_FILE NUMBER_..., or NAME_LATE_STUDENT NUMBER_...; a
# student's loose files together are named NAME_STUDENT NUMBER (submissions/loose_files.py).
DOWNLOADED = re.compile(r"_(\d+)(?:_\d+_|$)")
NO_LETTER = re.compile(r"[\W_]+")
WAYS = ("login", "id", "name")  # how to match students by default: the way with the most matches


def best_way(sheet: Sheet, column: str, students: Collection[str]) -> str:
    """Return the matching method from WAYS that finds the most students.

    Raises:
        UserError: if the file is not a Canvas gradebook, or the column is not for grades.
    """
    rosters = {}
    for way in WAYS:
        if way != "login" or sheet.has(ALIASES[way][0]):
            rosters[way] = canvas_roster(sheet, column, way)

    def known(roster: Roster) -> int:
        keys = {normal(key) for key in roster.keys.values()}
        return sum(normal(roster.key_of(student)) in keys for student in students)

    return max(rosters, key=lambda way: known(rosters[way]))


def canvas_roster(sheet: Sheet, column: str, matched_by: str) -> Roster:
    """Return the roster of a gradebook exported from Canvas.

    Args:
        column: the assignment's header, name or number.
        matched_by: one of ALIASES, "name", or the header of any other column.

    Raises:
        UserError: if the file is not a Canvas gradebook, or the column is not for grades.
    """
    header = [cell.strip() for cell in sheet.header]
    if not ({"Student", "LastName"} & set(header[:1]) and {"ID", "Section"} <= set(header)):
        raise UserError(
            f"{sheet.path} is not a Canvas gradebook: the first row must begin with Student and have ID and "
            "Section. In Canvas: Grades, Export, Export Entire Gradebook"
        )
    at = find_assignment(sheet, header, column)
    by = 0 if matched_by == "name" else sheet.column(*ALIASES.get(matched_by, (matched_by,)))
    points = next((row for row in range(1, len(sheet.rows)) if "Points Possible" in sheet.cell(row, 0)), None)
    worth = sheet.cell(points, at) if points is not None else ""
    if "read only" in worth:
        raise UserError(f"{sheet.path}: the column {header[at]!r} is read-only: choose the column of an assignment")
    possible = read_number(worth)
    students = [row for row in range(1, len(sheet.rows)) if row != points and is_student(sheet.rows[row])]
    wide = 2 if header[0] == "LastName" else 1
    names = {row: ", ".join(sheet.rows[row][:wide]) for row in students}
    held = {row: sheet.cell(row, at).upper() for row in students}
    return Roster(
        sheet=sheet,
        column=at,
        keys={row: letters(name) for row, name in names.items()}
        if matched_by == "name"
        else {row: sheet.cell(row, by) for row in students},
        names=names,
        numbers={row: sheet.cell(row, header.index("ID")) for row in students},
        key_of=name_in if matched_by == "name" else number_in if header[by] == "ID" else str,
        possible=dict.fromkeys(students, possible) if possible is not None else {},
        locked={row: UNTOUCHED[cell] for row, cell in held.items() if cell in UNTOUCHED},
        others=set(range(header.index("Section") + 1, len(header))) - {at},
    )


def find_assignment(sheet: Sheet, header: list[str], wanted: str) -> int:
    """Return the column of an assignment."""
    first = header.index("Section") + 1
    columns = {at: matched for at in range(first, len(header)) if (matched := ASSIGNMENT.fullmatch(header[at]))}
    for part in (0, 2, 1):  # the whole header, the number, the name
        fitting = [at for at, matched in columns.items() if matched[part] == wanted.strip()]
        if len(fitting) == 1:
            return fitting[0]
    listed = ", ".join(matched[0] for matched in columns.values()) or "none"
    raise UserError(f"{sheet.path} needs exactly one column for the assignment {wanted!r}; its columns: {listed}")


def is_student(cells: list[str]) -> bool:
    return not all(NOT_A_STUDENT.fullmatch(cell) for cell in cells)


def number_in(student: str) -> str:
    """Extract a student's Canvas number from the name of a submission."""
    matched = DOWNLOADED.search(student)
    return student if student.strip().isdecimal() else matched[1] if matched else ""


def letters(name: str) -> str:
    """Keep only the letters and digits of a name, as Canvas does in file names."""
    return NO_LETTER.sub("", unicodedata.normalize("NFC", name))


def name_in(student: str) -> str:
    """Extract the letters of the student's name from the name of a submission, without the number after it."""
    return letters(re.sub(r"_\d+$", "", student))

"""Read and fill in a Moodle assignment's offline grading worksheet, following the rules of Moodle's own importer.

Moodle needs the columns Identifier ("Participant 123"), Grade and "Last modified (grade)". It skips rows without a
grade, and silently skips grades above the maximum. Feedback in the file, even if empty, replaces different feedback in
Moodle. The folders of downloaded submissions are named "Full Name_123_assignsubmission_file_" (with blind marking,
"Participant_123_..."). Students are matched by the number in this name, which is also in the Identifier.
"""

import re
from contextlib import suppress
from datetime import datetime, tzinfo

from autograder.gradebooks.hand_in_times import in_zone
from autograder.gradebooks.roster import Roster, read_number
from autograder.reports.csv_sheet import Sheet
from course.errors import UserError

ALIASES = {"id": ("Identifier",), "email": ("Email address",), "name": ("Full name",)}
# Moodle writes full names without "_", so the first number is Moodle's, whatever the file's name.
# nbgrader's zip_collect leaves "Full Name_123" (nbgrader_config.py).
DOWNLOADED = re.compile(r"(.*?)_(\d+)(?:_assignsubmission_.*)?")
NOT_IN_FILES = re.compile(r"[\x00-\x1f\x7f&<>\"`|':\\/]")
HANDED_IN = "Last modified (submission)"
# British English, Moodle's default, with 12 or 24 hours; then American English.
DATES = ("%A, %d %B %Y, %I:%M %p", "%A, %d %B %Y, %H:%M", "%A, %B %d, %Y, %I:%M %p", "%A, %B %d, %Y, %H:%M")
CEILING = (
    'Moodle ignores grades above the maximum: set extra_credit = "capped" in [grade] of the policy, or raise the '
    "maximum of the assignment and download the worksheet again"
)


def moodle_roster(sheet: Sheet, matched_by: str, zone: tzinfo | None) -> Roster:
    """Return the roster of a grading worksheet.

    Args:
        matched_by: one of ALIASES, or the header of any other column.
        zone: the time zone of its dates; None if they are not needed.

    Raises:
        UserError: if the file is not a grading worksheet, or the assignment does not use points.
    """
    missing = [name for name in ("Identifier", "Grade", "Last modified (grade)") if not sheet.has(name)]
    if missing:
        raise UserError(
            f"{sheet.path} is not a Moodle grading worksheet: it has no column {missing[0]!r}. In Moodle, set the "
            "language to English, and enable 'Offline grading worksheet' in the assignment settings; then View all "
            "submissions, Download grading worksheet"
        )
    if not sheet.has("Maximum Grade") and not sheet.has("Maximum grade"):
        raise UserError(f"{sheet.path}: the assignment is graded with a scale: set its grade type to points in Moodle")
    maximum, by = sheet.column("Maximum Grade", "Maximum grade"), sheet.column(*ALIASES.get(matched_by, (matched_by,)))
    students = [row for row in range(1, len(sheet.rows)) if any(sheet.rows[row])]
    identifiers = {row: sheet.cell(row, sheet.column("Identifier")) for row in students}
    name_at = sheet.column("Full name", "Identifier")  # with blind marking there are no names
    keys = {row: sheet.cell(row, by) for row in students}
    key_of = {"Identifier": number_in, "Full name": name_in}.get(sheet.header[by].strip(), str)
    if key_of is number_in:
        keys = {row: digits[0] if (digits := re.findall(r"\d+$", cell)) else "" for row, cell in identifiers.items()}
    if key_of is name_in:
        keys = {row: as_in_files(cell) for row, cell in keys.items()}
    possible = {row: read_number(sheet.cell(row, maximum)) for row in students}
    can_change = sheet.column("Grade can be changed") if sheet.has("Grade can be changed") else None
    locked = [row for row in students if can_change is not None and sheet.cell(row, can_change) == "No"]
    return Roster(
        sheet=sheet,
        column=sheet.column("Grade"),
        keys=keys,
        names={row: sheet.cell(row, name_at) for row in students},
        key_of=key_of,
        possible={row: points for row, points in possible.items() if points is not None},
        locked=dict.fromkeys(locked, "the grade is locked in Moodle (Grade can be changed: No)"),
        ceiling=CEILING,
        feedback=sheet.column("Feedback comments") if sheet.has("Feedback comments") else None,
        times=handed_in(sheet, students, zone) if zone and sheet.has(HANDED_IN) else {},
    )


def handed_in(sheet: Sheet, students: list[int], zone: tzinfo) -> dict[int, datetime]:
    """Return the times of students' last changes, to the minute; unreadable dates are left out."""
    at, times = sheet.column(HANDED_IN), {}
    for row in students:
        for form in DATES:
            with suppress(ValueError, UserError):
                times[row] = in_zone(datetime.strptime(sheet.cell(row, at), form), zone)  # noqa: DTZ007
    return times


def number_in(student: str) -> str:
    """Extract the participant's number from the name of a submission."""
    matched = DOWNLOADED.fullmatch(student)
    return student if student.strip().isdecimal() else matched[2] if matched else ""


def name_in(student: str) -> str:
    """Extract the full name from the name of a submission."""
    matched = DOWNLOADED.fullmatch(student)
    return as_in_files(matched[1] if matched else student)


def as_in_files(name: str) -> str:
    """Convert a full name to its form in Moodle's file names, which lack some characters (clean_filename)."""
    return NOT_IN_FILES.sub("", name.replace("_", " "))

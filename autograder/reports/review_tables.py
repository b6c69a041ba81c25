"""The files that reviewers write (review.csv, rubric.csv, requests.csv) as tables, changed one row at a time.

A change replaces an existing row, matched word for word, with a new row; it can also add or remove a row. If somebody
else has changed or removed the row in the meantime, the change is refused, so nobody loses work. The file
review-log.csv records every change, with its author and time.
"""

import csv
import io
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from autograder.grading.results import Report
from autograder.reports import regrade_requests, review_file, rubric
from autograder.reports.csv_sheet import Sheet
from autograder.reports.write_files import harmless, write_whole
from course.errors import UserError

LOG, LOG_COLUMNS = "review-log.csv", ("when", "who", "table", "before", "after")
FILES = {"review": review_file, "rubric": rubric, "requests": regrade_requests}
REQUIRED = {
    "review": review_file.REQUIRED,
    "rubric": rubric.COLUMNS,
    "requests": regrade_requests.REQUIRED,
}
SIGNED = {"review": ("who", "when"), "rubric": (), "requests": ("who", "when")}  # columns that are filled in here
Row = dict[str, str]


class Conflict(Exception):
    """Somebody else has changed the row in the meantime."""


def read_tables(folder: Path) -> dict[str, list[Row]]:
    """The rows of all tables, in the order of the files.

    Raises:
        UserError: if a file cannot be read.
    """
    return {table: [cells for _, cells in _rows(_sheet(folder, table), table)] for table in FILES}


def _sheet(folder: Path, table: str) -> Sheet:
    path = folder / FILES[table].NAME
    if path.exists():
        return Sheet.read(path)
    return Sheet(path, [list(FILES[table].COLUMNS)], encoding="utf-8-sig")


def _rows(sheet: Sheet, table: str) -> list[tuple[int, Row]]:
    """The rows with their positions in the sheet."""
    first = sheet.row_in_file(0)
    records = sheet.records(REQUIRED[table], FILES[table].COLUMNS)
    return [
        (row - first, {name: text.removeprefix("'") if name == "student" else text for name, text in cells.items()})
        for row, cells in records
    ]


def decisions(
    folder: Path, shown: Callable[[str], str] = str, **changed: Sheet
) -> tuple[dict[str, list[review_file.Decision]], list[str]]:
    """The staff's decisions by student, and the errors that batch would find; both use the names that reviewers see.

    Args:
        shown: returns a student's name as reviewers see it.
        changed: tables that are not saved yet.

    Raises:
        UserError: if a file cannot be read.
    """
    sheets = {table: changed.get(table) or _sheet(folder, table) for table in FILES}
    asked = regrade_requests.parse_requests(_renamed(sheets["requests"], shown))
    return review_file.parse_sheet(_renamed(sheets["review"], shown), rubric.parse_rubric(sheets["rubric"]), asked)


def _renamed(sheet: Sheet, shown: Callable[[str], str]) -> Sheet:
    """A copy with the names that reviewers see."""
    rows = [[*row] for row in sheet.rows]
    for at in (at for at, cell in enumerate(sheet.header) if cell.strip().lower() == "student"):
        for row in rows[1:]:
            row[at : at + 1] = [shown(name.strip().removeprefix("'")) for name in row[at : at + 1]]
    return replace(sheet, rows=rows)


def change(
    folder: Path,
    table: str,
    before: Row | None,
    after: Row | None,
    who: str,
    reports: Mapping[str, Report],
    shown: Callable[[str], str] = str,
) -> None:
    """Replace a row. Only one caller at a time may change the tables in a folder.

    Args:
        before: the row as it was shown; None for a new one.
        after: the new row; None to remove the old one. `who` and `when` are filled in.
        reports: the grader's reports, by student.
        shown: returns a student's name as reviewers see it.

    Raises:
        Conflict: if the row is no longer there.
        UserError: if the new row is wrong; the message is for the row's author.
    """
    sheet, now = _sheet(folder, table), datetime.now().strftime("%Y-%m-%d %H:%M")  # noqa: DTZ005 (the staff's own time)
    columns = FILES[table].COLUMNS
    if after is not None:
        after = {name: str(after.get(name, "")).replace("\r\n", "\n").strip() for name in columns}
        after |= dict(zip(SIGNED[table], (who, now), strict=False))
    if before is None:
        sheet.rows.append([])
        place = len(sheet.rows) - 1
    else:
        at = next((at for at, cells in _rows(sheet, table) if cells == before), None)
        if at is None:
            raise Conflict("somebody else has changed or removed this row: look at its current state")
        place = at
    if after is None:
        del sheet.rows[place]
    else:
        _fill(sheet, place, after)
    found, wrong = decisions(folder, shown, **{table: sheet})
    if after and table == "rubric":
        wrong += _unknown_place(after["on"], reports)
    elif after:
        student, name = after["student"], shown(after["student"])
        if student in reports:
            wrong += review_file.misfits(reports[student], found.get(name, ()))
        else:
            wrong = [f"there is no submission of {name!r}"]
    if wrong:  # the author of the row does not need its number
        number = f"row {sheet.row_in_file(place)}"
        raise UserError("; ".join(line.removeprefix(f"{number}: ").removeprefix(f"{number} ") for line in wrong))
    partial = folder / ".review.partial"  # not the name that batch uses, since it may be running
    write_whole(folder / FILES[table].NAME, sheet.data(), partial)
    _log(folder, [f"{datetime.now():%Y-%m-%d %H:%M:%S}", who, table, _text(before), _text(after)])  # noqa: DTZ005


def _fill(sheet: Sheet, place: int, row: Row) -> None:
    header = [cell.strip().lower() for cell in sheet.header]
    for name, text in row.items():
        if name not in header:
            header.append(name)
            sheet.header.append(name)
        sheet.fill(place, header.index(name), harmless(text) if name == "student" else text)


def _unknown_place(place: str, reports: Mapping[str, Report]) -> list[str]:
    """An error message if no report has this stage, test or part; some reports list a test without its parts."""
    test, part = review_file.test_and_part(place)
    decision = review_file.Decision("", test, None, "", "", "", part)
    if not reports or any(not review_file.misfits(report, [decision]) for report in reports.values()):
        return []
    stages = next(iter(reports.values())).stages
    there = ", ".join(name for stage in stages for name in (stage.name, *(test.name for test in stage.tests)))
    return [f"there is no stage, test or part {place!r}; there are {there}"]


def _text(row: Row | None) -> str:
    return json.dumps(row, ensure_ascii=False) if row else ""


def _log(folder: Path, cells: list[str]) -> None:
    path, text = folder / LOG, io.StringIO(newline="")
    writer = csv.writer(text)
    if not path.exists():
        writer.writerow(LOG_COLUMNS)
    writer.writerow(cells)
    with path.open("ab") as file:
        file.write(text.getvalue().encode("utf-8"))

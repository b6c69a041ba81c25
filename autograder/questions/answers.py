"""Mark a class's answers (a CSV file): write points for the gradebook, and a breakdown by kind of question.

`questions.csv` in the results folder of `batch` has the columns student, right, of, points and full; exports add these
points to those of the tests (see `gradebooks/class_grades`). `questions.html` is linked from the class report.
"""

import csv
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np

from autograder.manifest.table import exact
from autograder.questions.question import LETTERS
from autograder.reports.csv_sheet import Sheet
from autograder.reports.html_pages import render
from autograder.reports.item_analysis import item_analysis
from autograder.reports.write_files import harmless, write_whole
from course.errors import UserError

POINTS, PAGE = "questions.csv", "questions.html"
COLUMNS = ("student", "question", "answer")
CENT = Decimal("0.01")
MOST_POINTS = 1_000_000
FEW = 0.5  # of the questions; a student who passes the tests but answers fewer correctly is listed


@dataclass(frozen=True)
class Marked:
    """The answers of one student."""

    student: str
    answers: tuple[tuple[str, bool | None], ...]  # kind, and whether it is right; None: no answer
    complete: bool  # whether the visible tests of the stage pass

    @property
    def right(self) -> int:
        return sum(right is True for _, right in self.answers)


def mark(answers: Path, key: Path, graded: Path, points: float) -> int:
    """Compare answers with the key and write the points.

    Raises:
        UserError: if a file cannot be read, or an answer belongs to nobody.
    """
    if not (graded / "batch.json").is_file():
        raise UserError(f"{graded} has no results of batch: name the folder that batch has written")
    if not 0 < points <= MOST_POINTS:
        raise UserError(f"--points must be more than 0 and at most {MOST_POINTS:,}, not {points:g}")
    marked = marks(read_answers(answers), key)
    rows = [["student", "right", "of", "points", "full"]]
    for one in marked:
        earned = (Decimal(points) * one.right / len(one.answers)).quantize(CENT, ROUND_HALF_UP)
        rows.append([one.student, *map(str, (one.right, len(one.answers), earned)), f"{points:g}"])
    write_whole(graded / POINTS, Sheet(graded / POINTS, rows).data())
    write_whole(graded / PAGE, page(marked).encode())
    print(f"points of {len(marked)} students are in {graded / POINTS}, results by kind in {graded / PAGE}")
    return 0


def read_answers(path: Path) -> dict[tuple[str, int], str]:
    """The answers by student and question number; an empty cell counts as no answer.

    Raises:
        UserError: if the columns are missing, or a cell cannot be read.
    """
    found: dict[tuple[str, int], str] = {}
    for row, cells in Sheet.read(path).records(COLUMNS, COLUMNS):
        student, number, answer = (cells[name] for name in COLUMNS)
        if not student and not number:
            continue
        if not number.isdecimal() or answer.upper() not in ("", *LETTERS):
            raise UserError(f"{path}, row {row}: a question is a number and an answer one of {', '.join(LETTERS)}")
        if (student, int(number)) in found:
            raise UserError(f"{path}, row {row}: {student} has already answered question {number}")
        found[student, int(number)] = answer.upper()
    return found


def marks(answers: Mapping[tuple[str, int], str], key: Path) -> list[Marked]:
    """The answers of each student listed in a key file.

    Raises:
        UserError: if the key cannot be read, or an answer belongs to nobody, or to no question.
    """
    found, odd = list[Marked](), dict(answers)
    try:
        for student, entry in json.loads(key.read_bytes())["students"].items():
            given = [odd.pop((harmless(student), number), "") for number in range(1, len(entry["questions"]) + 1)]
            pairs = zip(entry["questions"], given, strict=True)
            right = tuple((one["kind"], letter == one["letter"] if letter else None) for one, letter in pairs)
            found.append(Marked(harmless(student), right, bool(entry.get("complete"))))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{key} is not a key of questions ({error}): use the key.json next to the sheets") from error
    for student, number in sorted(odd):
        raise UserError(f"an answer of {student!r} to question {number}, which is not in the key")
    return found


def page(marked: list[Marked]) -> str:
    """The analysis as HTML: the kinds of questions that a class fails, and the students who fail only the questions."""
    kinds = sorted({kind for one in marked for kind, _ in one.answers})
    given = [[[right for name, right in one.answers if name == kind] for kind in kinds] for one in marked]
    shares = np.array([[answers.count(True) / len(answers) if answers else np.nan for answers in row] for row in given])
    items = item_analysis(shares, [1.0] * len(kinds), np.nansum(shares, axis=1)) if marked else []
    asked = [[answer for answers in column for answer in answers] for column in zip(*given, strict=True)]
    rows = [(kind, len(one), one.count(None), item) for kind, one, item in zip(kinds, asked, items, strict=True)]
    few = [one for one in marked if one.complete and one.right < FEW * len(one.answers)]
    talk = [(one.student, one.right, len(one.answers)) for one in few]
    return render("questions_class.html", rows=rows, talk=talk, students=len(marked))


def read_points(folder: Path) -> dict[str, tuple[Fraction, Fraction]]:
    """The points for questions and the maximum for each student in grades.csv; empty if there is no file.

    Raises:
        UserError: if it cannot be read.
    """
    path = folder / POINTS
    if not path.is_file():
        return {}
    try:
        rows = list(csv.DictReader(io.StringIO(path.read_bytes().decode("utf-8-sig"), newline="")))
        return {row["student"]: (Fraction(exact(row["points"])), Fraction(exact(row["full"]))) for row in rows}
    except (OSError, ValueError, KeyError, TypeError, OverflowError) as error:
        raise UserError(f"{path} cannot be read ({error}): mark the answers again") from error

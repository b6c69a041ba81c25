"""Answers of a class, as CSV: they become points of a part in the gradebook, and an analysis of the kinds.

`questions.csv` in the folder of `batch` holds student, right, of, points and full; exports add these points to those
of the tests (see `gradebooks/class_grades`). `questions.html` is linked from the class report.
"""

import csv
import io
import json
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from autograder.questions.question import LETTERS
from autograder.reports.csv_sheet import Sheet
from autograder.reports.html_pages import render
from autograder.reports.item_analysis import item_analysis
from autograder.reports.write_files import harmless, write_whole
from course.errors import UserError

POINTS, PAGE = "questions.csv", "questions.html"
COLUMNS = ("student", "question", "answer")
CENT = Decimal("0.01")
FEW = 0.5  # of the questions right: a student with less, who passes the tests, is listed


@dataclass(frozen=True)
class Marked:
    """The answers of one student."""

    student: str
    kinds: tuple[str, ...]
    right: tuple[bool | None, ...]  # None: no answer
    complete: bool  # whether the visible tests of the stage pass


def mark(answers: Path, key: Path, graded: Path, points: float) -> int:
    """Compare answers with the key and write the points.

    Raises:
        UserError: if a file cannot be read, or an answer is for nobody.
    """
    if not (graded / "batch.json").is_file():
        raise UserError(f"{graded} holds no results of batch: name the folder that batch has written")
    if not points > 0:
        raise UserError(f"--points must be more than 0, not {points:g}")
    marked = marks(read_answers(answers), read_key(key))
    rows = [["student", "right", "of", "points", "full"]]
    for one in marked:
        right = sum(answer is True for answer in one.right)
        share = Decimal(points) * right / len(one.right)
        earned = share.quantize(CENT, ROUND_HALF_UP)
        rows.append([harmless(one.student), str(right), str(len(one.right)), str(earned), f"{points:g}"])
    write_whole(graded / POINTS, Sheet(graded / POINTS, rows).data())
    write_whole(graded / PAGE, page(marked).encode())
    print(
        f"points of {len(marked)} students are in {graded / POINTS}; what kinds the class fails is in {graded / PAGE}"
    )
    return 0


def read_key(path: Path) -> Mapping[str, Any]:
    """The students of a key with their questions.

    Raises:
        UserError: if it is none.
    """
    try:
        students = json.loads(path.read_bytes())["students"]
        for entry in students.values():
            if not all(one["letter"] in LETTERS and isinstance(one["kind"], str) for one in entry["questions"]):
                raise ValueError("a question has no answer")
        return dict(students)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{path} is no key of questions ({error}): take the key.json beside the sheets") from error


def read_answers(path: Path) -> dict[tuple[str, int], str]:
    """The answers by student and number of the question; an empty cell is none.

    Raises:
        UserError: if the columns are missing, or a cell cannot be read.
    """
    sheet = Sheet.read(path)
    at = {cell.strip().lower(): place for place, cell in enumerate(sheet.header)}
    if missing := [name for name in COLUMNS if name not in at]:
        raise UserError(f"{path} lacks the column {missing[0]}; its columns are {', '.join(COLUMNS)}")
    found: dict[tuple[str, int], str] = {}
    for row in range(1, len(sheet.rows)):
        student, number, answer = (sheet.cell(row, at[name]).strip() for name in COLUMNS)
        if not student and not number:
            continue
        if not number.isdigit() or answer.upper() not in ("", *LETTERS):
            raise UserError(f"{path}, row {row + 1}: a question is a number and an answer one of {', '.join(LETTERS)}")
        if (student, int(number)) in found:
            raise UserError(f"{path}, row {row + 1}: {student} has answered question {number} before")
        found[student, int(number)] = answer.upper()
    return found


def marks(answers: Mapping[tuple[str, int], str], students: Mapping[str, Any]) -> list[Marked]:
    """The answers of each student of a key.

    Raises:
        UserError: if an answer belongs to nobody, or to no question.
    """
    names = {harmless(student): student for student in students}
    known = {
        (shown, number) for shown, name in names.items() for number in range(1, len(students[name]["questions"]) + 1)
    }
    if odd := sorted(set(answers) - known):
        raise UserError(f"an answer of {odd[0][0]!r} to question {odd[0][1]}, which is not in the key")
    found = []
    for shown, name in names.items():
        questions = students[name]["questions"]
        given = [answers.get((shown, number), "") for number in range(1, len(questions) + 1)]
        right = tuple(
            None if not one else one == question["letter"] for one, question in zip(given, questions, strict=True)
        )
        kinds = tuple(question["kind"] for question in questions)
        found.append(Marked(name, kinds, right, bool(students[name].get("complete"))))
    return found


def page(marked: list[Marked]) -> str:
    """The analysis as HTML: which kinds a class fails, and who passes the tests and fails the questions."""
    kinds = sorted({kind for one in marked for kind in one.kinds})
    shares = np.full((len(marked), len(kinds)), np.nan)
    for row, one in enumerate(marked):
        of_kind: dict[str, list[float]] = defaultdict(list)
        for kind, answer in zip(one.kinds, one.right, strict=True):
            of_kind[kind].append(float(answer is True))
        for kind, values in of_kind.items():
            shares[row, kinds.index(kind)] = float(np.mean(values))
    items = item_analysis(shares, [1.0] * len(kinds), np.nansum(shares, axis=1)) if marked else []
    asked = Counter(kind for one in marked for kind in one.kinds)
    blank = Counter(kind for one in marked for kind, answer in zip(one.kinds, one.right, strict=True) if answer is None)
    rows = [(kind, asked[kind], blank[kind], item) for kind, item in zip(kinds, items, strict=True)]
    totals = [(one, sum(answer is True for answer in one.right)) for one in marked]
    talk = [
        (one.student, right, len(one.right)) for one, right in totals if one.complete and right < FEW * len(one.right)
    ]
    return render("questions_class.html", rows=rows, talk=talk, students=len(marked))


def read_points(folder: Path) -> dict[str, tuple[Fraction, Fraction]]:
    """The points for questions of a class by the students' cells, and what there is to get; nothing without the file.

    Raises:
        UserError: if it cannot be read.
    """
    path = folder / POINTS
    if not path.is_file():
        return {}
    try:
        rows = list(csv.DictReader(io.StringIO(path.read_bytes().decode("utf-8-sig"), newline="")))
        return {row["student"]: (Fraction(row["points"]), Fraction(row["full"])) for row in rows}
    except (OSError, ValueError, KeyError, TypeError, ZeroDivisionError) as error:
        raise UserError(f"{path} cannot be read ({error}): mark the answers again") from error

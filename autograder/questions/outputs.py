"""What a class gets: sheets without a key, timed pages, a key for the staff, Moodle XML and QTI for Canvas."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from autograder.manifest import Assignment, Stage
from autograder.questions.generate import Paper
from autograder.questions.learning_platforms import moodle_xml, qti_package
from autograder.questions.question import LETTERS, Question
from autograder.reports.csv_sheet import Sheet
from autograder.reports.html_pages import as_json, render
from autograder.reports.write_files import harmless, write_whole
from course.errors import UserError

CodeLine = tuple[str, int, str]
SHADES = 10  # of a picture, from the smallest number to the largest


def write_all(out: Path, papers: Sequence[Paper], chosen: Assignment, stage: Stage, seed: int, minutes: int) -> None:
    """Write all outputs into a folder.

    Raises:
        UserError: if it cannot be written.
    """
    asked = [one for one in papers if one.questions]
    title = f"{chosen.title}: {stage.title}"
    try:
        (out / "timed").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"cannot make the folder {out}: {error.strerror}") from error
    values: dict[str, Any] = {"title": title, "papers": [shown(one) for one in asked], "seed": seed}
    write_whole(out / "sheets.html", render("questions.html", key=False, **values).encode())
    write_whole(out / "key.html", render("questions.html", key=True, **values).encode())
    for one in asked:
        page = render(
            "questions_timed.html",
            "questions_timed.js",
            title=title,
            paper=shown(one),
            minutes=minutes,
            data=as_json({"student": one.student, "stage": one.stage, "count": len(one.questions)}),
        )
        write_whole(out / "timed" / f"{one.file or one.student}.html", page.encode())
    write_whole(out / "key.json", json.dumps(key_of(asked, stage, seed), indent=1).encode())
    rows = [["student", "question", "answer"]]
    rows += [[harmless(one.student), str(number + 1), ""] for one in asked for number in range(len(one.questions))]
    write_whole(out / "answers.csv", Sheet(out / "answers.csv", rows).data())
    write_whole(out / "moodle.xml", moodle_xml(asked, title))
    write_whole(out / "canvas.zip", qti_package(asked, title))


def key_of(papers: Iterable[Paper], stage: Stage, seed: int) -> dict[str, object]:
    """All questions with their answers, as JSON; what `mark` reads."""
    students = {
        one.student: {
            "complete": one.complete,
            "questions": [{**question.plain(), "letter": question.letter} for question in one.questions],
        }
        for one in papers
    }
    return {"stage": stage.name, "seed": seed, "students": students}


def shown(paper: Paper) -> dict[str, object]:
    """A paper as the templates take it: all code once, and questions with their pictures in shades."""
    return {
        "student": paper.student,
        "code": merged(question.code for question in paper.questions),
        "questions": [
            {
                "text": one.text,
                "options": list(zip(LETTERS, one.options, one.wrong, strict=False)),
                "letter": one.letter,
                "because": one.because,
                "kind": one.kind,
                "difficulty": one.difficulty,
                "maps": shaded(one),
            }
            for one in paper.questions
        ],
    }


def merged(codes: Iterable[Sequence[CodeLine]]) -> list[CodeLine]:
    """The lines of several excerpts, each once, in the order of the files."""
    found: dict[tuple[str, float, str], CodeLine] = {}
    for code in codes:
        for at, (file, line, text) in enumerate(code):
            place = float(line) if line else code[at + 1][1] - 0.5
            found.setdefault((file, place, text), (file, line, text))
    heads: set[tuple[str, str]] = set()
    lines = []
    for (file, _, text), one in sorted(found.items()):
        if one[1] or (file, text) not in heads:
            lines.append(one)
        heads |= {(file, text)} if not one[1] else set()
    return lines


def shaded(question: Question) -> list[tuple[str, list[list[tuple[float, int]]]]]:
    """The pictures of a question: each number with its shade; all pictures have the same scale."""
    numbers = [value for _, rows in question.maps for row in rows for value in row]
    low, span = min(numbers, default=0.0), (max(numbers, default=1.0) - min(numbers, default=0.0)) or 1.0
    return [
        (title, [[(value, round(SHADES * (value - low) / span)) for value in row] for row in rows])
        for title, rows in question.maps
    ]

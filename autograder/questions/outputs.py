"""The outputs for a class: sheets without a key, timed pages, a key for the staff, Moodle XML, and QTI 1.2 for Canvas.

https://docs.moodle.org/en/Moodle_XML_format, https://www.imsglobal.org/question/qtiv1p2/imsqti_asi_bestv1p2.html
"""

import io
import json
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from autograder.manifest import Assignment, Stage
from autograder.questions.generate import Paper
from autograder.reports.csv_sheet import Sheet
from autograder.reports.html_pages import as_json, render
from autograder.reports.write_files import harmless, write_whole
from course.errors import UserError


def write_all(out: Path, papers: Sequence[Paper], chosen: Assignment, stage: Stage, seed: int, minutes: int) -> None:
    """Write all outputs into a folder.

    Raises:
        UserError: if it cannot be written.
    """
    asked = [one for one in papers if one.questions]
    title = f"{chosen.title}: {stage.title}"
    values: dict[str, Any] = {"title": title, "seed": seed, "minutes": minutes, "papers": asked}
    try:
        (out / "timed").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"cannot create the folder {out}: {error.strerror}") from error
    files = {name: render("questions.html", key=name == "key.html", **values) for name in ("sheets.html", "key.html")}
    for one in asked:
        data = as_json({"student": one.student, "stage": one.stage, "count": len(one.questions)})
        page = render("questions_timed.html", "questions_timed.js", paper=one, data=data, **values)
        files[f"timed/{one.file or one.student}.html"] = page
    files["moodle.xml"] = render("questions_moodle.xml", **values)
    students = {
        one.student: {"complete": one.complete, "questions": [question.plain() for question in one.questions]}
        for one in asked
    }
    files["key.json"] = json.dumps({"stage": stage.name, "seed": seed, "students": students}, indent=1)
    for name, text in files.items():
        write_whole(out / name, text.encode())
    write_whole(out / "canvas.zip", _package(values))
    numbers = [(one.student, number + 1) for one in asked for number in range(len(one.questions))]
    rows = [["student", "question", "answer"], *([harmless(student), str(number), ""] for student, number in numbers)]
    write_whole(out / "answers.csv", Sheet(out / "answers.csv", rows).data())


def _package(values: dict[str, Any]) -> bytes:
    """A zip file with a quiz for each student, for import into Canvas."""
    files = {"imsmanifest.xml": render("questions_qti_manifest.xml", **values)}
    for number, paper in enumerate(values["papers"], start=1):
        files[f"quiz{number}.xml"] = render("questions_qti.xml", paper=paper, ident=f"quiz{number}", **values)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(name), text.encode())  # dated 1980, so that the bytes do not change
    return stream.getvalue()

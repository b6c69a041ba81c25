"""`python -m autograder export feedback`: the students' pages in a zip file, named for upload to Moodle or Canvas.

Moodle ("Upload multiple feedback files in a zip") expects folders named as in Moodle's download:
"Full Name_123_assignsubmission_file_". Canvas ("Upload Submissions", which attaches a file to each submission) expects
file names as in Canvas' download: name_student_file_... For all other uses, the archive contains a page per student and
a list of students and pages, for a mail merge.
"""

import csv
import io
import json
import re
import zipfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from autograder.classroom.saved_results import read_result
from autograder.gradebooks.groups import read_groups
from autograder.gradebooks.moodle import DOWNLOADED
from autograder.manifest import assignment
from autograder.reports.console import listed
from autograder.reports.write_files import harmless
from autograder.submissions.find_submissions import find_submissions
from autograder.submissions.loose_files import uploads
from course.errors import UserError

PAGE = "feedback.html"


def export_feedback(results: Path, kind: str, out: Path, submissions: Path | None) -> tuple[list[str], bool]:
    """Write the zip file; return a summary as a list of lines, and whether the file contains all students.

    Args:
        results: folder written by batch.
        kind: "moodle", "canvas" or "mail".
        submissions: the download from Canvas, whose file names contain the numbers that Canvas gave the files.

    Raises:
        UserError: if there is no feedback, no student's name fits, or the file cannot be written.
    """
    pages = dict(_pages(results))
    if not pages:
        raise UserError(f"{results} has no feedback: run batch first")
    names = {student: student for student in pages}
    if kind == "canvas" and submissions:
        chosen = assignment(str(json.loads((results / "batch.json").read_bytes())["assignment"]))
        submitted = find_submissions(submissions, chosen)
        names |= {
            submission.student: Path(submission.loose[0][0]).name
            for submission in submitted
            if submission.loose and submission.student in pages
        }
    placed = {student: place for student in pages if (place := place_of(student, names[student], kind))}
    left, need = listed(sorted(pages.keys() - placed.keys())), ""
    if kind == "canvas" and not submissions:
        need = "; its download contains the file names: pass that folder as --submissions"
    missing = f"{kind.capitalize()} could not assign: {left}{need}"
    if not placed:
        raise UserError(f"nothing is written, since all {len(pages)} pages have names that {missing}")
    now = datetime.now().timetuple()[:6]  # noqa: DTZ005 (local time of the person who unpacks it)
    try:
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            for student, place in sorted(placed.items()):
                archive.writestr(zipfile.ZipInfo(place, now), pages[student].read_bytes(), zipfile.ZIP_DEFLATED)
            if kind == "mail":
                archive.writestr(zipfile.ZipInfo("list.csv", now), _list(placed))
    except OSError as error:
        raise UserError(f"cannot write {out}: {error.strerror}") from error
    lines = [f"{len(placed)} pages are in {out}."]
    if left:
        lines.append(f"{len(pages) - len(placed)} are not, since they have names that {missing}.")
    return lines, not left


def place_of(student: str, name: str, kind: str) -> str:
    """Return the name of a student's page in the zip file; "" if the platform could not match it with the student.

    Args:
        name: the name of the submission, or of one of its files.
    """
    if kind == "moodle":
        matched = DOWNLOADED.fullmatch(student)
        return f"{matched[1]}_{matched[2]}_assignsubmission_file_/{PAGE}" if matched else ""
    if kind == "canvas":
        canvas = uploads([name]).get(name)
        return f"{canvas.student}_{canvas.file}_{PAGE}" if canvas and canvas.file else ""
    return re.sub(r'[\\/:*?"<>|\x00-\x1f]', "_", student).strip(". ") + ".html"


def _pages(results: Path) -> Iterator[tuple[str, Path]]:
    digests, pages = {}, {}
    for path in sorted((results / "results").glob("*.json")):
        entry, _ = read_result(path)
        digests[str(entry["student"])] = str(entry.get("digest"))
        page = results / "feedback" / f"{path.stem}.html"
        if not entry.get("fault") and page.is_file():
            pages[str(entry["student"])] = page
    for member in read_groups(results).members(digests):
        if member.submission in pages:
            yield member.student, pages[member.submission]


def _list(placed: dict[str, str]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(["student", "file"])
    writer.writerows([harmless(student), harmless(place)] for student, place in sorted(placed.items()))
    return text.getvalue().encode("utf-8-sig", errors="replace")

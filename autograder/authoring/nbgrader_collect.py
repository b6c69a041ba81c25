"""Extract a class download for `nbgrader zip_collect`; find students and their files in the same way as `batch`."""

import atexit
import sys
from pathlib import Path
from typing import Any

from nbgrader.plugins import ExtractorPlugin

from autograder.authoring.release import notebook_names
from autograder.manifest import Assignment, assignment
from autograder.submissions.find_submissions import take_in
from autograder.submissions.untrusted_files import printable
from course.errors import UserError

STUDENT_FILE = r".*[\\/](?P<student_id>[^\\/]+)[\\/](?P<file_id>[^\\/]+)$"  # of an extracted file


class StudentFiles(ExtractorPlugin):  # type: ignore[misc]
    """An extractor that writes a folder per student. At the end, the command lists everything else in the download."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.missed: dict[str, str] = {}
        atexit.register(self.name_missed)  # nbgrader logs each file that it copies, after the last call of a plugin

    def extract(self, archive_path: str, extracted_path: str) -> None:
        """Write each student's modules and notebooks, as they were handed in, into a folder."""
        try:
            self.missed = extract(
                Path(archive_path), Path(extracted_path), assignment(self.parent.coursedir.assignment_id)
            )
        except UserError as error:
            self.parent.fail(str(error))

    def name_missed(self) -> None:
        """Warn on stderr about everything that was not extracted."""
        if self.missed:
            course = self.parent.coursedir
            report = "\nWARNING: nbgrader zip_collect has not collected:\n"
            report += "".join(f"  {printable(name)}: {why}\n" for name, why in sorted(self.missed.items()))
            report += f"Put the files into {course.submitted_directory}/STUDENT/{course.assignment_id}."
            print(report, file=sys.stderr)


def extract(download: Path, folder: Path, known: Assignment) -> dict[str, str]:
    """Write each student's files into a folder; return students without files and unclaimed files, with reasons.

    Raises:
        UserError: if there are no submissions.
    """
    intake = take_in(download, [known])
    missed = dict(intake.unclaimed)
    for found in intake.found:
        submission = found.read(keep=notebook_names(known))
        if not submission.kept:
            missed[found.student] = submission.review[0]
        for name, content in submission.kept.items():
            path = folder / found.student / name
            try:
                path.parent.mkdir(exist_ok=True)
                path.write_bytes(content)
            except OSError as error:  # for instance a name that this system does not allow
                missed[found.student] = f"cannot be written: {error.strerror}"
        there = {path.rpartition("/")[2] for path, _ in submission.left}
        unread = {f"{module}.py": why for module, why in submission.unreadable.items()}
        missed |= {
            f"{found.student}/{name}": why
            for name, why in unread.items()
            if submission.kept and name in there - submission.kept.keys()
        }
    return missed

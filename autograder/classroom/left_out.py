"""Write not-graded.csv: the files in a download that do not count, each with the student's name and the reason."""

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from autograder.reports.write_files import harmless, write_whole
from autograder.submissions.find_submissions import Intake, names_of
from autograder.submissions.read_submission import HANDED_OUT, Submission

FILE = "not-graded.csv"


@dataclass
class LeftOut:
    """A class's ungraded files: unclaimed files, ignored files, and students' files that do not count."""

    intake: Intake
    of_students: dict[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)  # student -> (path, reason)

    def add(self, student: str, submission: Submission) -> None:
        """Record a student's files that do not count."""
        self.of_students[student] = submission.left

    def _rows(self) -> Iterator[tuple[str, str, str]]:
        yield from ((path, "", why) for path, why in self.intake.unclaimed.items())
        yield from ((path, "", f"ignored: {why}") for path, why in self.intake.ignored.items())
        for student, left in self.of_students.items():
            yield from ((path, student, why) for path, why in left)

    def write(self, folder: Path) -> None:
        """Write the table: one row for each file, or one row for a folder and everything in it."""
        text = io.StringIO(newline="")
        writer = csv.writer(text)
        writer.writerow(["file", "student", "why"])
        writer.writerows([harmless(cell) for cell in row] for row in self._rows())
        # The byte order mark lets spreadsheets recognise UTF-8.
        write_whole(folder / FILE, text.getvalue().encode("utf-8-sig", errors="replace"))

    def __str__(self) -> str:
        """Return a sentence with the number of ungraded files and the names of unclaimed files."""
        nobodys, ignored = self.intake.unclaimed, self.intake.ignored
        of_students = [entry for left in self.of_students.values() for entry in left]
        handed_out = sum(why == HANDED_OUT for _, why in of_students)
        others = [path for path, why in of_students if why != HANDED_OUT]
        parts = [f"{names_of(nobodys)} without a student"] if nobodys else []
        parts += [f"{names_of(others)} handed in but not counted"] if others else []
        parts += [f"{len(ignored)} ignored by name"] if ignored else []
        parts += [f"{handed_out} files and folders of the handout"] if handed_out else []
        listed = f"; {FILE} lists them all, with reasons" if parts else ""
        return f"Not graded: {', '.join(parts) or '0 files'}{listed}."

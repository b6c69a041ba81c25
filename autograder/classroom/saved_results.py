"""A class's results folder. Every file in it is complete at all times.

batch.json             assignment and seed
results/anna.json      a student's report, and the settings it depends on
feedback/anna.html     the student's page
staff/anna.html        the staff's page: code, all results, differences from the stub
verdicts/anna.json     the submission's verdict as data, for other programs: see docs/verdict.md
grades.csv             a row for each student
not-graded.csv         a row for each file that does not count
review.csv             the staff's decisions; see reports/review_file.py
rubric.csv             reusable comments and points; see reports/rubric.py
requests.csv           students' regrade requests; see reports/regrade_requests.py
groups.csv             which students submit joint work; see gradebooks/groups.py
report.html            for the instructor
"""

import contextlib
import csv
import hashlib
import io
import json
from collections import defaultdict
from collections.abc import Container, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any, overload

from autograder.classroom.job_processes import Outcome, Settings
from autograder.classroom.reviewers import read_reviewers
from autograder.gradebooks.groups import NAME as GROUPS
from autograder.gradebooks.groups import Groups, Member, read_groups
from autograder.grading.results import Report, from_json
from autograder.manifest import Assignment, assignment
from autograder.reports.review_file import NAME as REVIEW
from autograder.reports.review_file import (
    Decision,
    misfits,
    parse_review,
    read_review,
    refuse,
    with_review,
    write_empty,
)
from autograder.reports.verdict import Audience, Verdict, as_text, fault_report, verdict
from autograder.reports.write_files import harmless, write_whole
from autograder.submissions.find_submissions import Found
from course.errors import UserError
from course.location import ENGINE, checkpoints, course_folder

# Files that affect grades; a change in the other packages, which read, print or write, requires no regrading.
DECIDING = (
    "manifest/*.py",
    "forbidden/*.py",
    "sandbox/*.py",
    "worker/**/*.py",
    "diagnosis/*.py",
    "grading/*.py",
    "submissions/stage_*.py",
)
FOLDERS = ("results", "feedback", "staff", "verdicts")
OF_ASSIGNMENT = ("*.toml", "*.py", "visible/*", "hidden/*", "standins/*", "mistakes/*", "expected/*")


@cache
def grader_hash(name: str) -> str:
    """Return a hash of everything that grades depend on: tests, expected tensors, reference, checkpoint and engine."""
    chosen = assignment(name)
    paths = [path for pattern in DECIDING for path in (ENGINE / "autograder").glob(pattern)]
    paths += [path for pattern in OF_ASSIGNMENT for path in chosen.folder.glob(pattern) if path.is_file()]
    paths += [path for name in chosen.checkpoints for path in (checkpoints() / name).iterdir()]
    paths += [path for module in chosen.modules if (path := chosen.solution / f"{module}.py").exists()]
    digest = hashlib.sha256()
    for path in sorted(paths):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        home = ENGINE if path.is_relative_to(ENGINE) else course_folder()
        digest.update(f"{path.relative_to(home).as_posix()} {content}\n".encode())
    return digest.hexdigest()


def read_result(path: Path) -> tuple[dict[str, Any], Report | None]:
    """Return a student's record, and the report in it, which is None if the grader failed.

    Raises:
        UserError: if the file cannot be read, or something is missing in it.
    """
    try:
        entry = json.loads(path.read_bytes())
        report = None if entry["fault"] else from_json(entry["report"])
        if not entry["student"] or (report and report.max_points <= 0):
            raise ValueError("it has no student or no points")
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{path} cannot be read ({type(error).__name__}: {error}): run batch again") from error
    return entry, report


class Records:
    """A class's results folder, which stays locked until `close` is called.

    Raises:
        UserError: if the folder cannot be used, or is already in use.
    """

    def __init__(self, folder: Path) -> None:
        from filelock import FileLock, Timeout

        self.folder = folder
        try:
            for sub in FOLDERS:
                (folder / sub).mkdir(parents=True, exist_ok=True)
            self._lock = FileLock(folder / ".lock")
            self._lock.acquire(timeout=0)
            for place in (folder, *(folder / sub for sub in FOLDERS)):
                (place / ".partial").unlink(missing_ok=True)
            write_empty(folder)
        except Timeout:
            raise UserError(f"another run is writing to {folder}: wait for it, or choose another --out") from None
        except OSError as error:
            raise UserError(f"cannot write to the folder {folder}: {error.strerror or error}") from error

    @cached_property
    def review(self) -> dict[str, list[Decision]]:
        """The staff's decisions for each student; they are read only once, on first access.

        Raises:
            UserError: if review.csv cannot be read, or its rows are wrong.
        """
        return read_review(self.folder)

    @cached_property
    def groups(self) -> Groups:
        """The groups of students who hand in together.

        Raises:
            UserError: if groups.csv is wrong.
        """
        return read_groups(self.folder)

    def set_groups(self, path: Path) -> bool:
        """Read the groups from a file; return whether they have changed.

        Raises:
            UserError: if it is wrong.
        """
        kept = self.folder / GROUPS
        read_groups(path)
        data = path.read_bytes()
        if kept.exists() and kept.read_bytes() == data:
            return False
        write_whole(kept, data)
        return True

    def members(self, students: Sequence[Found]) -> list[Member]:
        """Return all members of the class, each with the submission that counts for them."""
        read = self.read if self.groups.students else lambda found: {}
        return self.groups.members({found.student: read(found).get("digest", "") for found in students})

    def close(self) -> None:
        """Unlock the folder."""
        self._lock.release()

    def _path(self, found: Found) -> Path:
        return self.folder / "results" / f"{found.safe_name}.json"

    def feedback_path(self, found: Found) -> Path:
        """Return the path of the student's page."""
        return self.folder / "feedback" / f"{found.safe_name}.html"

    def read(self, found: Found) -> dict[str, Any]:
        """Return a student's record; it is empty if there is no readable record."""
        return self._read(found)[0]

    def _read(self, found: Found) -> tuple[dict[str, Any], Report | None]:
        """Return a student's record and the report in it."""
        try:
            entry, report = read_result(self._path(found))
        except UserError:
            return {}, None
        return (entry, report) if entry["student"] == found.student else ({}, None)

    def is_current(self, found: Found, digest: str, settings: Settings) -> bool:
        """Whether a student has a grade for exactly this submission and these settings."""
        entry = self.read(found)
        key = (entry.get("digest"), entry.get("settings"), entry.get("fault"))
        return key == (digest, asdict(settings), "") and self.feedback_path(found).exists()

    def write(self, found: Found, outcome: Outcome, settings: Settings) -> None:
        """Save an outcome. The student's page is written first, so every result has a page."""
        if not outcome.fault:
            write_whole(self.feedback_path(found), outcome.feedback.encode(errors="replace"))
        entry = {
            "student": found.student,
            "digest": outcome.digest,
            "settings": asdict(settings),
            "fault": outcome.fault,
            "report": outcome.report,
        }
        write_whole(self._path(found), json.dumps(entry, indent=1).encode())

    def others(self, found: Found, settings: Settings) -> bool:
        """Whether a student's grade comes from a different version of the grader, or from different hidden inputs."""
        entry = self.read(found)
        kept = entry.get("settings") or {}
        return (
            bool(entry)
            and not entry["fault"]
            and any(kept.get(key) != asdict(settings)[key] for key in ("grader", "seed", "per_student"))
        )

    def refuse_misfits(self, students: Sequence[Found]) -> None:
        """Before any work begins, check that the staff's decisions can be read and fit the existing grades.

        Raises:
            UserError: if any decision does not; the message lists all errors.
        """
        review, wrong = parse_review(self.folder)
        for found in students:
            if found.student in review and (report := self._read(found)[1]):
                wrong += misfits(report, review[found.student])
        refuse(self.folder / REVIEW, wrong)

    def report(self, found: Found) -> Report | None:
        """Return a student's report with the staff's decisions, or None if there is no valid report.

        Raises:
            UserError: if a decision does not fit it.
        """
        _, report = self._read(found)
        decisions = self.review.get(found.student) if report else None
        return with_review(report, decisions) if report and decisions else report

    def verdict(
        self,
        found: Found,
        audience: Audience = "student",
        sources: Mapping[str, str] | None = None,
        students: Sequence[str] = (),
    ) -> Verdict:
        """Return the verdict on a student's submission. The verdict's outcome shows whether the grader failed.

        Raises:
            UserError: if a staff decision does not fit it.
        """
        report = self.report(found) or replace(fault_report(found.assignment), submission=found.student)
        people = list(students) or [found.student]
        return {**verdict(report, found.assignment, audience, sources=sources), "students": people}

    def students(self) -> set[str]:
        """Return the students with a result from this or an earlier run."""
        kept = set()
        for path in (self.folder / "results").glob("*.json"):
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
                kept.add(str(json.loads(path.read_bytes())["student"]))
        return kept

    def drop_renamed(self, students: Sequence[Found]) -> None:
        """Delete results under outdated file names: a student's file name can change when the class changes."""
        expected = {self._path(found) for found in students}
        names = {found.student for found in students}
        for path in set((self.folder / "results").glob("*.json")) - expected:
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
                if json.loads(path.read_bytes())["student"] in names:
                    path.unlink()

    def write_pages(self, students: Sequence[Found], fresh: Container[str]) -> None:
        """Write the staff's pages, the pages of students with staff decisions, and the verdicts.

        Args:
            fresh: the students graded in this run.
        """
        from autograder.reports.staff_page import staff_html
        from autograder.reports.student_feedback import feedback_html

        record = self.folder / "staff" / "reviewed.json"  # students whose feedback contains staff decisions
        before = json.loads(record.read_bytes()) if record.exists() else []
        whose = defaultdict[str, list[str]](list)
        for member in self.members(students):
            whose[member.submission].append(member.student)
        for found in students:
            page = self.folder / "staff" / f"{found.safe_name}.html"
            verdict_file = self.folder / "verdicts" / f"{found.safe_name}.json"
            reviewed = found.student in self.review or found.student in before
            if not (found.student in fresh or reviewed or not page.exists() or not verdict_file.exists()):
                continue
            sources = found.read().sources
            write_whole(verdict_file, as_text(self.verdict(found, "student", sources, whose[found.student])).encode())
            if report := self.report(found):
                html = staff_html(report, sources, found.assignment)
                write_whole(page, html.encode(errors="replace"))
                if reviewed:
                    write_whole(self.feedback_path(found), feedback_html(report).encode(errors="replace"))
        write_whole(record, json.dumps(sorted(self.review)).encode())

    def write_grades(self, students: Sequence[Found], chosen: Assignment) -> None:
        """Write grades.csv: a row for each student, and for each test a column followed by columns for its parts."""
        tests = [
            (stage.name, test, part)
            for stage in chosen.stages
            for test in stage.points
            for part in ("", *stage.parts.get(test, ()))
        ]
        text = io.StringIO()
        writer = csv.writer(text)
        stages = [stage.name for stage in chosen.stages]
        header = ["student", *(".".join(filter(None, test)) for test in tests), *stages, "total", "status"]
        writer.writerow([*header, "submission"] if self.groups.students else header)
        by_name = {found.student: found for found in students}
        for member in self.members(students):
            found = by_name.get(member.submission)
            row: list[Any] = [harmless(member.student)]
            if found is None or (report := self.report(found)) is None:
                status = "grader fault" if found and self.read(found) else "not graded"
                row += [""] * (len(tests) + len(stages) + 1) + [member.why or status]
            else:
                points = {(test.stage, test.name, ""): test.points for test in report.tests}
                points |= {
                    (test.stage, test.name, part.name): part.points for test in report.tests for part in test.parts
                }
                # A test that failed as a whole because of forbidden code has no parts.
                numbers = [points.get(test, "") for test in tests]
                numbers += [*(stage.points for stage in report.stages), report.points]
                row += [*(number if number == "" else f"{number:.10g}" for number in numbers), "graded"]
            writer.writerow([*row, harmless(member.submission)] if self.groups.students else row)
        # The byte order mark lets spreadsheets recognise UTF-8.
        write_whole(self.folder / "grades.csv", text.getvalue().encode("utf-8-sig", errors="replace"))

    def write_report(self, students: Sequence[Found], left_out: str = "") -> None:
        """Write report.html and review.html.

        Args:
            left_out: the sentence about ungraded files.
        """
        from autograder.reports.class_report import class_html
        from autograder.reports.review_page import review_html
        from autograder.reports.review_tables import read_tables

        ungraded = {found.student: self.read(found).get("fault", "not graded") for found in students}
        graded = [found for found in students if self.report(found) is not None]
        for found in graded:
            del ungraded[found.student]
        feedback = {found.student: self.feedback_path(found).name for found in graded}
        reports = Reports(self, graded)
        asked = "questions.html" if (self.folder / "questions.html").is_file() else ""
        html = class_html(
            reports, feedback, ungraded, staff=True, decided=self.review, left_out=left_out, questions=asked
        )
        write_whole(self.folder / "report.html", html.encode(errors="replace"))
        html = review_html(Reports(self, graded), read_tables(self.folder), feedback, read_reviewers(self.folder))
        write_whole(self.folder / "review.html", html.encode(errors="replace"))


class Reports(Sequence[Report]):
    """The reports of a class. They are read on demand, since a large class's reports do not fit into memory."""

    def __init__(self, records: Records, students: Sequence[Found]) -> None:
        self._records, self._students = records, students

    def __len__(self) -> int:
        return len(self._students)

    @overload
    def __getitem__(self, index: int) -> Report: ...
    @overload
    def __getitem__(self, index: slice) -> "Reports": ...
    def __getitem__(self, index: int | slice) -> "Report | Reports":
        if isinstance(index, slice):
            return Reports(self._records, self._students[index])
        report = self._records.report(self._students[index])
        assert report is not None
        return report

"""Classes of submissions, graded by the command as an instructor calls it."""

import csv
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from autograder.__main__ import main
from autograder.classroom.job_processes import Grader, Outcome, Queue, Settings
from autograder.grading.results import Report, from_json
from autograder.manifest import assignment
from autograder.sandbox.confine import unsupported

ROOT = Path(__file__).resolve().parents[2]
ASSIGNMENT = assignment("transformer")
SOLUTION = ROOT / "solutions" / ASSIGNMENT.name
STUBS = ROOT / "notebooks" / ASSIGNMENT.name
CONFINED = ["--unconfined"] if unsupported() else []
SEED = 5


def hand_in(
    folder: Path, student: str, source: Path = STUBS, only: Sequence[str] = (), **changes: tuple[str, str]
) -> None:
    """Put a copy of all modules, or only some, among the submissions; `module=(old, new)` changes a text in one."""
    target = folder / student / ASSIGNMENT.name
    target.mkdir(parents=True, exist_ok=True)
    for module in only or ASSIGNMENT.modules:
        text = (source / f"{module}.py").read_text(encoding="utf-8")
        if module in changes:
            assert changes[module][0] in text
            text = text.replace(*changes[module])
        (target / f"{module}.py").write_text(text, encoding="utf-8")


def arguments_of(submissions: Path, out: Path, *arguments: str, jobs: int = 1) -> list[str]:
    return ["batch", str(submissions), "--out", str(out), "--jobs", str(jobs), *CONFINED, *arguments]


def batch(submissions: Path, out: Path, *arguments: str, jobs: int = 1) -> int:
    return main(arguments_of(submissions, out, *arguments, jobs=jobs))


def without_jobs(patch: pytest.MonkeyPatch) -> None:
    """Let batch grade in this process, which has warm processes; each job would import torch anew."""

    def outcomes(queue: Queue, settings: Settings, _: object) -> Iterator[Outcome]:
        grader = Grader(settings)
        try:
            while (submission := queue.take()) is not None:
                yield grader.grade(submission)
        finally:
            grader.close()

    patch.setattr("autograder.classroom.batch.outcomes", outcomes)


def command(submissions: Path, out: Path, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "autograder", *arguments_of(submissions, out, *arguments)]


def recorded(out: Path) -> dict[str, dict[str, Any]]:
    """What is recorded, by student. Every file must be whole."""
    entries = [json.loads(path.read_text(encoding="utf-8")) for path in (out / "results").glob("*.json")]
    return {entry["student"]: entry for entry in entries}


def verdicts(report: Report) -> list[tuple[Any, ...]]:
    """What must not depend on the way of grading."""
    whole = (report.end_to_end,) if report.end_to_end else ()
    return [(test.name, test.status, test.points, test.message, test.mistake) for test in (*report.tests, *whole)]


def all_verdicts(out: Path) -> dict[str, list[tuple[Any, ...]]]:
    return {student: verdicts(from_json(entry["report"])) for student, entry in recorded(out).items()}


def rows(out: Path) -> dict[str, dict[str, str]]:
    with (out / "grades.csv").open(encoding="utf-8-sig", newline="") as file:
        return {row["student"]: row for row in csv.DictReader(file)}

"""For the tests of exports: the command, and results of a class as batch writes them, without grading anybody."""

import csv
from dataclasses import replace
from pathlib import Path

from autograder.__main__ import main
from autograder.classroom.hidden_seed import seed_of_class
from autograder.classroom.job_processes import Outcome, Settings
from autograder.classroom.saved_results import Records
from autograder.grading.results import Report, StageResult, TestResult, to_json
from autograder.manifest import assignment
from autograder.submissions.find_submissions import Found

Results = dict[str, tuple[float, float] | str]
# An assignment with points of its own, for the arithmetic of the tests.
POINTS: tuple[dict[str, float], ...] = (
    {"test_a": 15, "test_b": 15},
    {"test_c": 5},
    {"test_d": 30},
    {"test_e": 30, "test_f": 5},
    {"test_g": 10},
)
ASSIGNMENT = replace(
    assignment("transformer"),
    stages=tuple(
        replace(stage, points=points, parts={})
        for stage, points in zip(assignment("transformer").stages, POINTS, strict=True)
    ),
)
FAULT, NOT_GRADED = "fault", "not graded"
LATE = '[late]\ndeadline = 2026-10-02T23:59:59\ntimezone = "Europe/Berlin"\npercent_per_day = 10\n'


def make_report(student: str, required: float, extra: float) -> Report:
    """A report with so many points, the first tests passed."""
    left = {False: required, True: extra}
    stages = []
    for stage in ASSIGNMENT.stages:
        tests = []
        for name, most in stage.points.items():
            points = min(left[stage.extra_credit], most)
            left[stage.extra_credit] -= points
            status = "passed" if points == most else "failed"
            tests.append(TestResult(stage.name, name, "A test.", status, points, most))
        stages.append(StageResult(stage.name, stage.number, stage.title, stage.extra_credit, tuple(tests)))
    return Report(ASSIGNMENT.title, student, tuple(stages), 1.0, hidden_seed=5, confined=True)


def write_results(folder: Path, students: Results, groups: Path | None = None) -> Path:
    """Results of students: (points, extra credit), FAULT or NOT_GRADED."""
    records = Records(folder)
    try:
        if groups:
            records.set_groups(groups)
        seed_of_class(records.folder, ASSIGNMENT, 5)
        settings = Settings(ASSIGNMENT.name, 5, 60.0, True, "hash")
        found = [
            Found(student, folder / student, ASSIGNMENT, safe_name=f"student-{number}")
            for number, student in enumerate(students)
        ]
        for one, what in zip(found, students.values(), strict=True):
            if isinstance(what, tuple):
                report = to_json(make_report(one.student, *what))
                records.write(one, Outcome(one.student, str(what), report, "page"), settings)
            elif what == FAULT:
                records.write(one, Outcome(one.student, "digest", fault="the grader fell over"), settings)
        records.write_grades(found, ASSIGNMENT)
    finally:
        records.close()
    return folder


def export(kind: str, *arguments: object) -> int:
    return main(["export", kind, *map(str, arguments)])


def details_of(out: Path) -> list[dict[str, str]]:
    with out.with_name(f"{out.stem}-details.csv").open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))

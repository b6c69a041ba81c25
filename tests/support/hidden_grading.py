"""The hidden tests alone, on changed solutions."""

from pathlib import Path

from autograder.grading.results import TestResult
from autograder.grading.run_test import run_test, stage_tests
from autograder.manifest import assignment
from autograder.sandbox.remote_modules import Student
from autograder.submissions.read_submission import Submission, read_submission
from autograder.submissions.stage_with_standins import code_of_stage

ROOT = Path(__file__).resolve().parents[2]

ASSIGNMENT = assignment("transformer")
STAGES = [stage.name for stage in ASSIGNMENT.stages]
SOURCES = read_submission(ASSIGNMENT.solution, ASSIGNMENT).sources


def hidden_only(workers, sources: dict[str, str], seed: int, stages: list[str] = STAGES) -> list[TestResult]:
    """The results of the hidden tests alone, whether or not the visible tests pass."""
    results = []
    for stage in map(ASSIGNMENT.stage, stages):
        codes = [code_of_stage(Submission("", code), stage, ASSIGNMENT, {}) for code in (sources, SOURCES)]
        student, reference = (Student(workers, code) for code in codes)
        for name, case in stage_tests(stage, hidden=True).items():
            case.student, case.reference, case.seed = student, reference, seed
            results.append(run_test(name, case, stage)[0])
        student.close()
        reference.close()
    return results


def lost(results) -> list[TestResult]:
    return [result for result in results if result.status != "passed"]


def changed(module: str, *changes: tuple[str, str]) -> dict[str, str]:
    """The solution with some texts replaced."""
    text = SOURCES[module]
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return {**SOURCES, module: text}

"""Find the known mistakes that explain the failed tests of a stage."""

from collections.abc import Container, Iterator

from autograder.diagnosis.mistake_signatures import Known, Signature, known_signatures, name_mistakes, signature
from autograder.grading.graded_case import StageTestCase
from autograder.grading.reference_answers import AnswerBook
from autograder.grading.results import TestResult
from autograder.grading.run_test import run_test, stage_tests
from autograder.manifest import Assignment, Stage
from autograder.sandbox.proxy import Student
from autograder.sandbox.worker_processes import Workers
from autograder.submissions.read_submission import Submission, read_submission
from autograder.submissions.stage_with_standins import code_of_stage


def find_mistakes(
    tests: dict[str, TestResult],
    shown: dict[str, Signature],
    stage: Stage,
    assignment: Assignment,
    workers: Workers,
    book: AnswerBook | None,
    dtype: str,
) -> dict[str, str]:
    """The known mistakes that explain the failed tests, by test: first the visible ones, then the hidden ones."""
    visible = {name: found for name, found in shown.items() if not tests[name].hidden}
    passed = [name for name, test in tests.items() if test.hidden or test.status == "passed"]
    known = {name: known_signatures(assignment.name, name) for name in tests}
    names = name_mistakes(visible, passed, known, dtype)
    for name in shown.keys() - visible.keys():
        assert book is not None
        # A mistake that a visible test shows is not the one of code that passes it.
        refuted = {mistake for test in passed for mistake, _ in known[test]}
        names |= name_mistakes({name: shown[name]}, [], {name: _hidden(book, stage, name, dtype, refuted)}, dtype)
    return names


def _hidden(book: AnswerBook, stage: Stage, name: str, dtype: str, refuted: set[str]) -> Known:
    """What the known mistakes that are not refuted show in a hidden test."""
    found = _FOUND.setdefault((book.assignment.name, name, book.hidden_seed, dtype), {})
    case = stage_tests(stage, hidden=True)[name]
    case.seed, case.answers = book.hidden_seed, book.of(stage, name, dtype)
    found.update(mistakes_on(case, stage, book.assignment, book.workers, dtype, refuted | found.keys()))
    return [(mistake, shown) for mistake, shown in found.items() if shown and mistake not in refuted]


# What known mistakes show in a hidden test; with one seed for a whole class it is found out once.
_FOUND: dict[tuple[str, str, int, str], dict[str, Signature | None]] = {}


def mistakes_on(
    case: StageTestCase,
    stage: Stage,
    assignment: Assignment,
    workers: Workers,
    dtype: str = "float64",
    but: Container[str] = (),
) -> Iterator[tuple[str, Signature | None]]:
    """What the known mistakes of a stage, `but` some, show in a test, one after the other; None if they pass it."""
    from autograder.diagnosis.mistakes import all_mistakes

    solution = read_submission(assignment.solution, assignment)
    case.reference = Student(workers, code_of_stage(solution, stage, assignment, {}), dtype)
    for mistake in all_mistakes(assignment.name):
        if mistake.stage == stage.name and mistake.id not in but and not mistake.random:
            mistaken = Submission(mistake.id, mistake.apply(solution.sources))
            case.student = Student(workers, code_of_stage(mistaken, stage, assignment, {}), dtype)
            _, error = run_test(case._testMethodName, case, stage)
            case.student.close()
            yield mistake.id, signature(error, case.checks)
    case.reference.close()

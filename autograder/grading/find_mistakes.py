"""Find the known mistakes that explain the failed tests of a stage."""

from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import replace
from typing import Any

from autograder.diagnosis.mistake_signatures import (
    Known,
    Named,
    Signature,
    hints,
    known_signatures,
    name_mistakes,
    only_through,
    same,
    signature,
)
from autograder.grading.graded_case import StageTestCase
from autograder.grading.reference_answers import AnswerBook
from autograder.grading.results import TestResult
from autograder.grading.run_test import run_test, stage_tests
from autograder.manifest import Assignment, Stage
from autograder.sandbox.remote_modules import Student
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
    student: Callable[[], Student],
) -> dict[str, Named]:
    """Return the known mistake that explains each failed test: first for the visible tests, then for the hidden ones.

    Args:
        student: starts the student's code again, to run a complete hidden test on it and on the mistake.
    """
    if not shown:
        return {}
    visible = {name: failure for name, failure in shown.items() if not tests[name].hidden}
    passed = [name for name, test in tests.items() if test.hidden or test.status == "passed"]
    known = {name: known_signatures(assignment.name, name) for name in tests}
    all_names = name_mistakes(visible, passed, known, dtype)
    names = {name: named for name, named in all_names.items() if not _fixed_alike(tests, name, named.not_in)}
    for name in shown.keys() - visible.keys():
        assert book is not None
        # Code that passes a visible test cannot contain a mistake that the test detects.
        refuted = {mistake for test in passed for mistake, _ in known[test]}
        # Nor can it contain a mistake with a different failure in a visible test.
        for test, failure in visible.items():
            refuted |= {mistake for mistake, other in known[test] if not same(failure, other, dtype)}
        candidates = _hidden(book, stage, name, dtype, refuted)
        named = name_mistakes({name: shown[name]}, [], {name: candidates}, dtype)
        for test, explanation in named.items():
            if agrees := _agrees(explanation.mistake, test, stage, book, dtype, student):
                names[test] = replace(explanation, sure=explanation.sure or agrees == "to the end")
    return names


def _fixed_alike(tests: dict[str, TestResult], name: str, others: Iterable[str]) -> bool:
    """Whether a line is wrong both in this test and in a test where the known mistake would look different.

    If so, the mistake may be named by coincidence: different mistakes can produce the same decoded tokens.
    """
    lines, *of_others = [_wrong_lines(tests[test]) for test in (name, *others)]
    return any(not lines.isdisjoint(wrong_lines) for wrong_lines in of_others)


def _wrong_lines(test: TestResult) -> set[tuple[str, int]]:
    return {(mark.file, mark.line) for mark in test.marks if mark.state == "wrong"}


def with_mistake(test: TestResult, named: Named, assignment: str) -> TestResult:
    """Return the result of a test, with the known mistake that explains it."""
    return replace(test, mistake=named.mistake, hints=hints(assignment, named))


def _agrees(mistake: str, test: str, stage: Stage, book: AnswerBook, dtype: str, student: Callable[[], Student]) -> str:
    """Return how long the student's code and the reference with the mistake agree in a hidden test.

    The student's code failed a check, and later checks might distinguish it from the mistake. Checks that need no
    reference are left out, since the student's code and the mistake would both fail them and end the test.

    Returns:
        "to the end" of the test, "until both fail" in the same way, or "" if the two differ.
    """
    from autograder.diagnosis.mistakes import all_mistakes

    known_mistake = next(entry for entry in all_mistakes(book.assignment.name) if entry.id == mistake)
    solution = read_submission(book.assignment.solution, book.assignment)
    mistaken = Submission(mistake, known_mistake.apply(solution.sources))
    shown = []
    for start in (student, lambda: _start(mistaken, stage, book, dtype)):
        case: Any = stage_tests(stage, hidden=True)[test]
        case.seed, case.beside_only, case.explains = book.hidden_seed, True, False
        case.student, case.reference = start(), _start(mistaken, stage, book, dtype)
        try:
            result, error = run_test(test, case, stage)
        finally:
            case.student.close()
            case.reference.close()
        shown.append((result.status, signature(error, case.checks)))
    (status, actual), (expected_status, expected) = shown
    if status == expected_status == "passed":
        return "to the end"
    alike = actual and expected and same(actual, only_through(known_mistake.module, expected), dtype)
    return "until both fail" if alike else ""


def _start(submission: Submission, stage: Stage, book: AnswerBook, dtype: str) -> Student:
    return Student(book.workers, code_of_stage(submission, stage, book.assignment, {}), dtype)


def _hidden(book: AnswerBook, stage: Stage, name: str, dtype: str, refuted: set[str]) -> Known:
    """Return the signatures of the known mistakes in a hidden test, leaving out refuted mistakes."""
    signatures = _FOUND.setdefault((book.assignment.name, name, book.hidden_seed, dtype), {})
    case = stage_tests(stage, hidden=True)[name]
    case.seed, case.answers = book.hidden_seed, book.of(stage, name, dtype)
    signatures.update(mistakes_on(case, stage, book.assignment, book.workers, dtype, refuted | signatures.keys()))
    return [(mistake, shown) for mistake, shown in signatures.items() if shown and mistake not in refuted]


# Signatures of known mistakes in hidden tests: a class shares a seed, so they are computed once.
_FOUND: dict[tuple[str, str, int, str], dict[str, Signature | None]] = {}


def mistakes_on(
    case: StageTestCase,
    stage: Stage,
    assignment: Assignment,
    workers: Workers,
    dtype: str = "float64",
    but: Container[str] = (),
) -> Iterator[tuple[str, Signature | None]]:
    """Yield each known mistake of a stage, except those in `but`, with its signature in a test.

    The signature is None if the test passes.
    """
    from autograder.diagnosis.mistakes import all_mistakes

    solution = read_submission(assignment.solution, assignment)
    case.reference = Student(workers, code_of_stage(solution, stage, assignment, {}), dtype)
    for mistake in all_mistakes(assignment.name):
        if mistake.stage == stage.name and mistake.id not in but and not mistake.random:
            mistaken = Submission(mistake.id, mistake.apply(solution.sources))
            case.student = Student(workers, code_of_stage(mistaken, stage, assignment, {}), dtype)
            case.explains = False
            _, error = run_test(case._testMethodName, case, stage)
            case.student.close()
            shown = signature(error, case.checks)
            yield mistake.id, shown and only_through(mistake.module, shown)
    case.reference.close()

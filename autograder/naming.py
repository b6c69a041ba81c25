"""Find the known mistakes that explain the failed tests of a stage."""

from collections.abc import Iterator

from autograder.diagnosis import Known, Signature, known_signatures, name_mistakes, signature
from autograder.manifest import Assignment, Stage
from autograder.process import Workers
from autograder.results import TestResult
from autograder.running import run_test, stage_tests
from autograder.student import Student
from autograder.submission import Submission, code_of_stage, read_submission
from autograder.testcase import StageTestCase


def find_mistakes(
    tests: dict[str, TestResult],
    shown: dict[str, Signature],
    stage: Stage,
    assignment: Assignment,
    workers: Workers,
    hidden_seed: int | None,
    dtype: str,
) -> dict[str, str]:
    """The known mistakes that explain the failed tests, by test: first the visible ones, then the hidden ones."""
    visible = {name: found for name, found in shown.items() if not tests[name].hidden}
    passed = [name for name, test in tests.items() if test.hidden or test.status == "passed"]
    known = {name: known_signatures(assignment.name, name) for name in tests}
    names = name_mistakes(visible, passed, known, dtype)
    for name in shown.keys() - visible.keys():
        cases = stage_tests(stage, "autograder.hidden")
        key = (assignment.name, name, hidden_seed, dtype)
        if key not in _HIDDEN_SIGNATURES:
            _HIDDEN_SIGNATURES[key] = list(mistakes_on(cases[name], stage, assignment, workers, dtype, hidden_seed))
        names |= name_mistakes({name: shown[name]}, [], {name: _HIDDEN_SIGNATURES[key]}, dtype)
    return names


# What the known mistakes show in a hidden test; with one seed for a whole class it is found out once.
_HIDDEN_SIGNATURES: dict[tuple[str, str, int | None, str], Known] = {}


def mistakes_on(
    case: StageTestCase,
    stage: Stage,
    assignment: Assignment,
    workers: Workers,
    dtype: str = "float64",
    hidden_seed: int | None = None,
) -> Iterator[tuple[str, Signature]]:
    """What the known mistakes of a stage show in a test, one after the other."""
    from autograder.mistakes import all_mistakes

    solution = read_submission(assignment.solution, assignment)
    reference = Student(workers, code_of_stage(solution, stage, assignment, {}), dtype)
    case.reference, case.seed = reference, hidden_seed or 0
    for mistake in all_mistakes():
        if mistake.stage == stage.name:
            mistaken = Submission(mistake.id, mistake.apply(solution.sources))
            case.student = Student(workers, code_of_stage(mistaken, stage, assignment, {}), dtype)
            _, error = run_test(case._testMethodName, case, stage)
            case.student.close()
            if (shown := signature(error, case.checks)) is not None:
                yield mistake.id, shown
    reference.close()

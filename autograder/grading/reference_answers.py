"""The reference's results in the hidden tests for one seed, computed once and used for a whole class."""

from typing import Any

from autograder.grading.run_test import run_test, stage_tests
from autograder.manifest import Assignment, Stage
from autograder.sandbox.remote_modules import Student
from autograder.sandbox.worker_processes import Workers
from autograder.submissions.read_submission import read_submission
from autograder.submissions.stage_with_standins import code_of_stage

# By part of the test: (the student's results that a call used, the value), in the order of the calls.
Answers = dict[str, list[tuple[Any, Any]]]


class AnswerBook:
    """The reference's answers to the hidden tests for one seed.

    The student's code can end a hidden test, but the test's calls do not otherwise depend on this code. Testing the
    reference against itself therefore makes all the calls.

    Args:
        ahead: whether to record the answers before a test is run, which pays off for a class. Otherwise the test
            queries the reference itself.
    """

    def __init__(self, assignment: Assignment, workers: Workers, hidden_seed: int, ahead: bool = True) -> None:
        self.assignment, self.workers, self.hidden_seed, self.ahead = assignment, workers, hidden_seed, ahead
        self._answers: dict[tuple[str, str], Answers | None] = {}

    def of(self, stage: Stage, test: str, dtype: str) -> Answers | None:
        """Return the answers for one test, or None if the reference fails it.

        In that case, the test must query the reference.
        """
        if (test, dtype) not in self._answers:
            self._answers[test, dtype] = self._record(stage, test, dtype)
        return self._answers[test, dtype]

    def _record(self, stage: Stage, test: str, dtype: str) -> Answers | None:
        code = code_of_stage(read_submission(self.assignment.solution, self.assignment), stage, self.assignment, {})
        case: Any = stage_tests(stage, hidden=True)[test]
        case.student, case.reference = (Student(self.workers, code, dtype) for _ in range(2))
        case.seed, case.recorded = self.hidden_seed, {}
        try:
            _, error = run_test(test, case, stage)
        finally:
            case.student.close()
            case.reference.close()
        return None if error else case.recorded

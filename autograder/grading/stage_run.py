"""One stage of a submission: its visible tests, and then, when all other stages have had theirs, its hidden ones."""

import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from autograder.diagnosis.compare_tensors import Incorrect
from autograder.diagnosis.mistake_signatures import Signature, signature
from autograder.grading.find_mistakes import find_mistakes, with_mistake
from autograder.grading.forbidden_parts import Checked, forbidden_stage
from autograder.grading.graded_case import StageTestCase
from autograder.grading.reference_answers import AnswerBook
from autograder.grading.results import StageResult, TestResult
from autograder.grading.run_test import gets_further, passes, run_test, stage_tests
from autograder.manifest import Assignment, Stage
from autograder.sandbox.remote_modules import Student
from autograder.sandbox.student_faults import Raised, is_dtype_conflict
from autograder.sandbox.total_time import Clock, Share
from autograder.sandbox.worker_processes import Workers
from autograder.submissions.read_submission import Submission, read_submission
from autograder.submissions.stage_with_standins import code_of_stage, with_own_methods

STRICT = False  # whether an error of what only explains is raised, as in the tests of the grader


@contextlib.contextmanager
def _only_explains() -> Iterator[None]:
    """A block without which the points and the messages would be the same: an error in it costs only the lines."""
    try:
        yield
    except Exception:
        if STRICT:
            raise


class Attempt(NamedTuple):
    """A run of a test: its result, what ended it, the number of checks until then, and the precision."""

    result: TestResult
    error: BaseException | None
    checks: int
    dtype: str


class StageRun:
    """Grades a stage in two steps, `visible` and `finish`, in workers of its own.

    Args:
        reported: modules that cannot be imported, with the stage that says so.
        checked: what the search for ready-made parts has found.
    """

    def __init__(
        self,
        submission: Submission,
        stage: Stage,
        assignment: Assignment,
        workers: Workers,
        reported: dict[str, str],
        book: AnswerBook | None,
        clock: Clock | None,
        on_error: Callable[[Stage, str, BaseException], None],
        checked: Checked,
    ) -> None:
        self.stage, self.assignment, self.reported = stage, assignment, reported
        self.workers, self.book, self.on_error = workers, book, on_error
        self.clock = Share(clock or Clock())
        self.lines = checked.forbidden.get(stage.name)
        forbidden = checked.modules
        code = code_of_stage(submission, stage, assignment, reported, forbidden)
        # Correct code that computes a part in float32 does not run in float64; it is right in the students' own.
        self.students = [Student(workers, code, dtype, self.clock) for dtype in ("float64", "float32")]
        # Methods of two stages may share state or a changed given part. The student's own then replace the stand-ins'.
        if not forbidden & set(stage.modules) and (own := with_own_methods(code)) != code:
            self.students.append(Student(workers, own, "float64", self.clock))
        self.again = functools.partial(Student, workers, code, clock=self.clock)
        self.dtype = "float64"  # of the last test
        self.tests: dict[str, TestResult] = {}
        self.shown: dict[str, Signature] = {}
        self.calls: dict[Any, Any] = {}  # that were followed
        self.references: list[Student] = []
        self.named: Student | None = None  # the reference with names of its steps, once it is needed

    def visible(self, waits: bool = True) -> None:
        """Run the visible tests. What ends in an exception here leaves no worker behind.

        Args:
            waits: whether the workers may wait for hidden tests, which costs memory; new ones cost time.
        """
        self.clock.begin()
        try:
            if not self.lines:
                self.run(stage_tests(self.stage).items())
            if self.book is not None:
                for student in self.students:
                    (student.rest if waits else student.close)()
        except BaseException:
            self.close()
            raise

    def run(self, tests: Iterable[tuple[str, StageTestCase]]) -> None:
        """Run tests; a hidden one together with the outcome of the visible one of its name."""
        failed: list[Any] = []
        passing: dict[str, Callable[[Student], bool]] = {}
        calls: dict[str, str] = {}  # the last ones of the tests that pass
        for name, case in tests:
            visible = self.tests.get(name)
            if visible is not None and (visible.status == "fault" or not visible.points):
                continue
            case.seed = self.book.hidden_seed if self.book else 0
            done = self.attempt(name, case, 0)
            if is_dtype_conflict(done.error):
                done = self.attempt(name, case, 1)
            elif isinstance(done.error, Raised) and len(self.students) > 2:
                again = self.attempt(name, case, 2)
                done = done if again.error else again
            result, error, checks, self.dtype = done
            if isinstance(error, (Incorrect, Raised)):
                with _only_explains():
                    from autograder.grading.point_at_line import point_at_line  # with much that nobody else needs

                    case.take_smaller(error)
                    steps = self.steps_of(case)
                    result, followed = point_at_line(result, error, case.student, steps, self.stage, self.calls)
                    if followed and not case.hidden:
                        further = functools.partial(gets_further, case, error, checks)
                        failed.append((name, followed, case.student, further, error.smaller is not None))
            if error is None and case.warnings and not case.hidden:
                with _only_explains():
                    from autograder.grading.warned_lines import with_warned_line

                    result = with_warned_line(result, case.warnings, case.student, self.stage, self.calls)
            if error is None and not case.hidden:
                passing[name], calls[name] = functools.partial(passes, case), case.student.last_call
            if error is not None and not case.hidden:
                self.on_error(self.stage, name, error)
            if (found := signature(error, checks)) is not None:
                self.shown.setdefault(name, found)
            result = visible.guarded_by(result) if visible is not None else result
            title = visible.title if visible is not None else case.shortDescription() or name
            self.tests[name] = replace(result, title=title)
        if failed:
            with _only_explains():
                from autograder.grading.mending_lines import Failed, mended
                from autograder.grading.tested_functions import called_directly, with_callers

                tested = {called_directly(call): name for name, call in calls.items() if called_directly(call)}
                self.tests, told = with_callers(self.tests, [Failed(*one) for one in failed], tested)
                self.tests |= mended(self.tests, told, passing)

    def attempt(self, name: str, case: StageTestCase, number: int) -> Attempt:
        """Run a test with one of the students."""
        case.student = self.students[number]
        case.reference = self.references[number] if self.references else None
        failed = [
            (test, part.name) for test, one in self.tests.items() for part in one.parts if part.status != "passed"
        ]
        failed += [(test, "") for test, one in self.tests.items() if not one.parts and one.status != "passed"]
        case.doubted = {self.stage.graded_by(*one) for one in failed}
        if self.book and self.book.ahead and case.hidden:
            case.answers = self.book.of(self.stage, name, case.student.dtype)
        return Attempt(*run_test(name, case, self.stage), case.checks, case.student.dtype)

    def steps_of(self, case: StageTestCase) -> Student | None:
        """The reference with names of its steps, for hidden tests; what visible ones need is stored."""
        if not case.hidden:
            return None
        if self.named is None:
            from autograder.grading.named_steps import named_reference  # students have none

            self.named = Student(self.workers, named_reference(self.assignment, self.stage), self.dtype)
        return self.named

    def finish(self) -> StageResult:
        """Run the hidden tests, if they are wanted, name known mistakes, and give the result."""
        stage = self.stage
        if self.lines:
            return forbidden_stage(stage, self.lines)
        self.clock.begin()
        if self.book is not None:
            solution = read_submission(self.assignment.solution, self.assignment)
            code = code_of_stage(solution, stage, self.assignment, {})
            self.references = [Student(self.workers, code, student.dtype) for student in self.students]
            self.run(stage_tests(stage, hidden=True).items())
        make = functools.partial(self.again, self.dtype)
        named = find_mistakes(self.tests, self.shown, stage, self.assignment, self.workers, self.book, self.dtype, make)
        self.tests |= {name: with_mistake(self.tests[name], one, self.assignment.name) for name, one in named.items()}
        tests = tuple(replace(test, pointed_beside=None) for test in self.tests.values())
        return StageResult(stage.name, stage.number, stage.title, stage.extra_credit, tests)

    @property
    def failure(self) -> str:
        """The module that could not be imported, if there is one."""
        return next((student.import_failure for student in self.students if student.import_failure), "")

    def close(self) -> None:
        """End the workers."""
        for student in (*self.students, *self.references, *((self.named,) if self.named else ())):
            student.close()

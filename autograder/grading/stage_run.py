"""Grade one stage of a submission: its visible tests and, after the visible tests of all stages, its hidden tests."""

import contextlib
import functools
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from autograder.diagnosis.compare_tensors import Incorrect, is_infinite
from autograder.diagnosis.mistake_signatures import Signature, signature
from autograder.grading.find_mistakes import find_mistakes, with_mistake
from autograder.grading.finite_fills import shown_finite
from autograder.grading.forbidden_parts import Checked, forbidden_stage
from autograder.grading.graded_case import StageTestCase
from autograder.grading.reference_answers import AnswerBook
from autograder.grading.results import StageResult, TestResult
from autograder.grading.run_test import fault, faulty_stage, gets_further, passes, run_test, stage_tests
from autograder.manifest import Assignment, Stage
from autograder.sandbox.remote_modules import Student
from autograder.sandbox.remote_values import Code
from autograder.sandbox.student_faults import Raised, is_dtype_conflict, needs_booleans
from autograder.sandbox.submission_clock import Clock, Share
from autograder.sandbox.worker_processes import Workers
from autograder.submissions.read_submission import Submission, read_submission
from autograder.submissions.source_budget import too_large
from autograder.submissions.stage_with_standins import code_of_stage, with_own_methods

if TYPE_CHECKING:
    from autograder.localization import Failure

FILLED = (
    "The NaN is a consequence: you fill with -inf, and where a mask leaves a query no key, the softmax divides 0 by 0. "
    "With a large finite number instead, your result is exactly that of this mistake."
)
PRECISION = re.compile(r"\bfloat32\b|\bfinfo\b|\.float\(")
STRICT = False  # whether errors in explanations are raised, as in the grader's own tests


@contextlib.contextmanager
def _only_explains() -> Iterator[None]:
    """Run a block; if it fails, only the verdict on lines is lost, and points and messages stay the same."""
    try:
        yield
    except Exception:
        if STRICT:
            raise


class Attempt(NamedTuple):
    """One run of a test: its result, its error, the number of checks reached, and the precision."""

    result: TestResult
    error: BaseException | None
    checks: int
    dtype: str


class StageRun:
    """Grades a stage in two steps, `visible` and `finish`, in its own workers.

    An exception in one of the steps counts as a grader fault in this stage; the other stages are still graded.

    Args:
        reported: modules that cannot be imported, each with the stage that reports the problem.
        checked: the result of the search for ready-made parts.
    """

    def __init__(
        self,
        submission: Submission,
        stage: Stage,
        assignment: Assignment,
        workers: Workers,
        reported: dict[str, str],
        book: AnswerBook | None,
        clock: Clock,
        on_error: Callable[[Stage, str, BaseException], None],
        checked: Checked,
    ) -> None:
        self.stage, self.assignment, self.reported = stage, assignment, reported
        self.workers, self.book, self.on_error = workers, book, on_error
        self.clock = Share(clock)
        self.submission, self.lines = submission, checked.forbidden.get(stage.name)
        self.forbidden = checked.modules.get(stage.name, frozenset())
        self.students: list[Student] = []
        self.error: Exception | None = None  # raised by one of the steps
        self.dtype = "float64"  # of the last test
        self.tests: dict[str, TestResult] = {}
        self.shown: dict[str, Signature] = {}
        self.already_warned: set[str] = set()  # warnings already given
        self.finite: Code | None = None  # the code without infinities, if a test failed with NaN
        self.filled: set[str] = set()  # tests that fail with NaN, but not without infinities
        self.references: list[Student] = []
        self.named: Student | None = None  # the reference with named steps, once needed

    def visible(self, waits: bool = True) -> None:
        """Run the visible tests. After an exception, no worker is left running.

        Args:
            waits: whether the workers may wait for the hidden tests, which costs memory; starting new ones costs time.
        """
        self.clock.begin()
        try:
            self.make_students()
            if not self.lines:
                self.run(stage_tests(self.stage).items())
            if self.book is not None:
                for student in self.students:
                    (student.rest if waits else student.close)()
        except Exception as error:
            self.error = error
            self.close()
        except BaseException:
            self.close()
            raise
        finally:
            self.clock.end()

    def make_students(self) -> None:
        """Create the `Student` objects that run the tests: the default one, and others for code that fails with it."""
        stage, workers = self.stage, self.workers
        code = code_of_stage(self.submission, stage, self.assignment, self.reported, self.forbidden)
        # Correct code that computes partly in float32 fails in float64; it is correct in the students' own precision.
        self.students = [Student(workers, code, dtype, self.clock) for dtype in ("float64", "float32")]
        # Methods of two stages may share state, or use given code that was changed; then keep the student's own.
        if not self.forbidden & set(stage.modules) and (own_code := with_own_methods(code)) != code:
            self.students.append(Student(workers, own_code, "float64", self.clock))
        self.again = functools.partial(Student, workers, code, clock=self.clock)

    def run(self, tests: Iterable[tuple[str, StageTestCase]]) -> None:
        """Run tests; the outcome of a hidden test is combined with that of the visible test of the same name."""
        failed: list[Failure] = []
        passing: dict[str, Callable[[Student], bool]] = {}
        for name, case in tests:
            visible = self.tests.get(name)
            if visible is not None and (visible.status == "fault" or not visible.points):
                continue
            case.seed, case.already_warned = (self.book.hidden_seed if self.book else 0), self.already_warned
            attempt = self.attempt(name, case, 0)
            if is_dtype_conflict(attempt.error):
                attempt = self.attempt(name, case, 1)
            elif isinstance(attempt.error, Raised) and len(self.students) > 2:
                again = self.attempt(name, case, 2)
                attempt = attempt if again.error else again
            elif is_infinite(attempt.error) and self.names_precision:
                # The lowest float64 number is infinite in float32, the type of the students' own tensors.
                before = vars(case).copy()
                again = self.attempt(name, case, 1)
                if again.result.points > attempt.result.points:
                    attempt = again
                else:
                    vars(case).update(before)
            result, error, checks, self.dtype = attempt
            if isinstance(error, (Incorrect, Raised)) and error.recipe and self.unsearched:
                result = replace(result, pointed=(self.unsearched,))
            # If a mask must be boolean, the exception already names the line, and no step is missing.
            elif isinstance(error, (Incorrect, Raised)) and not needs_booleans(error):
                with _only_explains():
                    from autograder.localization import Failure  # imports much that correct code does not need

                    case.take_smaller(error)
                    further = None if case.hidden else functools.partial(gets_further, case, error, checks)
                    failed.append(Failure(name, error, case.student, self.steps_of(case), further))
            if error is None and result.message and not case.hidden and not self.unsearched:
                with _only_explains():
                    from autograder.localization import Failure, localize_warning

                    failures = [Failure(name, warning.error, case.student) for warning in case.warnings]
                    if verdict := localize_warning(self.stage, failures):
                        result = replace(result.pointing(verdict), fault_step="")  # counts only for tests that fail
            if error is None and not case.hidden:
                passing[name] = functools.partial(passes, case)
            if error is not None and not case.hidden:
                self.on_error(self.stage, name, error)
            if (test_signature := signature(error, checks)) is not None:
                with _only_explains():
                    if finite_outcome := shown_finite(case, error, self.stage):
                        test_signature, self.finite = finite_outcome
                        self.filled.add(name)
                self.shown.setdefault(name, test_signature)
            result = visible.guarded_by(result) if visible is not None else result
            title = visible.title if visible is not None else case.shortDescription() or name
            self.tests[name] = replace(result, title=title)
        if failed:
            with _only_explains():
                from autograder.localization import localize

                verdicts = localize(self.stage, failed, passing)
                self.tests |= {name: self.tests[name].pointing(verdict) for name, verdict in verdicts.items()}

    @functools.cached_property
    def unsearched(self) -> str:
        """The reason why the stage's modules are not searched for the wrong line; "" if they are."""
        sources = self.students[0].code.sources
        reasons = ((module, too_large(sources[module])) for module in self.students[0].code.modules)
        return next((f"No line is named: {module}.py has {reason}." for module, reason in reasons if reason), "")

    @functools.cached_property
    def names_precision(self) -> bool:
        """Whether a module of the stage explicitly sets the precision of a computation."""
        code = self.students[0].code
        return any(PRECISION.search(code.sources[module]) for module in code.modules)

    def attempt(self, name: str, case: StageTestCase, number: int) -> Attempt:
        """Run a test with one of the `Student` objects."""
        case.student = self.students[number]
        case.reference = self.references[number] if self.references else None
        failed = [
            (test, part.name) for test, result in self.tests.items() for part in result.parts if part.status != "passed"
        ]
        failed += [(test, "") for test, result in self.tests.items() if not result.parts and result.status != "passed"]
        case.doubted = {self.stage.graded_by(*failure) for failure in failed}
        if self.book and self.book.ahead and case.hidden:
            case.answers = self.book.of(self.stage, name, case.student.dtype)
        try:
            return Attempt(*run_test(name, case, self.stage), case.checks, case.student.dtype)
        except Exception as error:
            return Attempt(fault(self.stage, name, error, case.hidden), error, case.checks, case.student.dtype)

    def steps_of(self, case: StageTestCase) -> Student | None:
        """Return the reference with named steps if the test is hidden; for visible tests, its trace is stored."""
        if not case.hidden:
            return None
        if self.named is None:
            from autograder.localization.named_steps import named_reference  # not in the students' version

            self.named = Student(self.workers, named_reference(self.assignment, self.stage), self.dtype)
        return self.named

    def finish(self) -> StageResult:
        """Run the hidden tests if requested, name known mistakes, and return the result."""
        if self.error is None:
            try:
                return self.graded()
            except Exception as error:
                self.error = error
        return faulty_stage(self.stage, self.error)

    def graded(self) -> StageResult:
        """Return the result for `finish`, which catches the exceptions raised here."""
        stage = self.stage
        if self.lines:
            return forbidden_stage(stage, self.lines)
        if self.book is not None:
            self.clock.begin()
            solution = read_submission(self.assignment.solution, self.assignment)
            code = code_of_stage(solution, stage, self.assignment, {})
            self.references = [Student(self.workers, code, student.dtype) for student in self.students]
            try:
                self.run(stage_tests(stage, hidden=True).items())
            finally:
                self.clock.end()
        make = functools.partial(self.again, self.dtype)
        if self.finite is not None:
            make = functools.partial(Student, self.workers, self.finite, self.dtype, self.clock)
        named = find_mistakes(self.tests, self.shown, stage, self.assignment, self.workers, self.book, self.dtype, make)
        self.tests |= {
            name: with_mistake(self.tests[name], explanation, self.assignment.name)
            for name, explanation in named.items()
        }
        for name in self.filled & named.keys():
            self.tests[name] = replace(self.tests[name], hints=(*self.tests[name].hints, FILLED))
        tests = tuple(self.tests.values())
        return StageResult(stage.name, stage.number, stage.title, stage.extra_credit, tests)

    @property
    def failure(self) -> str:
        """The module that could not be imported, if there is one."""
        return next((student.import_failure for student in self.students if student.import_failure), "")

    def close(self) -> None:
        """Stop the workers."""
        for student in (*self.students, *self.references, *((self.named,) if self.named else ())):
            with contextlib.suppress(Exception):  # the warm process may be gone, and all workers with it
                student.close()

"""The base class of the graded tests: ordinary unittest test cases with access to the student's modules."""

import contextlib
import math
import unittest
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from autograder.diagnosis.compare_tensors import LIMITS, Incorrect, Wrong, compare, deviation, limit_for, wrong_form
from autograder.diagnosis.wrong_elements import masked_by
from autograder.grading.side_effects import check_forgets, check_gradients
from autograder.grading.stored_tensors import Stored, read_tensors
from autograder.grading.unsteady_results import CHANGING
from autograder.manifest import Stage, assignment
from autograder.sandbox.call_replay import CallReplay
from autograder.sandbox.remote_modules import ObjectProxy, Student
from autograder.sandbox.remote_values import MODULE, Foreign, Named
from autograder.sandbox.student_faults import Raised, StudentFault, TimedOut
from autograder.sandbox.wire import Tuple

SMALLER_SECONDS = 2.0  # for calls of `shown_by`: a loop that ends for a trained model may run forever for others
MINOR = 0.1  # the fraction of the points for a part, or for a test without parts, that a side effect costs
CALLS = 8  # further calls with dropout; at least one must drop different elements
# Dropout probabilities that practically keep, or drop, every element; see `assert_dropout`.
KEPT, DROPPED = 0.2, 1 - 1e-13


class Warned(NamedTuple):
    """A warning from a visible test: the error, and whether the hidden test of the same name deducts points for it."""

    error: Incorrect | StudentFault
    graded: bool


class StageTestCase(unittest.TestCase):
    """A graded test. The first line of its docstring is its title for the student."""

    stage: Stage
    student: Student
    reference: Student | None = None
    seed = 0
    hidden = False
    answers: Any = None  # the reference's answers, for hidden tests
    measured: list[tuple[float, float]] | None = None  # (deviation, limit) of each check, if requested
    explains = True  # whether to look for the reason for wrong numbers
    few: int | None = None  # use only this many stored sentences, for a run that earns no points
    doubted: Collection[str] = ()  # functions of the stage for which a test, or a part of a test, has failed
    outcomes: dict[str, tuple[BaseException | None, int]]  # of each part: its error, and the number of checks up to it
    warnings: list[Warned]  # faults that the test does not grade
    side_effect: Incorrect | None = None  # of a call with a correct result; see `minor`
    already_warned: set[str] | None = None  # warnings of the stage's earlier tests; each is given once
    checks = 0  # checks so far; the number of the failed check is part of its signature

    def stored(self, prefix: str) -> dict[str, np.ndarray]:
        """Return the stored tensors whose names start with `prefix` and a slash, keyed by the rest of the name.

        Raises:
            LookupError: if there are none, or a requested tensor is missing.
        """
        file = assignment(self.stage.assignment).expected / f"{self.stage.name}.safetensors"
        tensors, start = read_tensors(file) if file.is_file() else {}, prefix + "/"
        stored = Stored({name.removeprefix(start): value for name, value in tensors.items() if name.startswith(start)})
        stored.where = f"{file.parent.name}/{file.name} has nothing named {start}"
        return stored if stored else stored["..."]  # type: ignore[return-value]

    @contextlib.contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Run a part of the test that has its own points in the manifest. If this part fails, the test continues.

        Parts must not depend on each other: if two parts need the same value, compute it before the first of them.
        After a call that timed out, no further parts are run.
        """
        if name not in self.stage.parts.get(self._testMethodName, {}):
            raise LookupError(f"the manifest names no part {name!r} of {self._testMethodName}")
        error: BaseException | None = None
        outside, self.side_effect = self.side_effect, None
        try:
            yield
            error = self.side_effect
        except (Incorrect, StudentFault) as caught:
            error = caught
            self.note_recipe(caught)
            if isinstance(caught, TimedOut):
                raise
        finally:
            self.side_effect = outside
            self.outcomes[name] = (error, self.checks)

    def note_recipe(self, error: BaseException | None) -> None:
        """Attach the recipe for repeating the last call to an error."""
        if isinstance(error, (Incorrect, StudentFault)) and error.recipe is None:
            error.recipe = self.student.recipe()

    def needs(self, *parts: str) -> None:
        """If all `parts` failed, fail with their first error, so that code that does nothing earns no points here."""
        failed = [error for error, _ in map(self.outcomes.__getitem__, parts) if error and not is_minor(error)]
        if len(failed) == len(parts):
            raise failed[0]

    @contextlib.contextmanager
    def minor(self) -> Iterator[None]:
        """If the block fails only because of a side effect, the test continues and loses `MINOR` of its points."""
        try:
            yield
        except Incorrect as error:
            if not error.changes:
                raise
            error.minor = True
            self.note_recipe(error)
            self.side_effect = self.side_effect or error

    @contextlib.contextmanager
    def shown_by(self, smaller: Callable[[], object]) -> Iterator[None]:
        """If the block fails, localise the fault with a smaller call that fails in the same way; points do not change.

        Args:
            smaller: runs the smaller call and checks its result. It runs only after the test, to localise a fault, or
                when all calls of a test are recorded.
        """
        try:
            yield
        except (Incorrect, Raised) as error:
            error.smaller = smaller
            raise
        if self.student.noted is not None:
            smaller()

    def take_smaller(self, error: BaseException) -> None:
        """Replace an error's recipe with that of the smaller call, if there is one and it fails in the same way."""
        if not isinstance(error, (Incorrect, Raised)) or error.smaller is None or error.recipe is None:
            return
        student, code = self.student, error.recipe.code
        before = self.checks, student.last_call, self.explains
        self.student = student if code is student.code else student.with_code(code)
        self.explains = False
        try:
            with self.student.aside(SMALLER_SECONDS):
                error.smaller()
        except (Incorrect, StudentFault) as smaller_error:
            if type(smaller_error) is type(error):
                error.recipe = self.student.recipe() or error.recipe
        finally:
            if self.student is not student:
                self.student.close()
            self.student = student
            self.checks, student.last_call, self.explains = before

    @contextlib.contextmanager
    def only_warn(self, graded: bool = True) -> Iterator[None]:
        """Turn a failure in the block into a warning that costs no points.

        The warning states whether the hidden test deducts points for this failure.

        Args:
            graded: whether the hidden test of the same name deducts points for it; the audit checks this.
        """
        checks, call = self.checks, self.student.last_call
        try:
            yield
        except (Incorrect, StudentFault) as error:
            self.note_recipe(error)
            self.warnings.append(Warned(error, graded))
        self.checks, self.student.last_call = checks, call

    def assert_tensor(
        self,
        actual: Any,
        expected: np.ndarray,
        name: str,
        axes: str,
        where: np.ndarray | None = None,
        limit: float = 0.0,
        groups: Mapping[str, np.ndarray] | None = None,
        at_most: float = math.inf,
    ) -> None:
        """Fail unless `actual` is the expected tensor; see `autograder.diagnosis.compare_tensors`.

        Args:
            limit: replaces the usual limit if it is larger.
            at_most: an upper bound on the limit in every precision, for a mistake that causes only a small deviation.
        """
        self.checks += 1
        limit = min(limit_for(expected, max(limit, LIMITS[self.student.dtype])), at_most)
        if self.measured is not None and isinstance(actual, np.ndarray) and actual.shape == expected.shape:
            self.measured.append((deviation(actual, expected, where), limit))
        if wrong := compare(name, axes, actual, expected, limit, where, groups, self.masked):
            self.steady()
            fits = isinstance(actual, np.ndarray) and actual.shape == expected.shape
            if not fits:
                raise Incorrect(wrong, self.student.last_call, actual)
            raise Incorrect(wrong, self.student.last_call, actual, where, expected, axes)

    def masked(self) -> list[tuple[str, np.ndarray]]:
        """Return the elements that each mask of the last call affects."""
        return masked_by(self.student.last_inputs)

    def steady(self) -> None:
        """Fail if repeating the last call on a new object gives a different result, since this explains the error."""
        if self.explains and (why := CHANGING.get(self.student.changing(alike))):
            raise Incorrect(why, self.student.last_call)

    def part_of_scores(
        self, model: Any, shape: tuple[int, ...], name: str, axes: str, columns: np.ndarray | None = None
    ) -> Callable[..., np.ndarray]:
        """Return a function like `model` that returns only some columns of the scores, or the best column of each row.

        The function fails unless the scores are finite and have this shape. The worker selects the columns, so less
        data is sent.
        """

        def call(method: str | None = None, **inputs: Any) -> np.ndarray:
            taking = model.taking(shape, None if columns is None else columns.tolist())
            result = (getattr(taking, method) if method else taking)(**inputs)
            marked = isinstance(result, list) and len(result) == 2 and isinstance(result[0], str)
            if not marked or result[0] != "taken" or not isinstance(result[1], np.ndarray):
                self.assert_form(result, shape, name, axes)
                self.wrong(f"{name} cannot be read")
            self.checks += 1
            return result[1]

        return call

    def assert_form(self, actual: Any, shape: tuple[int, ...], name: str, axes: str, infinite: bool = False) -> None:
        """Fail unless `actual` is a floating-point tensor of this shape. `infinite` allows infinity and NaN."""
        self.checks += 1
        counted = np.zeros(shape, dtype=bool) if infinite else None
        if wrong := wrong_form(name, axes, actual, shape, floating=True, counted=counted):
            self.steady()
            raise Incorrect(wrong, self.student.last_call, actual)

    def wrong(
        self,
        message: str,
        *details: str,
        actual: np.ndarray | None = None,
        made_by: Sequence[str] = (),
        operation: str = "",
        recipe: CallReplay | None = None,
    ) -> NoReturn:
        """Fail with a message for the student.

        Args:
            actual: the wrong numbers, if any.
            made_by: the paths of the submodules whose outputs the message is about.
            operation: the misplaced operation; "" if it is missing.
            recipe: how to repeat the wrong call, if it is not the last one.
        """
        if actual is not None:
            self.steady()
        error = Incorrect(Wrong(message, details), self.student.last_call, actual, made_by=made_by, operation=operation)
        error.recipe = recipe
        raise error

    def warn_of_changes(
        self,
        model: Any,
        arguments: Mapping[str, Any],
        method: str | None = None,
        where: np.ndarray | None = None,
        batch: bool = True,
    ) -> bool:
        """Warn if a call changes an argument, keeps state for the next call, or fails.

        Args:
            where: the elements of the first result that count.
            batch: whether results and arguments have one row per sentence, so that their order can be reversed.

        Returns:
            False if a part has already failed; then nothing is checked.
        """
        if passes := not any(error for error, _ in self.outcomes.values()):
            before = len(self.warnings)
            with self.only_warn():
                self.keeps_arguments(model, arguments, method)
            if batch and len(self.warnings) == before:
                with self.only_warn(), self.student.unnoted():
                    check_forgets(self, getattr(model, method) if method else model, arguments, where)
        return passes

    def warn_of_side_effects(
        self,
        model: Any,
        arguments: Mapping[str, Any],
        method: str | None = None,
        weights: Mapping[str, np.ndarray] | None = None,
        where: np.ndarray | None = None,
        batch: bool = True,
    ) -> bool:
        """Warn as `warn_of_changes` does, and also if gradients do not match the result's slopes; see `side_effects`.

        Args:
            weights: the weights that the model was loaded with.
        """
        if passes := self.warn_of_changes(model, arguments, method, where, batch):
            with self.only_warn(), self.student.unnoted():
                check_gradients(self, model, arguments, method, weights, where)
        return passes

    def assert_chance(self, call: Callable[[], Any], where: np.ndarray | None = None) -> None:
        """Fail if all calls in training mode, with a dropout probability of 0.5, return the same result.

        With few elements, two calls may drop the same elements: with 8 elements, this happens in 1 of 256 cases.

        Args:
            where: the elements that count, to be broadcast; None for all.
        """
        self.checks += 1
        first = call()
        for _ in range(CALLS):
            second = call()
            if not shape_of(first) or shape_of(first) != shape_of(second):
                return
            change = np.where(True if where is None else where, np.abs(first - second), 0).max()
            if not change <= 1e-3 * np.abs(first).max():
                return
        why = "Dropout picks the elements to drop anew in each call, as nn.Dropout and F.dropout do."
        self.wrong("in training mode, two calls with a dropout of 0.5 give the same output", why, actual=first)

    def assert_dropout(
        self,
        build: Callable[[float], ObjectProxy],
        weights: Mapping[str, np.ndarray],
        call: Callable[[ObjectProxy], Any],
        expected: Mapping[str, np.ndarray],
        axes: str,
        where: np.ndarray | None = None,
    ) -> None:
        """Fail unless dropout is in the right places. The test uses a new object in training mode, without randomness.

        Args:
            build: creates the object with a dropout probability.
            expected: the results under "keeps" if dropout keeps every element (and multiplies it by 1 / (1 - p)), and
                under "drops" if it drops every element; see `worker/deterministic_dropout.py`.
        """
        for effect, p in (("keeps", KEPT), ("drops", DROPPED)):
            model = build(p)
            model.load_state(weights)
            model.train()
            title = f"the output in training mode, where dropout {effect} every element,"
            self.assert_tensor(call(model.deterministic_dropout()), expected[effect], title, axes, where)

    def keeps_arguments(self, model: Any, arguments: Mapping[str, Any], method: str | None = None) -> None:
        """Fail if a call changes one of its arguments (tensors or lists of tensors)."""
        after = model.arguments_after(*filter(None, [method]), **arguments)
        for name, value in arguments.items():
            self.checks += 1
            if not self.equal(after[name], value):
                self.argument_changed(name)

    def argument_changed(self, name: str) -> NoReturn:
        """Fail with the message that the last call changed an argument."""
        why = "It works in place on what belongs to the caller."
        what = f"the call modifies {name}, one of its arguments"
        raise Incorrect(Wrong(what, (why,)), self.student.last_call, changes=name)

    def equal(self, after: Any, before: Any) -> bool:
        """Whether an argument is unchanged since it was sent."""
        if isinstance(before, (list, tuple)):
            return isinstance(after, list) and len(after) == len(before) and all(map(self.equal, after, before))
        if not isinstance(before, np.ndarray):
            return bool(after is before or (isinstance(before, (int, float, str)) and after == before))
        sent = before.astype(self.student.dtype) if before.dtype == np.float64 else before
        return isinstance(after, np.ndarray) and np.array_equal(after, sent)

    def items(self, value: Any, number: int, name: str) -> Any:
        """Fail unless a call returned `number` values; return them."""
        self.checks += 1
        if not isinstance(value, list) or len(value) != number:
            wrong = "returns nothing: is there a `return`?" if value is None else "returned the wrong number of values"
            self.wrong(f"{name} {wrong}", f"expected  {number} values", f"got       {_kind(value)}")
        return value


def is_minor(error: BaseException | None) -> bool:
    """Whether the error is a side effect of a call with a correct result."""
    return isinstance(error, Incorrect) and error.minor


def shape_of(value: Any) -> tuple[int, ...]:
    """Return the shape of a tensor; () for any other result."""
    return value.shape if isinstance(value, np.ndarray) else ()


def as_number(value: Any) -> np.ndarray:
    """Convert a result to an array. If it is neither a number nor a tensor, the array contains no numbers."""
    return np.asarray(value if isinstance(value, (int, float, np.ndarray)) else str(type(value)))


def alike(value: Any, other: Any) -> bool:
    """Whether two results of a call are equal; objects that stay in the worker count as equal."""
    if isinstance(value, list):
        return isinstance(other, list) and len(value) == len(other) and all(map(alike, value, other))
    if isinstance(value, np.ndarray):
        return isinstance(other, np.ndarray) and np.array_equal(value, other, equal_nan=value.dtype.kind == "f")
    return type(value) is type(other)


def _kind(value: Any) -> str:
    if isinstance(value, list):
        return f"a {'tuple' if isinstance(value, Tuple) else 'list'} of {len(value)}"
    if isinstance(value, (Foreign, Named)):
        return value.description if isinstance(value, Foreign) else MODULE
    if isinstance(value, np.ndarray):
        return f"one tensor of shape {tuple(value.shape)}"
    return "None" if value is None else f"a value of type {type(value).__name__}"


def inside(lengths: np.ndarray, T: int | None = None) -> np.ndarray:
    """Return an array that is True at positions inside a sentence: (B,) -> (B, T); T defaults to the largest length."""
    return np.asarray(np.arange(T or lengths.max())[None, :] < lengths[:, None])

"""The base class of the hidden tests: the student's modules and the reference, each in its own worker."""

import contextlib
import hashlib
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograder.diagnosis.compare_tensors import LIMITS, Incorrect, Wrong, compare_own
from autograder.grading.graded_case import StageTestCase
from autograder.grading.reference_answers import Answers
from autograder.grading.run_test import Unanswered
from autograder.sandbox.remote_modules import ObjectProxy, Student
from autograder.sandbox.remote_values import Gradients
from autograder.sandbox.student_faults import Raised, StudentFault

# torch's messages if a result needed by the backward pass is changed in place; the result itself is correct.
IN_PLACE = ("modified by an inplace operation", "being used in an in-place operation")
SHARP = 2.0  # sharper attention shows mistakes more clearly


class ReferenceFault(Exception):
    """The reference did not return a result, which is the grader's fault and not the student's."""


@dataclass(frozen=True)
class Twins:
    """An object in the student's worker and its counterpart in the reference's worker."""

    student: ObjectProxy
    reference: Any  # only for `right`: if the answers are known already, there is no such object


class HiddenTestCase(StageTestCase):
    """A hidden test, with the same name as the visible test that it shares its points with."""

    hidden = True
    given: tuple[str, ...] = ()  # name endings of buffers that are not random
    answers: Answers | None = None  # if already known
    recorded: Answers | None = None  # records the answers
    beside_only = False  # skip the checks that need no reference

    def setUp(self) -> None:
        self.begin("")

    def begin(self, part: str) -> None:
        """Begin a part of the test, with its own random numbers and answers; "" means everything outside the parts."""
        self.current, self.asked = part, 0
        # numpy's PCG64 generates the same numbers on every processor.
        self.rng = np.random.Generator(np.random.PCG64(self.derived(part)))

    def derived(self, purpose: str) -> int:
        """Derive a number from the seed, for one purpose within this test.

        A worker may see this number, or random numbers drawn from it. Neither reveals the seed or the other tests,
        since SHA-256 cannot be inverted.
        """
        text = f"{self.seed} {self._testMethodName} {purpose}".rstrip()
        return int.from_bytes(hashlib.sha256(text.encode()).digest(), "big")

    @contextlib.contextmanager
    def part(self, name: str) -> Iterator[None]:
        self.begin(name)
        with super().part(name):
            yield
        self.begin(f"after {name}")

    # Random inputs

    def random(self, *shape: int) -> np.ndarray:
        """Return numbers drawn from the standard normal distribution."""
        return self.rng.standard_normal(shape)

    def transposed(self, *shape: int) -> np.ndarray:
        """Return standard normal numbers in an array whose last two axes are swapped in memory."""
        return self.random(*shape[:-2], shape[-1], shape[-2]).swapaxes(-1, -2)

    def pick(self, *values: int) -> int:
        """Return one of the values, picked at random."""
        return values[int(self.rng.integers(len(values)))]

    def sizes(self, number: int, low: int = 4, high: int = 9) -> list[int]:
        """Return random sizes that are all different."""
        return [int(size) for size in low + self.rng.permutation(high - low + 1)[:number]]

    def lengths(self, B: int, T: int) -> np.ndarray:
        """Return random lengths for B sentences. One length is T; if there are several, at least one is shorter."""
        lengths = self.rng.integers(1, T + 1, size=B)
        lengths[0] = T
        lengths[1:2] = self.rng.integers(1, max(T, 2))
        return self.rng.permutation(lengths)

    def padding(self, lengths: np.ndarray, T: int) -> np.ndarray:
        """Return the padding mask for these lengths, (B, T): 0 inside a sentence, 1 after its end."""
        return (np.arange(T) >= lengths[:, None]).astype(np.int64)

    def seed_student(self, purpose: str) -> None:
        """Seed the random number generators in the student's worker with a number from `derived`."""
        self.student.seed(self.derived(f"{self.current} {purpose}") % 2**56)

    def in_turn(self) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
        """Return lengths and masks of four batches: short, long, short but different, and the first batch again.

        A call to an object must not depend on earlier calls. The two short masks differ in every row but allow the
        first key; a short batch has 2 sentences of up to 3 positions.
        """
        mask = self.rng.choice((0, 1), size=(1, 3, 3)) * (np.arange(3) > 0)
        long = np.array([4, 9, 6]), self.rng.choice((0, 1), size=(1, 9, 9)) * (np.arange(9) > 0)
        short, other = (np.array([1, 3]), mask), (np.array([3, 2]), (1 - mask) * (np.arange(3) > 0))
        return short, long, other, short

    # Comparing the student with the reference

    def right(self, run: Callable[[Any], Any], subject: Any, given: Any = None) -> Any:
        """Return the result of `run` for the reference, or the known result if there are known answers.

        Args:
            given: the student's results that `run` uses, if any.
        """
        if self.answers is not None:
            answers = self.answers.get(self.current, [])
            known, value = answers[self.asked] if self.asked < len(answers) else (None, None)
            self.asked += 1
            if known != given or self.asked > len(answers):
                raise Unanswered
            return value
        try:
            value = run(subject)
        except StudentFault as fault:
            raise ReferenceFault(f"{fault.call}: {fault.message}") from fault
        if self.recorded is not None:
            self.recorded.setdefault(self.current, []).append(
                (given, None if isinstance(value, ObjectProxy) else value)
            )
        return value

    def both(self, build: Callable[[Student], Any]) -> Twins:
        """Return the student's object and the reference's object, with the weights that their constructors set."""
        return Twins(build(self.student), self.right(build, self.reference))

    def twins(self, build: Callable[[Student], Any]) -> Twins:
        """Return the student's object and the reference's object, with the same random weights."""
        twins = self.both(build)
        self.load(twins, self.weights(twins.reference))
        return twins

    def train(self, twins: Twins) -> Twins:
        """Switch both objects to training mode."""
        twins.student.train()
        self.right(lambda reference: reference.train(), twins.reference)
        return twins

    def load(self, twins: Twins, weights: Mapping[str, np.ndarray]) -> None:
        """Load the same weights into both objects."""
        twins.student.load_state(weights)
        self.right(lambda reference: reference.load_state(weights), twins.reference)

    def weights(self, reference: Any) -> dict[str, np.ndarray]:
        """Return random weights that lead to sharp attention and varied layer norms.

        Buffers named in `given` come from the reference.
        """
        shapes = self.right(lambda reference: reference.shapes(), reference)
        given = {name for name in shapes if name.endswith(self.given)}
        values = self.right(lambda reference: {name: reference.attribute(name) for name in given}, reference)
        return {name: values[name] if name in values else self.weight(name, shape) for name, shape in shapes.items()}

    def weight(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        """Return random values for one parameter of the interface."""
        values = self.random(*shape)
        if "layer_norm.weight" in name:
            return 1 + 0.3 * values
        if "embedding" in name:
            return values
        if name.endswith("bias"):
            return 0.3 * values
        sharp = SHARP if "W_q" in name or "W_k" in name else 1.0
        return sharp * values / np.sqrt(shape[-1])

    # Checks

    def same(
        self,
        call: Callable[[ObjectProxy], Any],
        twins: Twins,
        name: str,
        axes: str,
        where: np.ndarray | None = None,
        limit: float = 0.0,
        at_most: float = math.inf,
    ) -> np.ndarray:
        """Fail unless a call returns the same tensor as the reference; return the tensor."""
        actual: np.ndarray = call(twins.student)
        self.assert_tensor(actual, self.right(call, twins.reference), name, axes, where, limit, at_most=at_most)
        return actual

    def unchanged(
        self, after: Any, before: np.ndarray, wrong: str, name: str, axes: str, where: np.ndarray | None = None
    ) -> None:
        """Fail with the message `wrong` if two of the student's results differ although they must be equal."""
        self.checks += 1
        if self.beside_only:
            return
        if difference := compare_own(name, axes, after, before, LIMITS[self.student.dtype], where, self.masked):
            self.wrong(wrong, difference.message, *difference.details, actual=after)

    def same_gradients(
        self,
        twins: Twins,
        arguments: Mapping[str, Any],
        output: np.ndarray | list[np.ndarray],
        axes: str,
        method: str | None = None,
    ) -> Gradients:
        """Fail unless the gradients of all inputs and parameters are the same as those of the reference.

        Args:
            output: the gradient of the call's output, or of each output; zero at elements that do not count.
            axes: the axes of the inputs.
        """

        def differentiate(model: ObjectProxy) -> Gradients:
            outputs = output if isinstance(output, list) else [output]
            return model.gradients(outputs, method=method, **arguments)

        right = self.right(differentiate, twins.reference)
        actual = self.differentiated(lambda: differentiate(twins.student), right)
        inputs = [name for name, value in arguments.items() if getattr(value, "dtype", None) == np.float64]
        for number, (name, expected) in enumerate(zip(inputs, right.inputs, strict=True)):
            self.same_gradient(name, actual.inputs[number] if number < len(actual.inputs) else None, expected, axes)
        for name, expected in right.parameters.items():
            parts = "out in" if expected is None or expected.ndim == 2 else "features"
            self.same_gradient(name, actual.parameters.get(name), expected, parts)
        return actual

    def same_gradient(self, name: str, actual: Any, expected: np.ndarray | None, axes: str) -> None:
        """Fail unless a gradient is correct. None means zero: the parameter is not used in the computation."""
        largest = 0.0 if expected is None else float(np.abs(expected).max())
        if actual is None and largest > 0:
            self.wrong(f"no gradient reaches {name}", "Does the computation leave the graph (.detach(), .data, ...)?")
        if actual is None:
            return
        expected = np.zeros_like(actual) if expected is None else expected
        # Rounding errors grow with the gradient's size, and remain when a sum over many positions cancels out.
        limit = 10 * LIMITS[self.student.dtype] * max(1.0, largest)
        self.assert_tensor(actual, expected, f"the gradient of {name}", axes, limit=limit)

    def keeps_arguments(self, model: Any, arguments: Mapping[str, Any], method: str | None = None) -> None:
        """Check whether a call changes its arguments. Such a change costs only a few points; see `minor`."""
        if not self.beside_only:
            with self.minor():
                super().keeps_arguments(model, arguments, method)

    def differentiated(self, call: Callable[[], Gradients], right: Gradients) -> Gradients:
        """Return a call's gradients, or the correct ones if autograd refuses because a tensor was changed in place.

        Such a change is only a side effect, since the result is correct. It costs only a few points; see `minor`.
        """
        try:
            return call()
        except Raised as fault:
            if not any(words in fault.message for words in IN_PLACE):
                raise
            wrong = Wrong("the result is right, but a tensor that gradients need is changed in place", (fault.message,))
            with self.minor():
                raise Incorrect(wrong, self.student.last_call, changes="a tensor that gradients need") from fault
            return right

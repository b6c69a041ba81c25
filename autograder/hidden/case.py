"""The base class of the hidden tests: the student's modules beside the reference, each in a worker of its own."""

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from autograder.student import ObjectProxy, Student, StudentFault
from autograder.testcase import StageTestCase

SHARP = 3.0  # more peaked attention shows mistakes better


class ReferenceFault(Exception):
    """The reference did not give a result: a fault of the grader, not of the student."""


class HiddenTestCase(StageTestCase):
    """A hidden test. It has the name of the visible test whose points it guards."""

    hidden = True

    def setUp(self) -> None:
        # numpy's PCG64 gives the same numbers on every processor.
        test = zlib.crc32(self._testMethodName.encode())
        self.rng = np.random.Generator(np.random.PCG64([self.seed, test]))

    def random(self, *shape: int) -> np.ndarray:
        """Standard normal numbers."""
        return self.rng.standard_normal(shape)

    def expected(self, run: Callable[[Student], Any]) -> Any:
        """What the reference gives."""
        assert self.reference is not None
        try:
            return run(self.reference)
        except StudentFault as fault:
            raise ReferenceFault(f"{fault.call}: {fault.message}") from fault

    def assert_same(
        self, run: Callable[[Student], Any], name: str, axes: str, where: np.ndarray | None = None, limit: float = 0.0
    ) -> None:
        """Fail unless the student's code gives the same tensor as the reference."""
        self.assert_tensor(run(self.student), self.expected(run), name, axes, where, limit)

    def weights(self, build: Callable[[Student], ObjectProxy]) -> dict[str, np.ndarray]:
        """Random weights for an object: sharp attention, and layer norms that differ from each other.

        The table of positions is the one of the reference.
        """

        def make(reference: Student) -> dict[str, np.ndarray]:
            built = build(reference)
            return {
                name: built.attribute(name) if name.endswith("pe") else self.weight(name, shape)
                for name, shape in built.shapes().items()
            }

        weights: dict[str, np.ndarray] = self.expected(make)
        return weights

    def weight(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        """Random values for one parameter of the interface."""
        values = self.random(*shape)
        if "layer_norm.weight" in name:
            return 1 + 0.3 * values
        if "embedding" in name:
            return values
        if name.endswith("bias"):
            return 0.3 * values
        sharp = SHARP if "W_q" in name or "W_k" in name else 1.0
        return sharp * values / np.sqrt(shape[-1])

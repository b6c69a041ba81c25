"""Code shared by the hidden tests: random weights, sizes, masks, and calls to functions that take a model."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from autograder.assignments.variants.visible.checks import CheckingTestCase
from autograder.assignments.variants.weights import random_weight
from autograder.grading.graded_case import DROPPED, KEPT
from autograder.grading.hidden_case import HiddenTestCase, Twins

PADDING = 1


class VariantsTestCase(HiddenTestCase, CheckingTestCase):
    """A hidden test of this assignment."""

    def weight(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        """Random values for one parameter of the interface."""
        return random_weight(self.rng, name, shape)

    @property
    def modules(self) -> Twins:
        """The student's and the reference's modules, for calling their functions."""
        return Twins(self.student, self.reference)  # type: ignore[arg-type]

    def beside(self, model: Twins) -> Twins:
        """The student's and the reference's pairs (modules, model), for functions that take a model."""
        return Twins((self.student, model.student), (self.reference, model.reference))  # type: ignore[arg-type]

    def gives(self, twins: Twins, name: str, axes: str, *arguments: Any, where: np.ndarray | None = None) -> np.ndarray:
        """Fail unless a call with these arguments returns the reference's tensor; return this tensor."""
        return self.same(lambda model: model(*arguments), twins, name, axes, where)

    def same_result(self, function: str, name: str, axes: str, *arguments: Any, at_most: float = math.inf) -> None:
        """Fail unless the student's function "module.name" returns the same tensor as the reference's."""
        module, _, short = function.partition(".")
        call = lambda modules: getattr(getattr(modules, module), short)(*arguments)  # noqa: E731
        self.same(call, self.modules, name, axes, at_most=at_most)

    def same_dropout(
        self, build: Callable[[Any, float], Any], call: Callable[[Any], Any], axes: str, where: np.ndarray | None = None
    ) -> None:
        """Fail unless dropout is applied in the same places as in the reference.

        If dropout keeps every element, it multiplies by 1 / (1 - p), which shows where it is applied. If it drops
        every element, the result there is 0. Only one check is random: two calls with a probability of 0.5 must
        differ.

        Args:
            build: creates the object with a given dropout probability.
        """
        for p, done in ((KEPT, "keeps"), (DROPPED, "drops")):
            model = self.train(self.twins(partial(_swapped, build, p)))
            steady = Twins(
                model.student.deterministic_dropout(), model.reference and model.reference.deterministic_dropout()
            )
            title = f"the output in training mode, where dropout {done} every element,"
            self.same(call, steady, title, axes, where)
        chance = self.train(self.twins(partial(_swapped, build, 0.5))).student
        self.assert_chance(lambda: call(chance), where)

    def same_number(self, call: Callable[[Any], Any], twins: Twins, name: str) -> None:
        """Fail unless a call returns the same number as the reference's."""
        actual = call(twins.student)
        self.assert_number(actual, self.right(call, twins.reference), name)

    def head_sizes(self) -> tuple[int, int]:
        """The number of heads, and d_head; d_head is not a power of 4, since the scale would then be exact."""
        return self.pick(2, 3, 5), self.pick(3, 5, 6, 7, 10)

    def layer_sizes(self) -> tuple[int, int, int]:
        """d_model, the number of heads, and d_ff of a small layer."""
        H, d_head = self.head_sizes()
        return H * d_head, H, self.pick(20, 34, 50)

    def config(self, **changes: Any) -> dict[str, Any]:
        """The sizes of a small model that reads tokens."""
        d_model, H, d_ff = self.layer_sizes()
        return {
            "vocab_size": self.pick(31, 40, 53),
            "d_model": d_model,
            "num_heads": H,
            "num_layers": 2,
            "d_ff": d_ff,
            "max_len": self.pick(11, 14, 17),
            "dropout": 0.3,
            "padding_idx": self.pick(0, PADDING, 5),
            **changes,
        }

    def tokens(self, config: dict[str, Any], B: int, T: int) -> np.ndarray:
        """Random tokens, including the padding token."""
        tokens = self.rng.integers(config["vocab_size"], size=(B, T))
        tokens[-1, T // 3] = config["padding_idx"]
        return tokens

    def masks(self, B: int, T: int) -> dict[str, np.ndarray]:
        """Masks of all shapes. Each row allows at least one key."""
        own = self.rng.random((B, T, T)) < 0.5
        np.put_along_axis(own, self.rng.integers(T, size=(B, T, 1)), False, axis=-1)
        keys = self.rng.random((B, 1, T)) < 0.5
        np.put_along_axis(keys, self.rng.integers(T, size=(B, 1, 1)), False, axis=-1)
        return {"(1, T, T)": np.triu(np.ones((1, T, T), dtype=bool), k=1), "(B, T, T)": own, "(B, 1, T)": keys}


def _swapped(build: Callable[[Any, float], Any], p: float, modules: Any) -> Any:
    """Call `build` with its arguments swapped, so that `partial` can set the dropout probability."""
    return build(modules, p)

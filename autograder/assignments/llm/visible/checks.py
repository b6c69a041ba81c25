"""Checks for lists of integers and for text, shared by the tests of several stages."""

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import numpy as np

from autograder.diagnosis.compare_tensors import LIMITS, compare
from autograder.grading.graded_case import StageTestCase

SHORT_LIST = 16  # integers that a message shows


def as_ids(value: Any, width: int | None = None) -> np.ndarray | None:
    """Return a list of integers, or of rows of `width` integers, as an array; return None for anything else."""
    if isinstance(value, np.ndarray):
        return value if value.dtype.kind in "iu" else None
    if not isinstance(value, list):
        return None
    rows = value if width else [value]
    if not all(isinstance(row, list) and all(type(token) is int for token in row) for row in rows):
        return None
    if width:
        fits = all(len(row) == width for row in rows)
        return np.array(rows, dtype=np.int64).reshape(-1, width) if fits else None
    return np.array(value, dtype=np.int64)


def _plain(token: Any) -> Any:
    """Convert a 0-dimensional tensor to a number."""
    return token.tolist() if isinstance(token, np.ndarray) else token


def centres(cells: int) -> list[float]:
    """The centres of equal-width cells between 0 and 1."""
    return [(cell + 0.5) / cells for cell in range(cells)]


class CheckingTestCase(StageTestCase):
    """A test case with this assignment's checks."""

    def assert_ids(self, actual: Any, expected: Any, name: str, axes: str, width: int | None = None) -> None:
        """Fail unless `actual` contains the expected integers.

        Args:
            width: the length of each row, if `actual` is a list of rows.
        """
        found, right = as_ids(actual, width), as_ids(expected, width)
        assert right is not None
        if found is None:
            self.checks += 1
            what = "nothing: is there a `return`?" if actual is None else f"{actual!r:.60}"
            self.wrong(f"{name} should be a list of {'pairs of ' if width == 2 else ''}whole numbers", f"got  {what}")
        if isinstance(actual, list) and len(found) != len(right) and max(found.size, right.size) <= SHORT_LIST:
            self.checks += 1
            lengths = f"expected {len(right)}, got {len(found)}"
            lists = f"expected  {right.tolist()}", f"got       {found.tolist()}"
            self.wrong(f"{name}: wrong length, {lengths}", *lists, actual=found)
        self.assert_tensor(found, right, name, axes)

    def assert_text(self, actual: Any, expected: str, name: str) -> None:
        """Fail unless `actual` is the expected text."""
        self.checks += 1
        if not isinstance(actual, str):
            self.wrong(f"{name} should be a string", f"got  {'None' if actual is None else type(actual).__name__}")
        if actual != expected:
            letters = np.array([ord(letter) for letter in actual], dtype=np.int64)
            self.wrong(f"{name} is wrong", f"expected  {expected!r}", f"got       {actual!r}", actual=letters)

    # Attention in tiles

    @staticmethod
    def seen(lse: np.ndarray) -> np.ndarray:
        """True for queries that see a key; for other queries the lse is -inf, which cannot be compared."""
        return np.isfinite(lse)

    def assert_state(self, state: Any, expected: Sequence[np.ndarray], name: str) -> None:
        """Fail unless a state of the online softmax is correct.

        Only the mean of the values, acc / total, and the logarithm of the sum, m + log(total), are compared. So m need
        not be the largest score, as long as the sums are relative to m.
        """
        m, total, acc = self.items(state, 3, "online_softmax_step")
        right_m, right_total, right_acc = expected
        axes = " ".join([*"ab"[: right_m.ndim - 1], "Q"])
        seen = right_total > 0
        self.assert_form(m, right_m.shape, f"m after {name}", axes, infinite=True)
        self.assert_form(total, right_total.shape, f"total after {name}", axes)
        self.assert_form(acc, right_acc.shape, f"acc after {name}", f"{axes} D_v")
        with np.errstate(all="ignore"):
            sums = m + np.log(total)
            means = np.where(seen[..., None], acc / total[..., None], acc)
            right_means = np.where(seen[..., None], right_acc / right_total[..., None], 0)
            right_sums = right_m + np.log(right_total)
        self.assert_tensor(means, right_means, f"acc / total after {name}", f"{axes} D_v")
        self.assert_tensor(sums, right_sums, f"m + log(total) after {name}", axes, where=seen)

    def assert_small(self, T: int, D: int, block: int) -> None:
        """Fail if a computed tensor is larger than both a tile and the result."""
        rng = np.random.Generator(np.random.PCG64(T))
        q, k, v = (rng.standard_normal((T, D)) for _ in range(3))
        for causal in (False, True):
            most = self.student.drivers.largest_tensor(q, k, v, block, causal)
            self.checks += 1
            if not isinstance(most, int) or most > 2 * T * D:
                self.wrong(
                    f"a tensor of {most} elements is computed, although tiles are {block} x {block}",
                    f"With T = {T} and D = {D}, queries, keys and the result have {T * D} elements each; "
                    f"the matrix of all scores has {T * T}.",
                )

    # Optimizers

    def assert_steps(
        self, name: str, groups: Any, gradients: Any, expected: Any, rates: Any = (), saved: int = 0
    ) -> None:
        """Fail unless an optimizer moves the parameters as expected in each step, and leaves the gradients unchanged.

        Args:
            name, groups, gradients, rates, saved: see `standins.drivers.optimize`.
            expected: the parameters after each step.
        """
        result = self.student.drivers.optimize(name, groups, gradients, list(rates), saved)
        after, left = self.items(result, 2, "the optimizer")
        steps = self.items(after, len(expected), "the optimizer")
        for step, (row, right) in enumerate(zip(steps, expected, strict=True)):
            for number, (actual, wanted) in enumerate(zip(self.items(row, len(right), name), right, strict=True)):
                axes = " ".join("nm"[: wanted.ndim])
                self.assert_tensor(actual, wanted, f"parameter {number + 1} after step {step + 1}", axes)
        with self.minor():
            for gradient, before in zip(self.items(left, len(gradients[-1]), name), gradients[-1], strict=True):
                self.checks += 1
                if before is not None and not self.equal(gradient, before):
                    self.argument_changed("p.grad")

    def assert_split(self, rows: Any, expected: Any) -> None:
        """Fail unless the parameters of a model are in the expected lists."""
        parts = self.items(self.student.drivers.split_of(rows), 2, "split")
        for name, part, right in zip(("for Muon", "of the others"), parts, expected, strict=True):
            self.assert_ids(part, right, f"the list {name} (numbers in the order of model.parameters())", "parameter")

    def assert_factors(self, cases: Sequence[Sequence[Any]], expected: Any) -> None:
        """Fail unless `wsd` returns these factors."""
        for given, right in zip(cases, expected, strict=True):
            factor = self.student.optim.wsd(*given)
            self.checks += 1
            if not isinstance(factor, (int, float)):
                self.wrong("the factor should be a number", f"got  {factor!r:.60}")
            self.assert_tensor(np.array(float(factor)), np.array(float(right)), f"the factor in step {given[0]}", "")

    # A look inside

    def assert_restored(self, logits: np.ndarray, expected: np.ndarray) -> None:
        """Fail unless a model still computes these logits after a call to `ablate`."""
        self.checks += 1
        if compare("the logits", "B T V", logits, expected, LIMITS[self.student.dtype]):
            self.wrong(
                "after the call, the model computes different logits",
                "Is your hook still in the model, or are there zeros in W_o.weight? Undo the change before you return.",
            )

    # Low-bit weights

    def assert_bytes(self, actual: Any, expected: np.ndarray, name: str, axes: str) -> None:
        """Fail unless `actual` contains the expected whole numbers and has a one-byte type."""
        self.assert_tensor(actual, expected, name, axes)
        if actual.dtype != expected.dtype:
            self.wrong(f"{name} should be of type {expected.dtype}, not {actual.dtype}", "The values are right.")

    # Speculative decoding

    def assert_lists(
        self, calls: Sequence[Callable[[], Any]], expected: Sequence[list[int]], chosen: slice, name: str
    ) -> None:
        """Fail unless all calls return the expected tokens.

        All results are compared at once, since a single token is not enough to tell mistakes apart. The first
        wrong call is repeated, so that the verdict describes that call.

        Args:
            chosen: the part of each result that counts.
        """
        results = [call() for call in calls]
        for result, right in zip(results, expected, strict=True):
            if not isinstance(result, list) or not result:
                self.assert_ids(result, right, "the result", "place")
        found = [[_plain(token) for token in result[chosen]] for result in results]
        rights = [right[chosen] for right in expected]
        if strange := [token for each in found for token in each if type(token) is not int]:
            self.checks += 1
            self.wrong(f"{name} should be whole numbers", f"got  {strange[0]!r:.60}")
        if wrong := [number for number, right in enumerate(rights) if found[number] != right]:
            calls[wrong[0]]()
        if list(map(len, found)) == list(map(len, rights)):
            self.assert_ids(list(chain(*found)), list(chain(*rights)), name, "place")
            return
        width = max(map(len, rights)) + 1
        padded, right_padded = ([[*each, *[-1] * width][:width] for each in lists] for lists in (found, rights))
        self.assert_ids(padded, right_padded, f"{name} (-1 where there is none)", "call place", width)

    def check_distribution(self, target: np.ndarray, draft: np.ndarray, cells: int, cells_of_u: int) -> None:
        """Fail unless the first token has exactly the distribution of the target model.

        Args:
            cells, cells_of_u: the numbers of equal cells; decisions may change only at cell boundaries.
        """
        found = self.student.drivers.first_token_of(target, draft, centres(cells), centres(cells_of_u))
        self.assert_tensor(found, target[0], "the distribution of the first token", "V", at_most=1e-6)

    def assert_calls(self, results: Sequence[Any], right: Sequence[int]) -> None:
        """Fail unless the results of `drivers.speculate_with` contain the correct numbers of calls."""
        self.assert_ids([called for _, called in results], list(right), "the number of calls to the target", "run")
        returned = [result[1] for result, _ in results]
        self.assert_ids(returned, list(right), "the returned number of calls", "run")

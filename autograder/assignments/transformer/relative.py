"""Tests of masks and shapes relative to attention without masks, so that a wrong score costs points only once."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from autograder.diagnosis.compare_tensors import LIMITS, Incorrect
from autograder.grading.graded_case import StageTestCase
from autograder.sandbox.student_faults import NotStarted, Raised

LOW = 1e5  # subtracted from a score, it leaves the key no weight, whatever the scale
SEEN = 1e-3  # smaller differences are ignored
B, H, D = 2, 4, 15  # sizes that differ from each other and from the number of positions
PADDING = np.array([[0, 0, 0, 1, 1], [0, 0, 0, 0, 1]])
CAUSAL = np.triu(np.ones((1, 4, 5), dtype=np.int64), k=1)
OWN = np.array([[[0, 1, 0, 1, 0], [0, 0, 1, 0, 0], [0, 1, 1, 0, 1], [0, 0, 0, 1, 0]], np.tri(4, 5, 2) == 0])
SIGNS = np.array([[7], [-2]])  # numbers other than 1


def merged(heads: np.ndarray) -> np.ndarray:
    """(B, H, T, d_k) -> (B, T, d_model)."""
    return heads.swapaxes(1, 2).reshape(len(heads), heads.shape[2], -1)


class RelativeTestCase(StageTestCase):
    """A test of `compute_scaled_dot_product_attention`."""

    def sound(self) -> bool:
        """Whether attention is correct without masks."""
        raise NotImplementedError

    @contextlib.contextmanager
    def or_else(self, relative: Callable[[], None], beside_masks: bool = False) -> Iterator[None]:
        """Ignore a failure in the with block if attention is wrong even without masks and the relative check passes.

        Args:
            relative: compares the student's results with each other.
            beside_masks: the test is not about masks, so the failure is also ignored if only masks are wrong.
        """
        try:
            yield
        except (Incorrect, Raised) as error:
            self.note_recipe(error)
            checks, call = self.checks, self.student.last_call
            if beside_masks or not self.sound():
                with contextlib.suppress(Incorrect, Raised):
                    relative()
                    return
            self.checks, self.student.last_call = checks, call
            raise

    def attended(self, heads: dict[str, np.ndarray], **masks: np.ndarray) -> np.ndarray:
        """The output of a new attention module with these heads; it must be finite, (B, T_q, d_model)."""
        mha: Any = self.student.mha.MultiHeadAttention(d_model=H * D, num_heads=H)
        mha = mha.eval()
        with contextlib.suppress(NotStarted, Raised):  # `forward` projects first, and the two may share attributes
            mha.compute_mh_qkv_transformation(*map(merged, heads.values()))
        x: np.ndarray = mha.compute_scaled_dot_product_attention(**heads, **masks)
        self.assert_form(x, (B, heads["query"].shape[2], H * D), "x", "B T_q d_model")
        return x

    def heads(self, T_q: int, T_k: int) -> dict[str, np.ndarray]:
        """Random queries, keys and values. Query t is 1 in feature t; all other queries and all keys are 0 there."""
        rng = np.random.Generator(np.random.PCG64(3))
        heads = {name: rng.standard_normal((B, H, T, D)) for name, T in (("query", T_q), ("key", T_k), ("value", T_k))}
        heads["query"][..., :T_q], heads["key"][..., :T_q] = np.eye(T_q), 0
        return heads

    def forbidding(self, heads: dict[str, np.ndarray], forbidden: np.ndarray) -> dict[str, np.ndarray]:
        """The same heads, but forbidden keys, True in (B, T_q, T_k), have such low scores that they get no weight."""
        key, T_q = heads["key"].copy(), heads["query"].shape[2]
        key[..., :T_q] = -LOW * forbidden.swapaxes(-1, -2)[:, None]
        return {**heads, "key": key}

    def alike(self, one: np.ndarray, other: np.ndarray) -> bool:
        return float(np.abs(one - other).max()) <= 10 * LIMITS[self.student.dtype]

    def check_attends(self) -> None:
        """Fail unless each query weights the values by its scores: only keys with very low scores get no weight."""
        heads, hidden = self.heads(4, 5), np.broadcast_to(np.arange(5) > 2, (B, 4, 5))
        heads = self.forbidding(heads, hidden)
        own = self.attended(heads)
        for loud, same in ((np.arange(5) > 2, True), (np.arange(5) <= 2, False)):
            other = self.attended({**heads, "value": heads["value"] + 100 * loud[:, None]})
            if self.alike(own, other) is not same or not np.all(np.abs(own[:, 0] - own[:, 1]).max(axis=-1) > SEEN):
                self.wrong("x does not follow the scores")

    def check_masks(self, *cases: dict[str, np.ndarray]) -> None:
        """Fail unless masks have the same effect as very low scores."""
        self.check_attends()
        heads = self.heads(4, 5)
        free = self.attended(heads)
        for masks in cases:
            forbidden = np.zeros((B, 4, 5), dtype=bool)
            for mask in masks.values():
                forbidden |= (mask if mask.ndim == 3 else mask[:, None]) != 0
            masked, own = self.attended(heads, **masks), self.attended(self.forbidding(heads, forbidden))
            changed = np.abs(masked - free).max(axis=-1) > SEEN  # (B, T_q)
            if not self.alike(masked, own) or not np.all(changed[forbidden.any(axis=-1)]):
                self.wrong("the masks do not mask the keys that they should")

    def check_padding(self) -> None:
        """Fail unless a key padding mask works."""
        self.check_masks({"key_padding_mask": PADDING})

    def check_both(self) -> None:
        """Fail unless an attention mask works, alone and with a key padding mask."""
        single = [{"attention_mask": mask} for mask in (CAUSAL, OWN)]
        self.check_masks(*single, *({**masks, "key_padding_mask": PADDING} for masks in single))

    def check_other_masks(self) -> None:
        """Fail unless boolean masks work, as well as masks with numbers other than 0 and 1."""
        masks = {"key_padding_mask": PADDING, "attention_mask": OWN}
        numbers = {"key_padding_mask": PADDING * SIGNS, "attention_mask": OWN * SIGNS[..., None] * -1}
        self.check_masks(numbers, {name: mask != 0 for name, mask in masks.items()})

    def check_lengths(self) -> None:
        """Fail if a query's result depends on the number of other queries."""
        self.check_attends()
        for T_q in (3, 7):
            heads = self.heads(T_q, 5)
            square = {**heads, "query": np.resize(heads["query"].swapaxes(0, 2), (5, H, B, D)).swapaxes(0, 2)}
            both = min(T_q, 5)
            for masks in ({}, {"key_padding_mask": PADDING}):
                if not self.alike(self.attended(heads, **masks)[:, :both], self.attended(square, **masks)[:, :both]):
                    self.wrong("x depends on the number of queries")

"""Checks that work even if an attention module's scores are wrong: masking by lengths, and the stored weights."""

from typing import Any

import numpy as np

from autograder.diagnosis.compare_tensors import LIMITS, compare_own
from autograder.grading.graded_case import StageTestCase

WEIGHTS, X = "B T_q T_k", "B T_q d_v"
LARGE_LIMIT = 1e-3  # for scores near 1000, which float32 stores with fewer decimal places


def shifted_scores(scores: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """Add a number to each query's allowed scores, which leaves the weights unchanged; forbidden scores become large.

    Some exponentials then overflow and others underflow to 0. A fill value that is not far below -50 is detected.
    """
    shifts = np.resize((-50.0, 1000.0, -1000.0), scores.shape[:2])[..., None]
    return np.where(allowed, scores + shifts, scores + 1000)


class AttendingTestCase(StageTestCase):
    """A test of an attention module, (B, T_q, d), (B, T_k, d), (B, T_k, d_v) -> (B, T_q, d_v)."""

    def assert_kept(
        self, kept: Any, expected: np.ndarray, values: np.ndarray, result: Any, factor: float = 1.0
    ) -> None:
        """Fail unless the stored weights are correct, or at least match the student's own result.

        Args:
            factor: the factor by which dropout multiplies the weights of the result.
        """
        name = "attention_weights" if factor == 1 else "attention_weights, kept in training mode,"
        if not self.are_weights(kept, expected.shape) or not self.close(factor * kept @ values, result):
            self.assert_tensor(kept, expected, name, WEIGHTS)

    def assert_cut(
        self, actual: Any, expected: np.ndarray, values: np.ndarray, valid_lens: np.ndarray, kept: Any, result: Any
    ) -> None:
        """Fail unless a result with lengths is correct, or follows from the student's own weights and the lengths.

        Args:
            kept: the weights that the student's attention stores without lengths.
            result: its result without lengths.
        """
        sizes = (*expected.shape[:2], values.shape[1])
        if self.are_weights(kept, sizes) and self.close(kept @ values, result):
            lengths = valid_lens[:, None] if valid_lens.ndim == 1 else valid_lens
            allowed = np.where(np.arange(sizes[2]) < lengths[..., None], kept, 0)
            totals = allowed.sum(axis=-1, keepdims=True)
            if totals.min() > 0 and self.close(actual, allowed / totals @ values):
                return
        self.assert_tensor(actual, expected, "the result with lengths", X)

    def drops_weights(self, attention: Any, queries: np.ndarray, keys: np.ndarray) -> None:
        """Fail unless dropout in training is applied to the weights, so that a value's equal features stay equal.

        Args:
            attention: has a dropout probability of 0.5.
        """
        attention.train()
        sizes = (*queries.shape[:2], 12)
        result = attention(queries, keys, np.ones((*keys.shape[:2], 12)))
        self.assert_form(result, sizes, "the result", X)
        self.checks += 1
        first = np.repeat(result[..., :1], 12, axis=-1)
        if compare_own("the result", X, result, first, LIMITS[self.student.dtype], None):
            wrong = "in training mode, dropout changes individual features of the result: apply it to the weights"
            self.wrong(
                wrong,
                "All features of the values are equal here, so the features of the result should be too.",
                operation="dropout",
            )

    def are_weights(self, kept: Any, shape: tuple[int, ...]) -> bool:
        """Whether these could be weights computed from scores: not negative, not all equal, each row adding up to 1."""
        if not isinstance(kept, np.ndarray) or kept.shape != shape or kept.dtype.kind != "f":
            return False
        rows = kept.reshape(-1, shape[-1])  # (B, T_q, T_k) -> (B * T_q, T_k)
        if len(rows) > 1 and self.close(rows, np.broadcast_to(rows[0], rows.shape)):
            return False  # no effect of queries and keys: a plain average of the values is not attention
        return self.close(np.minimum(kept, 0), np.zeros(shape)) and self.close(kept.sum(axis=-1), np.ones(shape[:-1]))

    def close(self, actual: Any, expected: Any) -> bool:
        """Whether two tensors are equal up to rounding."""
        arrays = isinstance(actual, np.ndarray) and isinstance(expected, np.ndarray)
        return arrays and actual.shape == expected.shape and bool(np.allclose(actual, expected, 0, LIMITS["float32"]))

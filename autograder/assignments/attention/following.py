"""Checks of what one function makes with another of the same stage: a slip in the first costs its own points only."""

from collections.abc import Callable
from typing import Any

import numpy as np

from autograder.diagnosis.compare_tensors import LIMITS, Incorrect, compare
from autograder.grading.graded_case import StageTestCase
from autograder.sandbox.faults import StudentFault


class FollowingTestCase(StageTestCase):
    """A test of code that calls other code which the same stage grades."""

    def assert_following(
        self,
        actual: Any,
        expected: np.ndarray,
        name: str,
        axes: str,
        following: Callable[[], Any],
        where: np.ndarray | None = None,
    ) -> bool:
        """Fail unless `actual` is the expected tensor, or what follows from the student's own other code.

        Args:
            following: computes what follows from calls of the other code.

        Returns:
            whether it is the expected tensor.
        """
        try:
            self.assert_tensor(actual, expected, name, axes, where)
        except Incorrect as error:
            if self._follows(actual, expected, name, axes, following, where):
                return False
            raise error from None
        return True

    def _follows(
        self,
        actual: Any,
        expected: np.ndarray,
        name: str,
        axes: str,
        following: Callable[[], Any],
        where: np.ndarray | None,
    ) -> bool:
        call = self.student.last_call
        try:
            other = following()
        except (StudentFault, Incorrect):
            return False
        finally:
            self.student.last_call = call
        if not isinstance(other, np.ndarray) or other.shape != expected.shape or other.dtype.kind != "f":
            return False
        if not np.isfinite(other).all():
            return False
        return compare(name, axes, actual, other, LIMITS[self.student.dtype], where) is None

    # What follows from the code of the student, by stage.

    def pooled(self, kernel: Any, width: float, **inputs: np.ndarray) -> Any:
        """Estimates and weights of `attention_pooling`."""
        result = self.student.pooling.attention_pooling(**inputs, kernel=kernel, width=width)
        return self.items(result, 2, "attention_pooling")

    def pooled_without_own(self, kernel: Any, width: float, keys: np.ndarray, values: np.ndarray) -> Any:
        """Predictions and weights of `attention_pooling` for each key among the others."""
        predictions, weights = [], []
        for own in range(len(keys)):
            others = {"keys": np.delete(keys, own, axis=0), "values": np.delete(values, own, axis=0)}
            prediction, row = self.pooled(kernel, width, queries=keys[own : own + 1], **others)
            predictions.append(prediction[0])
            weights.append(np.insert(row[0], own, 0.0))
        return np.stack(predictions), np.stack(weights)

    def averaged(self, scores: np.ndarray, values: np.ndarray, valid_lens: np.ndarray | None = None) -> Any:
        """The values averaged with the weights of `masked_softmax`; None if those do not depend on the scores."""
        weights, others = (self.student.scoring.masked_softmax(given, valid_lens) for given in (scores, -scores))
        for result in (weights, others):
            self.assert_form(result, scores.shape, "the weights", "B T_q T_k")
        return None if np.allclose(weights, others) else weights @ values

    def without_lengths(self, scores: np.ndarray) -> dict[str, np.ndarray]:
        """How to say that all keys are allowed: no lengths, or the longest if `masked_softmax` fails without."""
        call = self.student.last_call
        try:
            self.student.scoring.masked_softmax(scores)
        except StudentFault:
            return {"valid_lens": np.full(len(scores), scores.shape[-1])}
        finally:
            self.student.last_call = call
        return {}

    def unrolled(
        self, decoder: Any, tgt: np.ndarray, state: np.ndarray, enc_outputs: np.ndarray, src_lengths: np.ndarray
    ) -> Any:
        """Logits and weights of `step`, called for one token after the other.

        Raises:
            Incorrect: if what `step` gives does not depend on both the token and the state.
        """

        def step(token: np.ndarray, state: np.ndarray) -> Any:
            return self.items(decoder.step(token, state, enc_outputs, src_lengths), 3, "step")

        first = step(tgt[:, 0], state)
        for token, other in ((tgt[:, 0], -state), ((tgt[:, 0] + 1) % 2, state)):
            if np.allclose(step(token, other)[0], first[0]):
                self.wrong("step is no measure")
        logits, weights = [], []
        for token in tgt.T:
            scores, state, looks = step(token, state)
            logits.append(scores)
            weights.append(looks)
        return np.stack(logits, axis=1), np.stack(weights, axis=1)

    def without_padding(self, logits: np.ndarray, tgt_lengths: np.ndarray) -> np.ndarray:
        """Scores with zeros at the positions of padding, as `Seq2Seq.forward` gives them."""
        positions = np.arange(logits.shape[1])
        return np.where((positions < tgt_lengths[:, None])[..., None], logits, 0.0)

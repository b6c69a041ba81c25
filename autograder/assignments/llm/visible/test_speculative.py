"""Stage 7: speculative decoding."""

import functools
from typing import Any

import numpy as np

from autograder.assignments.llm.visible.checks import CheckingTestCase

# Weights in eighths, which need not add up to 1, and the random numbers to draw with.
DRAWN: dict[str, tuple[list[list[int]], list[float]]] = {
    "weights": ([[1, 3, 2, 2], [4, 1, 6, 3], [1, 1, 1, 1]], [0.05, 0.3, 0.6, 0.8, 0.99]),
    "zeros": ([[0, 0, 3, 1, 0], [0, 5, 0, 5, 0]], [0.0, 0.4, 0.6, 0.999999]),
}
CASES = 8  # in case i, i % 4 of the three guesses are kept
NUMBERS = [0.08, 0.35, 0.62, 0.9]  # values of u
RUNS: list[tuple[list[int], int, int]] = [([1, 4, 2], 10, 3), ([3], 7, 2), ([5, 0], 4, 1)]  # prompt, length, K


def probabilities(rng: np.random.Generator, rows: int, V: int) -> np.ndarray:
    """Random distributions, (rows, V), in which all probabilities are positive."""
    weights = np.exp(1.5 * rng.standard_normal((rows, V)))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def guesses(
    rng: np.random.Generator, target: np.ndarray, draft: np.ndarray, kept: int
) -> tuple[list[int], list[float]]:
    """Guesses and numbers for `accept`, chosen so that exactly the first `kept` guesses are accepted.

    The next guess is rejected; later guesses would be accepted, so code that does not stop is detected.
    """
    tokens, accept = [], []
    for i, q in enumerate(draft):
        ratio = target[i] / q
        fitting = np.flatnonzero(ratio < 0.9 if i == kept else ratio > 0.1)
        token = int(fitting[int(rng.integers(len(fitting)))])
        low, high = (ratio[token], 1.0) if i == kept else (0.0, min(ratio[token], 1.0) if i else target[i, token])
        tokens.append(token)
        accept.append(float(low + (high - low) * rng.uniform(0.05, 0.95)))
    return tokens, accept


class TestSpeculative(CheckingTestCase):
    def test_draw_extra_credit(self):
        """Draw tokens with weights that need not add up to 1 and may be 0."""
        for part, (_, numbers) in DRAWN.items():
            with self.part(part):
                stored = self.stored(f"draw.{part}")
                calls = [
                    lambda weights=weights, u=u: [self.student.speculative.draw(weights, u)]
                    for weights in stored["weights"]
                    for u in numbers
                ]
                self.assert_lists(
                    calls, [[token] for token in stored["tokens"].ravel().tolist()], slice(None), "tokens"
                )

    def test_verify_extra_credit(self):
        """Verify three guesses, of which none, some or all are kept; check the first token's exact distribution."""
        for part, kept, chosen, name in (
            ("kept", (0, 1, 2), slice(-1), "tokens before the last one"),
            ("replaced", (0, 1, 2), slice(-1, None), "the replacement tokens"),
            ("all_kept", (3,), slice(None), "tokens"),
        ):
            with self.part(part):
                calls, right = [], []
                for case in (case for case in range(CASES) if case % 4 in kept):
                    stored = self.stored(f"verify.{case}")
                    calls += [functools.partial(self.verified, stored, u) for u in NUMBERS]
                    right += stored["right"].tolist()
                self.assert_lists(calls, right, chosen, name)
        with self.part("distribution"):
            target, draft = np.array([[1, 2, 3, 4], [4, 2, 2, 2]]) / 10, np.array([[4, 3, 2, 1]]) / 10
            self.check_distribution(target, draft, 12, 4)

    def verified(self, stored: dict[str, np.ndarray], u: float) -> Any:
        """The result of `verify` for stored arguments."""
        rows, tokens, accept = [stored[name] for name in ("target", "draft")], stored["tokens"], stored["accept"]
        return self.student.speculative.verify(*rows, tokens.tolist(), accept.tolist(), u)

    def test_speculate_extra_credit(self):
        """Generate a few tokens with one, two and three guesses per round; count the calls to the target model."""
        stored, results = self.stored("speculate"), []
        tables = stored["target"], stored["draft"]
        with self.part("tokens"):
            for number, (prompt, length, K) in enumerate(RUNS):
                given = (*tables, prompt, length, K, stored["uniforms"].tolist())
                results.append(self.items(self.student.drivers.speculate_with(*given), 2, "speculate"))
                new, _ = self.items(results[-1][0], 2, "speculate")
                self.assert_ids(new, stored[f"tokens.{number}"], "the new tokens", "place")
        with self.part("calls"):
            self.needs("tokens")
            right = [int(stored[f"calls.{number}"][0]) for number in range(len(RUNS))]
            self.assert_calls(results, right)

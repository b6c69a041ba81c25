"""Stage 7: speculative decoding."""

from typing import Any

import numpy as np

from autograder.assignments.llm.visible.checks import CheckingTestCase

# Weights in eighths, which need not add up to 1, and the random numbers to draw with.
DRAWN: dict[str, tuple[list[list[int]], list[float]]] = {
    "weights": ([[1, 3, 2, 2], [4, 1, 6, 3], [1, 1, 1, 1]], [0.05, 0.3, 0.6, 0.8, 0.99]),
    "zeros": ([[0, 0, 3, 1, 0], [0, 5, 0, 5, 0]], [0.0, 0.4, 0.6, 0.999999]),
}
NUMBERS = [0.08, 0.35, 0.62, 0.9]  # values of u
RUNS: list[tuple[list[int], int, int]] = [([3], 7, 2), ([1, 4, 2], 10, 3), ([5, 0], 4, 1)]  # prompt, length, K


def probabilities(rng: np.random.Generator, rows: int, V: int) -> np.ndarray:
    """Random distributions, (rows, V), all of them larger than 0."""
    weights = np.exp(1.5 * rng.standard_normal((rows, V)))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def guesses(
    rng: np.random.Generator, target: np.ndarray, draft: np.ndarray, kept: int
) -> tuple[list[int], list[float]]:
    """Guesses, and the numbers for `accept`, such that the first `kept` guesses are kept, and the next one is not.

    The guesses after that would be kept, so code that does not stop is noticed.
    """
    tokens, accept = [], []
    for i, q in enumerate(draft):
        ratio = target[i] / q
        fitting = np.flatnonzero(ratio < 0.9 if i == kept else ratio > 0.1)
        token = int(fitting[int(rng.integers(len(fitting)))])
        low, high = (ratio[token], 1.0) if i == kept else (0.0, min(ratio[token], 1.0))
        tokens.append(token)
        accept.append(float(low + (high - low) * rng.uniform(0.05, 0.95)))
    return tokens, accept


class TestSpeculative(CheckingTestCase):
    def test_draw_extra_credit(self):
        """Weights that need not add up to 1, and tokens of weight 0."""
        for part, (_, numbers) in DRAWN.items():
            with self.part(part):
                stored = self.stored(f"draw.{part}")
                for weights, tokens in zip(stored["weights"], stored["tokens"].tolist(), strict=True):
                    for u, token in zip(numbers, tokens, strict=True):
                        self.assert_token(self.student.speculative.draw(weights, u), token, f"the token for u = {u}")

    def test_verify_extra_credit(self):
        """Three guesses, of which none, some or all are kept; the exact distribution of the first token."""
        with self.part("kept"):
            for kept in range(3):
                for result, right in self.verified(kept):
                    self.assert_ids(result[:-1], right[:-1], f"the tokens before the last of {len(right)}", "position")
        with self.part("replaced"):
            for kept in range(3):
                for result, right in self.verified(kept):
                    self.assert_token(result[-1], right[-1], "the token that replaces a guess")
        with self.part("all_kept"):
            for result, right in self.verified(3):
                self.assert_ids(result, right, "the tokens", "position")
        with self.part("distribution"):
            target, draft = np.array([[1, 2, 3, 4], [4, 2, 2, 2]]) / 10, np.array([[4, 3, 2, 1]]) / 10
            self.check_distribution(target, draft, 12, 4)

    def verified(self, kept: int) -> list[tuple[list[Any], list[int]]]:
        """The results of `verify` for several u in the case that this many guesses are kept, with the right ones."""
        stored, found = self.stored(f"verify.{kept}"), []
        rows, tokens, accept = [stored[name] for name in ("target", "draft")], stored["tokens"], stored["accept"]
        for u, right in zip(NUMBERS, stored["right"].tolist(), strict=True):
            result = self.student.speculative.verify(*rows, tokens.tolist(), accept.tolist(), u)
            found.append((self.a_list(result, right), right))
        return found

    def test_speculate_extra_credit(self):
        """Generate a few tokens with one, two and three guesses per round; the number of calls of the target."""
        stored, results = self.stored("speculate"), []
        tables = stored["target"], stored["draft"]
        with self.part("tokens"):
            for number, (prompt, length, K) in enumerate(RUNS):
                results.append(
                    self.student.drivers.speculate_with(*tables, prompt, length, K, stored["uniforms"].tolist())
                )
                new, _ = self.items(results[-1][0], 2, "speculate")
                self.assert_ids(new, stored[f"tokens.{number}"], "the new tokens", "position")
        with self.part("calls"):
            self.needs("tokens")
            for number, (result, called) in enumerate(results):
                right = int(stored[f"calls.{number}"][0])
                self.assert_token(result[1], right, "the number of calls that is returned")
                self.assert_token(called, right, "the number of calls of the target model")

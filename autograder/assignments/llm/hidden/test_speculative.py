"""Stage 7, hidden: other vocabularies and numbers of guesses; exact distributions; draft and target equal."""

from typing import Any

import numpy as np

from autograder.assignments.llm.hidden.cases import LlmTestCase
from autograder.assignments.llm.visible.test_speculative import guesses, probabilities


class TestSpeculative(LlmTestCase):
    def test_draw_extra_credit(self):
        """Random weights, small and large; tokens of weight 0 at both ends."""
        with self.part("weights"):
            for V, size in ((1, 1.0), (self.pick(5, 8), 1.0), (20, 1e-3), (6, 50.0)):
                self.drawn(size * probabilities(self.rng, 1, V)[0], [0.0, *self.rng.random(4).tolist()])
        with self.part("zeros"):
            for _ in range(3):
                weights = probabilities(self.rng, 1, self.pick(7, 9))[0]
                weights[[0, -1, self.pick(2, 3, 4)]] = 0
                self.drawn(weights, [0.0, *self.rng.random(2).tolist(), 1 - 1e-9])

    def drawn(self, weights: np.ndarray, numbers: list[float]) -> None:
        """Fail unless the tokens are drawn correctly."""
        for u in numbers:
            call = lambda modules, u=u: modules.speculative.draw(weights, u)  # noqa: E731
            self.assert_token(call(self.student), self.right(call, self.reference), "the token")

    def test_verify_extra_credit(self):
        """Other vocabularies, one to five guesses, distributions with zeros, random rational distributions."""
        for part in ("kept", "replaced", "all_kept"):
            with self.part(part):
                for K in (1, self.pick(2, 3), self.pick(4, 5)):
                    for _ in range(2):
                        kept = K if part == "all_kept" else int(self.rng.integers(K))
                        self.verified(part, kept, K, self.pick(5, 7, 12))
        with self.part("distribution"):
            for V in (3, 5):
                # The ratios of target and draft are multiples of 1 / 12, the residual's shares of 1 / (its sum).
                draft = self.rng.permutation([1, 2, 3, 4, 6][:V])
                target = self.rng.multinomial(draft.sum(), probabilities(self.rng, 1, V)[0])
                rows = np.stack([target, draft]) / draft.sum()
                self.check_distribution(rows, rows[1:], 12, max(int(np.maximum(target - draft, 0).sum()), 1))

    def verified(self, part: str, kept: int, K: int, V: int) -> None:
        """Fail unless the part of the result that this part of the test is about is correct."""
        target, draft = probabilities(self.rng, K + 1, V), probabilities(self.rng, K, V)
        tokens, accept = guesses(self.rng, target, draft, kept)
        if part == "replaced":
            target[kept, tokens[kept]] = 0  # a guess that is never kept
        u = float(self.rng.random())
        call = lambda modules: modules.speculative.verify(target, draft, tokens, accept, u)  # noqa: E731
        right = self.right(call, self.reference)
        result = self.a_list(call(self.student), right)
        if part == "kept":
            self.assert_ids(result[:-1], right[:-1], "the tokens before the last", "position")
        elif part == "replaced":
            self.assert_token(result[-1], right[-1], "the token that replaces a guess")
        else:
            self.assert_ids(result, right, "the tokens", "position")

    def test_speculate_extra_credit(self):
        """Other models and prompts; a draft that is the target; a draft that is always wrong."""
        results: list[Any] = []
        with self.part("tokens"):
            V = self.pick(5, 8)
            target, draft = probabilities(self.rng, 13, V), probabilities(self.rng, 13, V)
            certain = np.eye(V)[self.rng.integers(V, size=13)]  # the text of greedy decoding
            other = np.roll(certain, 1, axis=1)
            for models in ((target, draft), (target, target), (certain, draft), (certain, other)):
                for K in (1, self.pick(2, 3, 4)):
                    prompt = self.rng.integers(V, size=self.pick(1, 3)).tolist()
                    length, uniforms = self.pick(1, 6, 9), self.rng.random(100).tolist()
                    call = lambda m, a=(*models, prompt, length, K, uniforms): m.drivers.speculate_with(*a)  # noqa: E731
                    results.append((call(self.student), self.right(call, self.reference)))
                    new, _ = self.items(results[-1][0][0], 2, "speculate")
                    self.assert_ids(new, results[-1][1][0][0], "the new tokens", "position")
        with self.part("calls"):
            self.needs("tokens")
            for (result, called), (right, calls) in results:
                self.assert_token(result[1], right[1], "the number of calls that is returned")
                self.assert_token(called, calls, "the number of calls of the target model")

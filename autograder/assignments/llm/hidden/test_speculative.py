"""Hidden tests for stage 7: other vocabularies and guess counts; exact distributions; a draft equal to its target."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autograder.assignments.llm.hidden.cases import LlmTestCase
from autograder.assignments.llm.visible.test_speculative import guesses, probabilities


class TestSpeculative(LlmTestCase):
    def test_draw_extra_credit(self):
        """Check small and large random weights, and tokens of weight 0 at both ends."""
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

        def draw(u: float, modules: Any) -> list[Any]:
            return [modules.speculative.draw(weights, u)]

        self.compare([functools.partial(draw, u) for u in numbers], slice(None), "tokens")

    def compare(self, calls: Sequence[Callable[[Any], Any]], chosen: slice, name: str) -> None:
        """Fail unless all calls return the same tokens with the student's modules as with the reference modules."""
        right = [self.right(call, self.reference) for call in calls]
        self.assert_lists([functools.partial(call, self.student) for call in calls], right, chosen, name)

    def test_verify_extra_credit(self):
        """Check other vocabularies, one to five guesses, and distributions with zeros or random fractions."""
        for part, chosen, name in (
            ("kept", slice(-1), "tokens before the last one"),
            ("replaced", slice(-1, None), "the replacement tokens"),
            ("all_kept", slice(None), "tokens"),
        ):
            with self.part(part):
                calls = []
                for K in (1, self.pick(2, 3), self.pick(4, 5)) * 2:
                    V, kept = self.pick(5, 7, 12), K if part == "all_kept" else int(self.rng.integers(K))
                    target, draft = probabilities(self.rng, K + 1, V), probabilities(self.rng, K, V)
                    tokens, accept = guesses(self.rng, target, draft, kept)
                    if part == "replaced":
                        target[kept, tokens[kept]] = 0  # a guess that is never kept
                    given = target, draft, tokens, accept, float(self.rng.random())
                    calls.append(lambda m, given=given: m.speculative.verify(*given))
                self.compare(calls, chosen, name)
        with self.part("distribution"):
            for V in (3, 5):
                # The ratios of target and draft are multiples of 1 / 12, and the shares of the residual are multiples
                # of 1 / (its sum).
                draft = self.rng.permutation([1, 2, 3, 4, 6][:V])
                target = self.rng.multinomial(draft.sum(), probabilities(self.rng, 1, V)[0])
                rows = np.stack([target, draft]) / draft.sum()
                self.check_distribution(rows, rows[1:], 12, max(int(np.maximum(target - draft, 0).sum()), 1))

    def test_speculate_extra_credit(self):
        """Check other models and prompts, a draft that is the target itself, and a draft that is always wrong."""
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
                    found = self.items(call(self.student), 2, "speculate")
                    results.append((found, self.right(call, self.reference)))
                    new, _ = self.items(results[-1][0][0], 2, "speculate")
                    self.assert_ids(new, results[-1][1][0][0], "the new tokens", "position")
        with self.part("calls"):
            self.needs("tokens")
            self.assert_calls([mine for mine, _ in results], [right[1] for _, right in results])

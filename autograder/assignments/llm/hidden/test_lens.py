"""Hidden tests for stage 5: other sizes, one group, windows, other periods, and ablating none or all of the heads."""

from typing import Any

import numpy as np

from autograder.assignments.llm.hidden.cases import LlmTestCase
from autograder.assignments.llm.visible.test_lens import SHARES
from autograder.grading.hidden_case import Twins


class TestLens(LlmTestCase):
    layers = 3

    @property
    def solution(self) -> Any:
        """The reference modules, for use only inside `right`."""
        return self.reference

    def weight(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        """Random values; a norm has a different weight for every feature."""
        return 1 + 0.3 * self.random(*shape) if "norm" in name else self.random(*shape) / np.sqrt(shape[-1])

    def model(self) -> tuple[Twins, np.ndarray, int]:
        """A small model, some tokens, and the model's number of heads."""
        G, share, d_head, V = self.pick(1, 2), self.pick(2, 3), self.pick(4, 6), self.pick(13, 20)
        sizes = {"vocab_size": V, "d_model": G * share * d_head, "num_heads": G * share, "num_kv_heads": G}
        sizes |= {"num_layers": self.layers, "d_ff": self.pick(7, 9)}
        windows = [None, self.pick(2, 3)]
        model = self.twins(lambda modules: modules.lm.LanguageModel(**sizes, windows=windows))
        return model, self.rng.integers(V, size=(2, self.pick(4, 6))), G * share

    def run_model(self, model: Twins, tokens: np.ndarray) -> Any:
        """The model's intermediate results: residual streams, attention weights, and outputs of heads and networks."""
        return self.right(lambda reference: self.solution.drivers.run_of(reference, tokens), model.reference)

    def test_logit_lens(self):
        """Check random sizes, and residual streams that no model produced."""
        model, tokens, _ = self.model()
        stream = self.run_model(model, tokens)[0]
        for given in (stream, self.random(*stream.shape)):
            right = self.right(lambda m: self.solution.lens.logit_lens(m, given), model.reference)  # noqa: B023
            self.assert_tensor(self.student.lens.logit_lens(model.student, given), right, "the logits", "layers B T V")

    def test_attribution(self):
        """Check random sizes, and split the logits of other tokens."""
        for part, number, axes in SHARES:
            with self.part(part):
                model, tokens, _ = self.model()
                stream, _, heads, mlps = self.run_model(model, tokens)
                given = stream, heads, mlps, self.rng.permutation(tokens.ravel()).reshape(tokens.shape)
                right = self.right(lambda m: self.solution.lens.attribution(m, *given), model.reference)  # noqa: B023
                shares = self.items(self.student.lens.attribution(model.student, *given), 3, "attribution")
                self.assert_tensor(shares[number], right[number], f"the contributions of the {part}", axes)

    def test_induction_score(self):
        """Check random sizes and several periods."""
        with self.part("score"):
            for period in (2, self.pick(3, 5), 8):
                weights = self.rng.dirichlet(np.ones(9), size=(*self.sizes(3, 2, 5), 9))
                call = lambda m, w=weights, p=period: m.lens.induction_score(w, p)  # noqa: E731
                self.assert_tensor(call(self.student), self.right(call, self.reference), "the score", "L H")
        with self.part("pattern"):
            T, period = self.pick(12, 15), self.pick(3, 5)
            patterns = np.zeros((1, 2, 2, T, T))
            for head, back in enumerate((period - 1, period)):
                patterns[0, :, head, np.arange(T), np.maximum(np.arange(T) - back, 0)] = 1
            score = self.student.lens.induction_score(patterns, period)
            self.assert_tensor(score, np.array([[1.0, 0.0]]), "the score of a perfect head and of another", "L H")
            self.keeps_arguments(self.student.lens.induction_score, {"weights": patterns, "period": period})

    def test_ablate(self):
        """Check random sizes, and ablate no head, several heads, and all heads of a layer."""
        for part in ("one", "several", "restored"):
            with self.part(part):
                model, tokens, H = self.model()
                chosen = [(self.pick(*range(self.layers)), self.pick(*range(H)))]
                if part == "one":
                    self.ablated(model, tokens, [])
                else:
                    chosen += [(0, self.pick(*range(H))), *((self.layers - 1, head) for head in range(H))]
                if part == "restored":
                    self.needs("one", "several")
                    self.student.lens.ablate(model.student, tokens, chosen)
                    right = self.right(lambda m: m(tokens)[0], model.reference)  # noqa: B023
                    logits, _ = self.items(model.student(tokens), 2, "forward")
                    self.assert_restored(logits, right)
                else:
                    self.ablated(model, tokens, chosen)

    def ablated(self, model: Twins, tokens: np.ndarray, heads: list[tuple[int, int]]) -> None:
        """Fail unless the logits without these heads are correct."""
        right = self.right(lambda m: self.solution.lens.ablate(m, tokens, heads), model.reference)
        self.assert_tensor(self.student.lens.ablate(model.student, tokens, heads), right, "the logits", "B T V")

"""Stage 5: a look inside a model."""

from typing import Any

import numpy as np

from autograder.assignments.llm.visible.checks import CheckingTestCase
from autograder.grading.side_effects import check_forgets

MODEL: dict[str, Any] = {"vocab_size": 19, "d_model": 24, "num_layers": 2, "num_heads": 4, "num_kv_heads": 2}
MODEL |= {"d_ff": 10, "windows": [None, 3]}
ABLATED = {"one": [(0, 1)], "several": [(0, 3), (1, 0), (1, 2)]}  # (layer, head)
PERIOD = 4
# Heads first: for the embedding alone, its own divisor and the divisor of the first stream are the same.
SHARES = (("heads", 1, "L H B T"), ("embedding", 0, "B T"), ("mlps", 2, "L B T"))


class TestLens(CheckingTestCase):
    def model(self) -> Any:
        """A model with the stored weights."""
        model = self.student.lm.LanguageModel(**MODEL)
        model.load_state(self.stored("weights"))
        return model

    def test_logit_lens(self):
        """Compute the logits after the embedding and after each of two layers."""
        stored = self.stored("run")
        logits = self.student.lens.logit_lens(self.model(), stored["stream"])
        self.assert_tensor(logits, stored["logits"], "the logits", "layers B T V")
        with self.only_warn(), self.student.unnoted():  # each stream is read on its own
            check_forgets(self, self.student.lens.logit_lens, {"model": self.model(), "stream": stored["stream"]})

    def test_attribution(self):
        """Split a token's logit into the contributions of the embedding, heads and networks."""
        stored = self.stored("run")
        given = [stored[name] for name in ("stream", "heads", "mlps", "target")]
        shares: Any = None
        for part, number, axes in SHARES:
            with self.part(part):
                shares = shares or self.items(self.student.lens.attribution(self.model(), *given), 3, "attribution")
                self.assert_tensor(shares[number], stored[f"share_of_{part}"], f"the contributions of the {part}", axes)
        with self.only_warn():
            again = [np.flip(value, axis=min(1, value.ndim - 2)).copy() for value in given]  # the target is (B, T)
            shares = self.items(self.student.lens.attribution(self.model(), *again), 3, "attribution")
            for part, number, axes in SHARES:
                name = f"the contributions of the {part}, with the batch in reverse order,"
                self.assert_tensor(shares[number], np.flip(stored[f"share_of_{part}"], axis=-2), name, axes)

    def test_induction_score(self):
        """Score eight heads with random weights, and a head that always attends to the right position."""
        with self.part("score"):
            stored = self.stored("induction")
            score = self.student.lens.induction_score(stored["weights"], PERIOD)
            self.assert_tensor(score, stored["score"], "the score", "L H")
        with self.part("pattern"):
            self.check_pattern(9, 3)
        arguments = {"weights": stored["weights"], "period": PERIOD}
        self.warn_of_changes(self.student.lens.induction_score, arguments, batch=False)

    def check_pattern(self, T: int, period: int) -> None:
        """Fail unless the score is 1 only for the head that attends to the position after the last occurrence."""
        patterns = np.zeros((1, 1, 3, T, T))
        for head, back in enumerate((period - 1, period, 1)):
            patterns[0, 0, head, np.arange(T), np.maximum(np.arange(T) - back, 0)] = 1
        score = self.student.lens.induction_score(patterns, period)
        self.assert_tensor(score, np.array([[1.0, 0.0, 0.0]]), "the score of a perfect head and of two others", "L H")

    def test_ablate(self):
        """Remove one head from a model, then three heads; afterwards the model is unchanged."""
        stored, model = self.stored("run"), self.model()
        for part, heads in ABLATED.items():
            with self.part(part):
                logits = self.student.lens.ablate(self.model(), stored["tokens"], heads)
                self.assert_tensor(logits, stored[f"ablated.{part}"], "the logits", "B T V")
        with self.part("restored"):
            self.needs("one", "several")
            self.student.lens.ablate(model, stored["tokens"], ABLATED["several"])
            logits, _ = self.items(model(stored["tokens"]), 2, "forward")
            self.assert_restored(logits, stored["whole"])
        arguments = {"model": model, "tokens": stored["tokens"], "heads": ABLATED["several"]}
        with self.only_warn(), self.student.unnoted():
            check_forgets(self, self.student.lens.ablate, arguments)

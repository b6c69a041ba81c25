"""Stage 3: a modern language model."""

from typing import Any

import numpy as np

from autograder.assignments.llm.visible.checks import CheckingTestCase

SIZES: dict[str, Any] = {"d_model": 24, "num_heads": 4, "num_kv_heads": 2}  # d_head is 6
MODEL: dict[str, Any] = {**SIZES, "vocab_size": 29, "num_layers": 3, "d_ff": 20, "windows": [3, None]}
# past, new, kept, window
MASKS: dict[str, list[tuple[int, int, int, int | None]]] = {
    "no_window": [(0, 4, 0, None), (5, 3, 5, None)],
    "window": [(0, 5, 0, 3), (7, 3, 2, 3), (6, 1, 2, 3)],
}
PAST = 7


class TestModernModel(CheckingTestCase):
    def test_hidden_keys(self):
        """Hide keys at the beginning and with a cache, both without a window and with a window of three."""
        for part, given in MASKS.items():
            with self.part(part):
                for number, (past, new, kept, window) in enumerate(given):
                    hidden = self.student.lm.hidden_keys(past, new, kept, window)
                    right = self.stored("hidden")[f"{part}.{number}"]
                    self.assert_tensor(hidden, right, f"the mask for past = {past}, kept = {kept}", "query key")

    def test_project(self):
        """Project to four query heads and two heads for keys and values, at the beginning and at position 7."""
        stored = self.stored("project")
        attention = self.attention(None)
        with self.part("norms"):
            self.check_project(attention.project(stored["x"], 0), "first")
            plain = self.attention(None, qk_norm=False)
            self.check_project(plain.project(stored["x"], 0), "plain")
        with self.part("positions"):
            self.check_project(attention.project(stored["x"], PAST), "later")
        self.warn_of_side_effects(attention, {"x": stored["x"], "past": 0}, "project", self.stored("weights"))

    def attention(self, window: int | None, **options: Any) -> Any:
        """Attention with the stored weights."""
        attention = self.student.lm.Attention(**SIZES, window=window, **options)
        attention.load_state(self.stored("weights"))
        return attention

    def check_project(self, result: Any, case: str) -> None:
        """Fail unless the queries, keys and values are correct."""
        stored = self.stored("project")
        for kind, tensor in zip("qkv", self.items(result, 3, "project"), strict=True):
            heads = "H" if kind == "q" else "G"
            self.assert_tensor(tensor, stored[f"{case}_{kind}"], kind, f"B {heads} T_new d_head")

    def test_attention(self):
        """Process six positions at once with several windows, then two positions with a cache cut to the window."""
        stored = self.stored("attention")
        with self.part("first"):
            for window in (None, 3, 1):
                self.check_attention(self.attention(window)(stored["x"]), f"first.{window}")
        with self.part("cache"):
            for window, kept in ((None, PAST), (3, 2), (4, 3)):
                cache = [stored["keys"][:, :, -kept:], stored["values"][:, :, -kept:]]
                self.check_attention(self.attention(window)(stored["x"][:, :2], PAST, cache), f"next.{window}")
        arguments = {"x": stored["x"][:, :2], "past": PAST, "cache": cache}
        self.warn_of_changes(self.attention(4), arguments)

    def check_attention(self, result: Any, case: str) -> None:
        """Fail unless the output and cache are correct."""
        stored = self.stored(case)
        y, cache = self.items(result, 2, "forward")
        self.assert_tensor(y, stored["y"], "the output", "B T_new d_model")
        for kind, tensor in zip(("keys", "values"), self.items(cache, 2, "the cache"), strict=True):
            self.assert_tensor(tensor, stored[kind], f"the {kind} in the new cache", "B G kept d_head")

    def test_language_model(self):
        """Run a three-layer model (no window in layer 2) on five tokens, then on three more with the caches."""
        stored, model = self.stored("model"), self.student.lm.LanguageModel(**MODEL)
        model.load_state(self.stored("model_weights"))
        with self.part("logits"):
            logits, caches = self.items(model(stored["tokens"][:, :5]), 2, "forward")
            self.assert_tensor(logits, stored["first"], "the logits", "B T_new V")
        with self.part("caches"):
            caches = [[stored[f"cache.{layer}.{kind}"] for kind in (0, 1)] for layer in range(MODEL["num_layers"])]
            logits, caches = self.items(model(stored["tokens"][:, 5:], 5, caches), 2, "forward")
            self.assert_tensor(logits, stored["next"], "the logits of the next tokens", "B T_new V")
            self.items(caches, MODEL["num_layers"], "the list of caches")

    def test_loss(self):
        """Compute the loss of a batch of two rows."""
        stored, model = self.stored("model"), self.student.lm.LanguageModel(**MODEL)
        model.load_state(self.stored("model_weights"))
        self.assert_tensor(model.loss(stored["tokens"]), stored["loss"], "the loss", "")
        with self.only_warn():  # of the tokens whose logits are stored
            logits, targets = stored["first"][:, :-1], stored["tokens"][:, 1:5, None]
            right = np.log(np.exp(logits).sum(axis=-1)) - np.take_along_axis(logits, targets, axis=-1)[..., 0]
            name = "the loss of the first five tokens, in a second call,"
            self.assert_tensor(model.loss(stored["tokens"][:, :5]), np.asarray(right.mean()), name, "")

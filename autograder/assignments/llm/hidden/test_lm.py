"""Hidden tests for stage 3: other sizes, groups and windows, random caches, and chunks compared with a single call."""

from typing import Any

import numpy as np

from autograder.assignments.llm.hidden.cases import LlmTestCase
from autograder.grading.hidden_case import Twins


class TestModernModel(LlmTestCase):
    def sizes_of_attention(self) -> dict[str, int]:
        """d_model, H and G: at least two groups of at least two heads."""
        G, share, d_head = self.pick(2, 3), self.pick(2, 3), self.pick(4, 6, 10)
        return {"d_model": G * share * d_head, "num_heads": G * share, "num_kv_heads": G}

    def attention(self, sizes: dict[str, int], window: int | None, qk_norm: bool = True) -> Twins:
        """Attention with random weights."""
        return self.twins(lambda modules: modules.lm.Attention(**sizes, window=window, qk_norm=qk_norm))

    def weight(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        """Random values; a norm has a different weight for every feature."""
        return 1 + 0.3 * self.random(*shape) if "norm" in name else super().weight(name, shape)

    def test_hidden_keys(self):
        """Check other numbers of positions and cached keys, one-key windows, and windows longer than the text."""
        for part, windows in (("no_window", (None,)), ("window", (1, 2, self.pick(3, 4), 50))):
            with self.part(part):
                for window in windows:
                    for new in (1, self.pick(2, 3), 6):
                        past = self.pick(0, 5, 9)
                        kept = min(past, past if window is None else window - 1)
                        call = lambda m, a=(past, new, kept, window): m.lm.hidden_keys(*a)  # noqa: E731
                        self.assert_tensor(
                            call(self.student), self.right(call, self.reference), "the mask", "query key"
                        )

    def test_project(self):
        """Check random sizes, positions up to 500, projections with and without norms, and the gradients."""
        sizes = self.sizes_of_attention()
        with self.part("norms"):
            for qk_norm in (True, False):
                attention = self.attention(sizes, None, qk_norm)
                for B, T in ((1, 1), (2, 5), (sizes["num_kv_heads"], 3)):
                    self.project(attention, self.random(B, T, sizes["d_model"]), 0)
        with self.part("positions"):
            for past in (1, self.pick(7, 40), 500):
                self.project(attention, self.random(2, 4, sizes["d_model"]), past)
            arguments = {"x": self.random(2, 3, sizes["d_model"]), "past": 2}
            self.keeps_arguments(attention.student, arguments, "project")
            d_head = sizes["d_model"] // sizes["num_heads"]
            heads = (sizes[f"num_{kind}heads"] for kind in ("", "kv_", "kv_"))
            outputs = [self.random(2, number, 3, d_head) for number in heads]
            self.same_gradients(attention, arguments, outputs, "B T_new d_model", "project")

    def project(self, attention: Twins, x: np.ndarray, past: int) -> None:
        """Fail unless the queries, keys and values are correct."""
        call = lambda model: model.project(x, past)  # noqa: E731
        projected = self.items(call(attention.student), 3, "project")
        for kind, tensor, right in zip("qkv", projected, self.right(call, attention.reference), strict=True):
            self.assert_tensor(tensor, right, kind, f"B {'H' if kind == 'q' else 'G'} T_new d_head")

    def read(self, attention: Twins, x: np.ndarray, past: int = 0, cache: Any = None) -> Any:
        """Fail unless the output and cache are correct; return the cache."""
        call = lambda model: model(x, past, cache)  # noqa: E731
        y, after = self.items(call(attention.student), 2, "forward")
        right, right_after = self.right(call, attention.reference)
        self.assert_tensor(y, right, "the output", "B T_new d_model")
        for kind, tensor, wanted in zip(
            ("keys", "values"), self.items(after, 2, "the cache"), right_after, strict=True
        ):
            self.assert_tensor(tensor, wanted, f"the {kind} in the new cache", "B G kept d_head")
        return right_after

    def test_attention(self):
        """Check random sizes and windows, a single group, random caches, and a text in chunks."""
        sizes = self.sizes_of_attention()
        with self.part("first"):
            for window in (None, 1, 2, self.pick(3, 4), 50):
                self.read(self.attention(sizes, window), self.random(2, self.pick(1, 5, 7), sizes["d_model"]))
            for groups in (1, sizes["num_heads"]):
                self.read(self.attention({**sizes, "num_kv_heads": groups}, None), self.random(2, 4, sizes["d_model"]))
            attention = self.attention(sizes, 3)
            x = self.random(2, 5, sizes["d_model"])
            self.keeps_arguments(attention.student, {"x": x})
        with self.part("cache"):
            d_head = sizes["d_model"] // sizes["num_heads"]
            for window in (None, 1, 2, self.pick(4, 5)):
                attention, past = self.attention(sizes, window), self.pick(6, 9)
                kept = past if window is None else window - 1
                cache = [self.random(2, sizes["num_kv_heads"], kept, d_head) for _ in range(2)]
                self.read(attention, self.random(2, self.pick(1, 3), sizes["d_model"]), past, cache)
            attention = self.attention(sizes, self.pick(2, 4))
            past, cache = 0, []
            for new in (4, 1, 1, 3):
                cache = self.read(attention, self.random(2, new, sizes["d_model"]), past, cache or None)
                past += new
            self.keeps_arguments(
                attention.student, {"x": self.random(2, 1, sizes["d_model"]), "past": past, "cache": list(cache)}
            )

    def model(self) -> tuple[Twins, int]:
        """A small model, and the size of its vocabulary."""
        V, windows = self.pick(17, 30), [self.pick(2, 3), None, self.pick(4, 5)]
        sizes = {**self.sizes_of_attention(), "vocab_size": V, "d_ff": self.pick(10, 22), "windows": windows}
        return self.twins(lambda m: m.lm.LanguageModel(**sizes, num_layers=self.layers)), V

    layers = 4

    def test_language_model(self):
        """Check random sizes, four layers that cycle through three windows, and tokens one at a time."""
        with self.part("logits"):
            model, V = self.model()
            for B, T in ((1, 1), (3, 6)):
                self.tokens(model, self.rng.integers(V, size=(B, T)), 0, None)
        with self.part("caches"):
            model, V = self.model()
            caches, past = None, 0
            for new in (5, 1, 2):
                caches = self.tokens(model, self.rng.integers(V, size=(2, new)), past, caches)
                past += new

    def tokens(self, model: Twins, tokens: np.ndarray, past: int, caches: Any) -> Any:
        """Fail unless the logits are correct; return the caches."""
        call = lambda m: m(tokens, past, caches)  # noqa: E731
        logits, after = self.items(call(model.student), 2, "forward")
        right, right_after = self.right(call, model.reference)
        self.assert_tensor(logits, right, "the logits", "B T_new V")
        self.items(after, self.layers, "the list of caches")
        return [list(cache) for cache in right_after]

    def test_loss(self):
        """Check two batches of different shapes."""
        model, V = self.model()
        for B, T in ((1, 2), (3, 7)):
            tokens = self.rng.integers(V, size=(B, T))
            call = lambda m, t=tokens: m.loss(t)  # noqa: E731
            self.same(call, model, "the loss", "")

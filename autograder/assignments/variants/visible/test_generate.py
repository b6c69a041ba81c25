"""Stage 4: the cache, the filter and the loop."""

from typing import Any

import numpy as np

from autograder.assignments.variants.visible.cases import FILTERS, MODEL
from autograder.assignments.variants.visible.checks import CheckingTestCase, softmax


class TestGenerate(CheckingTestCase):
    """Tests of a small model with random weights."""

    def model(self) -> Any:
        model = self.student.language_model.DecoderTransformer(**MODEL)
        model.load_state(self.stored("weights"))
        return model

    def check_step(self, result: Any, stored: dict[str, np.ndarray]) -> list[list[np.ndarray]]:
        """Fail unless the logits and cache match the stored ones; return the stored cache.

        The next step starts from this cache, not from the student's. Students' caches differ in the last digits, so the
        call would differ from machine to machine and would not match the stored calls (see `localization.reference`).
        """
        logits, cache = self.items(result, 2, "forward_cached")
        self.assert_tensor(logits, stored["logits"], "the logits", "B T V")
        for layer, pair in enumerate(self.items(cache, MODEL["num_layers"], "the list of pairs in the cache")):
            self.items(pair, 2, f"the cache of layer {layer}")
            for kind, name in enumerate(("keys", "values")):
                right = stored[f"{layer}.{kind}"]
                self.assert_tensor(pair[kind], right, f"the {name} of layer {layer}", "B H T d_head")
        return self.cache(stored)

    def cache(self, stored: dict[str, np.ndarray]) -> list[list[np.ndarray]]:
        return [[stored[f"{layer}.0"], stored[f"{layer}.1"]] for layer in range(MODEL["num_layers"])]

    def test_prompt_with_cache(self):
        """Read a prompt of five tokens; compare the logits, keys and values. Reject a prompt that is too long."""
        model, stored = self.model(), self.stored("prompt")
        with self.part("prompt"):
            self.check_step(self.student.generate.forward_cached(model, stored["tokens"], None), stored)
        with self.part("too_long"):
            longer = np.tile(stored["tokens"], 3)
            self.refuses(lambda: self.student.generate.forward_cached(model, longer, None), 15, 12)
        with self.only_warn():
            longest, token = MODEL["max_len"], stored["tokens"][:, :1]
            full = [[np.tile(one, (1, 1, 3, 1))[:, :, :longest] for one in pair] for pair in self.cache(stored)]
            self.refuses(lambda: self.student.generate.forward_cached(model, token, full), 13, 12)

    def test_steps_with_cache(self):
        """Read three more tokens, one by one, with the cache of the previous tokens."""
        model, cache = self.model(), self.cache(self.stored("prompt"))
        for step in range(5, 8):
            stored = self.stored(f"step{step}")
            cache = self.check_step(self.student.generate.forward_cached(model, stored["token"], cache), stored)
        with self.only_warn():
            token = self.stored("step5")["token"]
            after = self.student.drivers.cache_after_forward_cached(model, token, cache)
            if not self.equal(after, cache):
                self.argument_changed("cache")

    def test_filter_logits(self):
        """Filter with temperature, top-k and top-p, alone and together; compare the softmax of the results."""
        stored = self.stored("filter")
        for case, options in FILTERS.items():
            with self.part(case):
                filtered = self.student.generate.filter_logits(stored["logits"], **options)
                given = ", ".join(f"{name}={value}" for name, value in options.items())
                if (
                    isinstance(filtered, np.ndarray)
                    and filtered.shape == stored[case].shape
                    and filtered.dtype.kind == "f"
                ):
                    filtered = softmax(filtered)
                self.assert_tensor(filtered, stored[case], f"the softmax of the result with {given}", "B V")
        inputs = {"logits": stored["logits"], "temperature": 0.5, "top_k": 4}
        if self.warn_of_changes(self.student.generate.filter_logits, inputs):
            with self.only_warn():
                self.keep_all(stored["logits"])

    def keep_all(self, logits: np.ndarray) -> None:
        """Fail unless a `top_k` that is larger than the vocabulary keeps all tokens."""
        filtered = self.student.generate.filter_logits(logits, top_k=100)
        if isinstance(filtered, np.ndarray) and filtered.shape == logits.shape and filtered.dtype.kind == "f":
            filtered = softmax(filtered)
        self.assert_tensor(filtered, softmax(logits), "the softmax of the result with top_k=100", "B V")

    def test_generate(self):
        """Decode greedily up to the maximum length; sample with top_k=1, and twice with the same seed."""
        model, stored = self.model(), self.stored("greedy")
        prompt, best = stored["prompt"], stored["tokens"]
        generate = self.student.generate.generate
        with self.part("greedy"):
            self.assert_tensor(generate(model, prompt, 20), best, "the tokens", "B T")
            self.assert_tensor(generate(model, prompt, 3), best[:, :7], "the first tokens", "B T")
            self.assert_tensor(generate(model, best, 3), best, "the tokens for the longest prompt", "B T")
        with self.part("sampled"):
            prompt, best = prompt[:2], best[:2]
            drawn = self.student.drivers.generate_with_seeds(model, prompt, 20, [1], 1.0, 1)
            (only,) = self.items(drawn, 1, "sampling")
            self.assert_tensor(only, best, "the tokens sampled with top_k=1", "B T")
            drawn = self.student.drivers.generate_with_seeds(model, prompt, 8, [2, 2, 3], 5.0)
            once, again, other = self.items(drawn, 3, "sampling")
            self.assert_samples(once, prompt, 8, MODEL["vocab_size"])
            self.assert_tensor(again, once, "the tokens sampled again with the same seed", "B T")
            self.checks += 1
            if np.array_equal(once, other):
                self.wrong("two seeds produce the same 16 tokens, although the temperature is 5", actual=once)
        with self.only_warn():
            self.check_equal_prompts(model, prompt[:1])
        with self.only_warn(), self.student.unnoted():
            options = [2.0, 8, 0.9]
            logits = model(prompt[:1])
            self.assert_form(logits, (*prompt[:1].shape, MODEL["vocab_size"]), "the logits", "B T V")
            filtered = self.student.generate.filter_logits(logits[:, -1], *options)
            self.assert_form(filtered, (1, MODEL["vocab_size"]), "the filtered logits", "B V", infinite=True)
            self.assert_frequencies(model, prompt[:1], softmax(filtered)[0], options, 4000)

    def check_equal_prompts(self, model: Any, prompt: np.ndarray) -> None:
        """Fail if two equal prompts in a batch get the same continuation: each must be sampled separately."""
        drawn = self.student.drivers.generate_with_seeds(model, np.repeat(prompt, 2, axis=0), 8, [2], 5.0)
        (both,) = self.items(drawn, 1, "sampling")
        self.checks += 1
        if isinstance(both, np.ndarray) and both.ndim == 2 and np.array_equal(both[:1], both[1:]):
            self.wrong("two equal prompts get the same 8 tokens, although the temperature is 5", actual=both)

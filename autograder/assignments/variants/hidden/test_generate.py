"""Hidden tests for stage 4: caches of other models, random caches, filters, greedy and sampled texts."""

from typing import Any

import numpy as np

from autograder.assignments.variants.hidden.models import VariantsTestCase
from autograder.assignments.variants.visible.checks import softmax
from autograder.grading.hidden_case import Twins

MANY = 4000  # sampled texts whose frequencies are counted


class TestGenerate(VariantsTestCase):
    def model(self, **changes: Any) -> tuple[Twins, dict[str, Any]]:
        config = self.config(**changes)
        return self.twins(lambda modules: modules.language_model.DecoderTransformer(**config)), config

    def read(self, model: Twins, config: dict[str, Any], tokens: np.ndarray, cache: Any = None) -> Any:
        """Fail unless the logits and cache are correct; return the reference's cache, so that no errors accumulate."""

        def call(pair: Any) -> Any:
            modules, model = pair
            return modules.generate.forward_cached(model, tokens, cache)

        pair = self.beside(model)
        logits, after = self.items(call(pair.student), 2, "forward_cached")
        right, expected = self.right(call, pair.reference)
        self.assert_tensor(logits, right, "the logits", "B T V")
        for layer, keys_values in enumerate(self.items(after, config["num_layers"], "the list of pairs in the cache")):
            self.items(keys_values, 2, f"the cache of layer {layer}")
            for kind, name in enumerate(("keys", "values")):
                right = expected[layer][kind]
                self.assert_tensor(keys_values[kind], right, f"the {name} of layer {layer}", "B H T d_head")
        return [[np.array(tensor) for tensor in pair] for pair in expected]

    def random_cache(self, config: dict[str, Any], B: int, T: int) -> list[list[np.ndarray]]:
        """A random cache that no tokens could produce."""
        H = config["num_heads"]
        shape = B, H, T, config["d_model"] // H
        return [[self.random(*shape), self.random(*shape)] for _ in range(config["num_layers"])]

    def test_prompt_with_cache(self):
        """Check prompts of other lengths, other models, and a prompt that is too long, alone and with a cache."""
        model, config = self.model()
        longest = config["max_len"]
        with self.part("prompt"):
            for B, T in ((1, longest), (config["num_heads"], 5), (2, 1)):
                self.read(model, config, self.tokens(config, B, T))
            three, sizes = self.model(num_layers=3, num_heads=1, d_model=7)
            self.read(three, sizes, self.tokens(sizes, 2, 4))
            # With and without a cache, the results are the same.
            tokens = self.tokens(config, 2, 6)
            logits, _ = self.items(self.student.generate.forward_cached(model.student, tokens), 2, "forward_cached")
            self.assert_tensor(logits, self.right(lambda model: model(tokens), model.reference), "the logits", "B T V")
        with self.part("too_long"):
            tokens = self.tokens(config, 1, longest + 1)
            self.refuses(lambda: self.student.generate.forward_cached(model.student, tokens), longest + 1, longest)
            cache = self.random_cache(config, 1, longest)
            step = tokens[:, :1]
            self.refuses(lambda: self.student.generate.forward_cached(model.student, step, cache), longest + 1, longest)

    def test_steps_with_cache(self):
        """Check steps after prompts of other lengths, and with random caches, which must be used unchanged."""
        model, config = self.model()
        tokens = self.tokens(config, 2, 6)
        cache = self.read(model, config, tokens[:, :3])
        for place in range(3, 6):
            cache = self.read(model, config, tokens[:, place : place + 1], cache)
        for B, T in ((1, 1), (config["num_heads"], 4), (3, config["max_len"] - 1)):
            given = self.random_cache(config, B, T)
            step = self.tokens(config, B, 1)
            self.read(model, config, step, given)
        self.keeps(model, step, given)

    def keeps(self, model: Twins, step: np.ndarray, cache: Any) -> None:
        """Fail if a call changes the cache that was passed in."""
        after = self.items(
            self.student.drivers.cache_after_forward_cached(model.student, step, cache), len(cache), "the cache"
        )
        self.checks += 1
        with self.minor():
            if not self.equal(after, cache):
                self.argument_changed("cache")

    def test_filter_logits(self):
        """Check other values of temperature, k and p, one row and many rows, and a filter that removes nothing."""
        cases: dict[str, list[dict[str, Any]]] = {
            "temperature": [{"temperature": 0.3}, {"temperature": 2.5}],
            "top_k": [{"top_k": 1}, {"top_k": self.pick(2, 5)}, {"top_k": 100}],
            "top_p": [{"top_p": 0.05}, {"top_p": 0.3 + 0.1 * self.pick(1, 3, 5)}, {"top_p": 1.0}],
            "all": [{"temperature": 0.5, "top_k": 8, "top_p": 0.7}, {"temperature": 3.0, "top_k": 5, "top_p": 0.55}],
        }
        for case, several in cases.items():
            with self.part(case):
                for options in several:
                    for shape in ((13,), (4, 21), (2, 3, 9)):
                        self.filter(2.5 * self.random(*shape), options)

    def filter(self, logits: np.ndarray, options: dict[str, Any]) -> None:
        """Fail unless the filtered distribution is correct and the logits are unchanged."""
        right = self.right(lambda modules: modules.generate.filter_logits(logits, **options), self.reference)
        filtered = self.student.generate.filter_logits(logits, **options)
        given = ", ".join(f"{name}={value:.2g}" for name, value in options.items())
        axes = " ".join("abc"[: logits.ndim - 1] + "V")
        if isinstance(filtered, np.ndarray) and filtered.shape == right.shape and filtered.dtype.kind == "f":
            filtered = softmax(filtered)
        self.assert_tensor(filtered, softmax(right), f"the softmax of the result with {given}", axes)
        self.checks += 1
        after = self.student.drivers.logits_after_filter_logits(
            logits, options.get("temperature", 1.0), options.get("top_k")
        )
        with self.minor():
            if not np.array_equal(after, logits):
                self.argument_changed("logits")

    def test_generate(self):
        """Check greedy and sampled output, the token frequencies of the samples, and the effect of the generator."""
        model, config = self.model()
        V, longest = config["vocab_size"], config["max_len"]
        with self.part("greedy"):
            for B, T, new in ((1, 1, 4), (3, 4, 100), (2, 3, 0), (2, longest, 2)):
                prompt = self.tokens(config, B, T)

                def call(pair: Any, prompt: np.ndarray = prompt, new: int = new) -> Any:
                    return pair[0].generate.generate(pair[1], prompt, new)

                self.same(call, self.beside(model), "the tokens", "B T")
        with self.part("sampled"):
            prompt = self.tokens(config, 2, 3)
            best = self.right(lambda pair: pair[0].generate.generate(pair[1], prompt, 6), self.beside(model).reference)
            for options in ([1.0, 1], [0.7, None, 1e-9], [1e-5]):
                (only,) = self.items(
                    self.student.drivers.generate_with_seeds(model.student, prompt, 6, [5], *options), 1, "sampling"
                )
                self.assert_tensor(only, best, "the tokens sampled when only the best one has a chance", "B T")
            drawn = self.student.drivers.generate_with_seeds(model.student, prompt, longest, [5, 5, 6], 9.0)
            once, again, other = self.items(drawn, 3, "sampling")
            self.assert_samples(once, prompt, longest - 3, V)
            self.assert_tensor(again, once, "the tokens sampled again with the same seed", "B T")
            self.checks += 1
            if np.array_equal(once, other):
                self.wrong("two seeds produce the same tokens, although the temperature is 9")
            equal = np.repeat(prompt[:1], 2, axis=0)
            (both,) = self.items(
                self.student.drivers.generate_with_seeds(model.student, equal, longest, [5], 9.0), 1, "sampling"
            )
            if isinstance(both, np.ndarray) and both.ndim == 2 and np.array_equal(both[:1], both[1:]):
                self.wrong("two equal prompts get the same tokens, although the temperature is 9")
            for options in ([0.6], [2.0, 4], [1.3, None, 0.7], [1.5, 6, 0.8]):
                self.frequencies(model, config, options)

    def frequencies(self, model: Twins, config: dict[str, Any], options: list[Any]) -> None:
        """Fail unless the next tokens are as frequent as in the reference's filtered distribution."""
        prompt = self.tokens(config, 1, 3)

        def distribution(pair: Any) -> Any:
            return pair[0].generate.filter_logits(pair[1](prompt)[:, -1], *options)

        wanted = softmax(self.right(distribution, self.beside(model).reference))[0]
        self.assert_frequencies(model.student, prompt, wanted, options, MANY)

"""Stage 5: greedy decoding with a cache (extra credit)."""

import numpy as np

from autograder.testcase import StageTestCase


class TestInference(StageTestCase):
    """The trained model translates by itself, token by token."""

    def translate(self, case: str, batch: int = 6):
        """Translate the sentences of a stored case in batches, which slow code manages in time.

        Yields the number of the batch's first sentence, and the tokens and the cache of each sentence.
        """
        stored = self.stored(case)
        model = self.trained_transformer()
        for start in range(0, len(stored["src"]), batch):
            lengths = stored["src_lengths"][start : start + batch]
            src = stored["src"][start : start + batch, : lengths.max()]
            result = model.inference(src=src, src_lengths=lengths, max_output_length=int(stored["max_output_length"]))
            decoded, caches = self.items(result, 2, "inference")
            yield start, self.items(decoded, len(src), "decoded"), self.items(caches, len(src), "the list of caches")

    def test_decoder_inference_outputs_extra_credit(self):
        """Translate 12 German sentences: every token equals the reference translation."""
        stored = self.stored("sentences")
        references = np.split(stored["decoded"], np.cumsum(stored["decoded_lengths"])[:-1])
        for start, decoded, _ in self.translate("sentences"):
            for number, tokens in enumerate(decoded, start=start + 1):
                if not isinstance(tokens, np.ndarray) or tokens.ndim != 1:
                    self.assert_tensor(tokens, references[number - 1], f"decoded sentence {number}", "T")
            self.compare_translations(start, decoded, references[start : start + len(decoded)])

    def compare_translations(self, start: int, decoded: list[np.ndarray], references: list[np.ndarray]) -> None:
        """Fail unless all translations of a batch are the same, token by token."""
        self.checks += 1
        pairs = [(tokens.tolist(), reference.tolist()) for tokens, reference in zip(decoded, references, strict=True)]
        wrong = [number for number, (tokens, reference) in enumerate(pairs) if tokens != reference]
        if not wrong:
            return
        import editdistance

        errors = sum(editdistance.eval(tokens, reference) for tokens, reference in pairs)
        tokens, reference = pairs[wrong[0]]
        rate = 100 * errors / sum(len(reference) for _, reference in pairs)
        self.wrong(
            f"{len(wrong)} of {len(pairs)} translations differ",
            f"The token error rate is {rate:.1f} %. First, sentence {start + wrong[0] + 1}:",
            f"expected  {reference}",
            f"got       {tokens}",
            actual=np.concatenate(decoded),
        )

    def test_decoder_inference_cache_extra_credit(self):
        """Return the cache: for each sentence the outputs of every decoder layer."""
        stored = self.stored("cached")
        for start, _, caches in self.translate("cached"):
            for number, cache in enumerate(caches, start=start):
                expected = [stored[f"cache.{number}.{layer}"] for layer in range(int(stored["num_layers"]))]
                self.items(cache, len(expected), f"the cache of sentence {number + 1}")
                for layer, (actual, right) in enumerate(zip(cache, expected, strict=True)):
                    name = f"the cache of sentence {number + 1}, layer {layer}"
                    self.assert_tensor(actual, right, name, "1 T d_model")

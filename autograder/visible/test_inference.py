"""Stage 5: greedy decoding with a cache (extra credit)."""

import numpy as np

from autograder.testcase import StageTestCase


class TestInference(StageTestCase):
    """The trained model translates by itself, token by token."""

    def translate(self, case: str, batch: int = 10):
        """The stored case, and what `inference` returns for its sentences, in batches that slow code manages in time."""
        stored = self.stored(case)
        model = self.trained_transformer()
        decoded, caches = [], []
        for start in range(0, len(stored["src"]), batch):
            lengths = stored["src_lengths"][start : start + batch]
            src = stored["src"][start : start + batch, : lengths.max()]
            result = model.inference(src=src, src_lengths=lengths, max_output_length=int(stored["max_output_length"]))
            batch_decoded, batch_caches = self.items(result, 2, "inference")
            decoded += self.items(batch_decoded, len(src), "decoded")
            caches += self.items(batch_caches, len(src), "the list of caches")
        return stored, decoded, caches

    def test_decoder_inference_outputs_extra_credit(self):
        """Translate 30 German sentences: every token equals the reference translation."""
        stored, decoded, _ = self.translate("sentences")
        references = np.split(stored["decoded"], np.cumsum(stored["decoded_lengths"])[:-1])
        wrong = []
        for number, (tokens, reference) in enumerate(zip(decoded, references, strict=True), start=1):
            if not isinstance(tokens, np.ndarray) or tokens.ndim != 1:
                self.assert_tensor(tokens, reference, f"decoded sentence {number}", "T")
            if tokens.tolist() != reference.tolist():
                wrong.append((number, tokens.tolist(), reference.tolist()))
        if wrong:
            import editdistance

            errors = sum(editdistance.eval(tokens, reference) for _, tokens, reference in wrong)
            number, tokens, reference = wrong[0]
            self.wrong(
                f"{len(wrong)} of {len(references)} translations differ",
                f"The token error rate is {100 * errors / len(stored['decoded']):.1f} %. First, sentence {number}:",
                f"expected  {reference}",
                f"got       {tokens}",
            )

    def test_decoder_inference_cache_extra_credit(self):
        """Return the cache: for each sentence the outputs of every decoder layer."""
        stored, _, caches = self.translate("cached")
        for number, cache in enumerate(caches):
            expected = [stored[f"cache.{number}.{layer}"] for layer in range(int(stored["num_layers"]))]
            self.items(cache, len(expected), f"the cache of sentence {number + 1}")
            for layer, (actual, right) in enumerate(zip(cache, expected, strict=True)):
                name = f"the cache of sentence {number + 1}, layer {layer}"
                self.assert_tensor(actual, right, name, "1 T d_model")

"""Stage 5: greedy decoding with a cache (extra credit)."""

from typing import Any

import numpy as np

from autograder.assignments.transformer.trained import (
    KEPT,
    SMALL,
    TINY,
    TINY_SENTENCES,
    TrainedTestCase,
    numbers,
    small_arguments,
    small_weights,
)
from autograder.grading.graded_case import alike
from autograder.grading.side_effects import KEPT_WHY, check_forgets
from course.text import edit_distance

MOST = 1000  # tokens that are checked: a sentence of millions is an attack


class TestInference(TrainedTestCase):
    """Tests in which the trained model translates on its own, token by token."""

    def translate(self) -> tuple[list[Any], list[Any]]:
        """Tokens and caches of the stored sentences, which are translated once for both tests."""
        if "translations" not in self.student.kept:
            stored = self.stored("sentences")
            lengths, limit = stored["src_lengths"][: self.few], int(stored["max_output_length"])
            src = stored["src"][: self.few, : lengths.max()]
            model = self.trained_transformer()
            result = model.inference(src=src, src_lengths=lengths, max_output_length=limit)
            self.student.kept["translations"] = (result, len(src), self.student.last_call)
        result, B, self.student.last_call = self.student.kept["translations"]
        decoded, caches = self.items(result, 2, "inference")
        return self.items(decoded, B, "decoded"), self.items(caches, B, "the list of caches")

    def test_decoder_inference_outputs_extra_credit(self):
        """Translate German sentences: every token must match the reference translation."""
        with self.part("one step"):
            self.check_step()
            self.check_first_step()
            self.warn_of_step()
        with self.part("stack"):
            self.check_steps_of_all()
            with self.only_warn():
                self.check_new_list()
        with self.part("translations"), self.shown_by(self.check_tiny):
            self.check_translations()
            with self.only_warn():
                self.check_start()
            with self.only_warn(), self.student.unnoted():
                self.check_second_call()

    def check_second_call(self) -> None:
        """Fail unless a small model keeps its arguments, and translates sentences in reverse order in the same way."""
        model, _ = self.tiny_model(TINY["tgt_vocab_size"])
        self.keeps_arguments(model, TINY_SENTENCES, "inference")
        again = {name: value[::-1].copy() if np.ndim(value) else value for name, value in TINY_SENTENCES.items()}
        first, second = (self.items(model.inference(**source), 2, "inference")[0] for source in (TINY_SENTENCES, again))
        if not isinstance(first, list) or not alike(second, first[::-1]):
            self.wrong("a second call with the same sentences in reverse order returns different tokens", KEPT_WHY)

    def warn_of_step(self) -> None:
        """Warn about side effects of one step of a small layer."""
        layer = self.student.decoder.TransformerDecoderLayer(*SMALL, KEPT)
        layer.load_state(small_weights(layer.shapes()))
        arguments = {**small_arguments(decoder=True, step=True), "cache": self.stored("layer")["cache"]}
        others = small_arguments(decoder=True)["self_attn_mask"]  # so that each sentence has its own mask
        arguments["self_attn_mask"] = np.concatenate([arguments["self_attn_mask"], others])
        real = (arguments["self_attn_padding_mask"] == 0)[..., None]
        self.warn_of_changes(layer, arguments, "forward_one_step_ec", real)

    def check_start(self) -> None:
        """Fail unless a small model's output starts with sos, not with a source token, and ends at the limit.

        The model cannot predict its end token.
        """
        model, _ = self.tiny_model(TINY["tgt_vocab_size"])
        decoded, _ = self.items(model.inference(**{**TINY_SENTENCES, "max_output_length": 3}), 2, "inference")
        for number, tokens in enumerate(self.items(decoded, 2, "decoded"), start=1):
            first = tokens.tolist()[:1] if isinstance(tokens, np.ndarray) and tokens.ndim == 1 else []
            if first != [TINY["sos_idx"]]:
                self.wrong(f"decoded sentence {number} does not start with sos_idx = {TINY['sos_idx']}")
            if len(tokens) != 4:
                length = f"{len(tokens)} tokens instead of 4: sos and max_output_length = 3 predictions"
                self.wrong(f"decoded sentence {number} has {length}")

    def check_step(self) -> None:
        """Fail unless one step of a small layer, with a cache, returns the stored tensor."""
        layer = self.student.decoder.TransformerDecoderLayer(*SMALL, KEPT)
        layer.load_state(small_weights(layer.shapes()))
        stored = self.stored("layer")
        arguments = {**small_arguments(decoder=True, step=True), "cache": stored["cache"]}
        real = (arguments["self_attn_padding_mask"] == 0)[..., None]
        y = layer.forward_one_step_ec(**arguments)
        self.assert_tensor(y, stored["output"], "the output of one step", "B T_d d_model", where=real)
        self.check_cost()

    def check_first_step(self) -> None:
        """Fail unless a small layer, run step by step, agrees with computing all positions at once."""
        layer = self.student.decoder.TransformerDecoderLayer(*SMALL, KEPT)
        layer.load_state(small_weights(layer.shapes()))
        x = numbers(2, 3, SMALL[0])
        right = layer(x=x, encoder_out=x)
        self.assert_form(right, x.shape, "the output of all positions", "B T_d d_model")
        for cache, words in ((None, "without a cache"), (right[:, :-1], "without masks")):
            y = layer.forward_one_step_ec(x=x, encoder_out=x, cache=cache)
            self.assert_tensor(y, right, f"the output of a step {words}", "B T_d d_model")

    def check_translations(self) -> None:
        """Fail unless the trained model returns the same translations as the reference."""
        decoded, _ = self.translate()
        self.check_tokens(decoded, self.stored("sentences"))

    def check_tokens(self, decoded: list[Any], stored: dict[str, np.ndarray]) -> None:
        """Fail unless the tokens of all sentences match the stored tokens."""
        references = np.split(stored["decoded"], np.cumsum(stored["decoded_lengths"])[:-1])[: len(decoded)]
        for number, tokens in enumerate(decoded):
            if not isinstance(tokens, np.ndarray) or tokens.ndim != 1 or tokens.dtype.kind != "i":
                self.assert_tensor(tokens, references[number], f"decoded sentence {number + 1}", "T")
            if len(tokens) > MOST:
                self.wrong(f"decoded sentence {number + 1} has {len(tokens):,} tokens")
        self.compare_translations(decoded, references)

    def compare_translations(self, decoded: list[np.ndarray], references: list[np.ndarray]) -> None:
        """Fail unless all translations match their references, token by token."""
        self.checks += 1
        pairs = [(tokens.tolist(), reference.tolist()) for tokens, reference in zip(decoded, references, strict=True)]
        wrong = [number for number, (tokens, reference) in enumerate(pairs) if tokens != reference]
        if not wrong:
            return
        errors = sum(edit_distance(tokens, reference) for tokens, reference in pairs)
        tokens, reference = pairs[wrong[0]]
        rate = 100 * errors / sum(len(reference) for _, reference in pairs)
        self.wrong(
            f"{len(wrong)} of {len(pairs)} translations differ",
            f"The token error rate is {rate:.1f} %. The first difference is in sentence {wrong[0] + 1}:",
            f"expected  {reference}",
            f"got       {tokens}",
            actual=np.concatenate(decoded),
        )

    def test_decoder_inference_cache_extra_credit(self):
        """Return the cache: the outputs of every decoder layer, for each sentence."""
        with self.shown_by(self.check_tiny):
            _, caches = self.translate()
            self.check_caches(caches, self.stored("sentences"))

    def check_steps_of_all(self) -> None:
        """Fail unless a small decoder's steps, with and without a cache, agree with decoding all positions at once."""
        # The third layer reads the cache of the second layer.
        stack = self.student.decoder.TransformerDecoder(3, *SMALL, KEPT, False, None)
        stack.load_state(small_weights(stack.shapes()))
        x, cache = numbers(2, 3, SMALL[0]), None
        for T, known in ((1, False), (2, True), (3, True), (3, False)):
            mask = np.triu(np.ones((1, T, T)), 1)
            inputs = {"x": x[:, :T], "decoder_attention_mask": mask, "encoder_out": x}
            right = stack(**inputs)
            y, cache = self.items(stack.forward_one_step_ec(**inputs, cache=cache if known else None), 2, "a step")
            self.items(cache, 3, "new_cache")
            words = "with a cache" if known else f"without a cache, of {T} position{'s' * (T > 1)}"
            self.assert_tensor(y, right[:, -1:], f"y of a step {words}", "B one d_model")

    def check_new_list(self) -> None:
        """Fail if a step of a small decoder changes its arguments, like the list of caches, or keeps any of them."""
        stack = self.student.decoder.TransformerDecoder(2, *SMALL, KEPT, False, None)
        stack.load_state(small_weights(stack.shapes()))
        x = numbers(2, 3, SMALL[0])
        known = [x[:, :2].copy(), x[:, 1:].copy()]
        arguments = {"x": x, "encoder_out": x, "cache": known, "decoder_attention_mask": np.triu(np.ones((1, 3, 3)), 1)}
        arguments["decoder_padding_mask"] = np.array([[0, 1, 0], [0, 0, 0]])
        arguments["encoder_padding_mask"] = np.array([[0, 0, 0], [0, 0, 1]])
        self.keeps_arguments(stack, arguments, "forward_one_step_ec")
        check_forgets(self, stack.forward_one_step_ec, arguments)
        _, cache = self.items(stack.forward_one_step_ec(**arguments), 2, "a step")
        for number, (new, old) in enumerate(zip(self.items(cache, 2, "the new cache"), known, strict=True)):
            if not isinstance(new, np.ndarray) or not alike(new[:, :-1], old):
                self.wrong(f"new_cache[{number}] does not begin with the cache that was passed in for this layer")

    def check_caches(self, caches: list[Any], stored: dict[str, np.ndarray]) -> None:
        """Fail unless the caches of all sentences match the stored caches."""
        layers = range(int(stored["num_layers"]))
        for number, cache in enumerate(caches):
            name = f"the cache of sentence {number + 1}"
            self.items(cache, len(layers), name)
            for layer in layers:
                right = stored[f"cache.{number}.{layer}"]
                self.assert_tensor(cache[layer], right, f"{name}, layer {layer}", "1 T d_model")

    def check_tiny(self) -> None:
        """Fail unless a small model returns the correct tokens and caches for two short sentences."""
        stored = self.stored("tiny")
        model, _ = self.tiny_model(int(stored["eos_idx"]))
        decoded, caches = self.items(model.inference(**TINY_SENTENCES), 2, "inference")
        self.check_tokens(self.items(decoded, 2, "decoded"), stored)
        self.check_caches(self.items(caches, 2, "the list of caches"), stored)

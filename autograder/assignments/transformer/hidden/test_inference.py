"""Hidden tests for stage 5: greedy decoding with all possible endings, and single steps compared with full decoding."""

from typing import Any

import numpy as np

from autograder.assignments.transformer.hidden.models import CLEAR, ModelTestCase, padded
from autograder.grading.hidden_case import ReferenceFault, Twins

AXES = "B T_d d_model"
FAR = 1e3  # added to a token's score, it decides the prediction
LIMIT = 6  # the most tokens that the small models may predict
TRIES, SHARE = 3, 4  # a step may take a quarter of the time for all positions; the reference takes a twentieth


class TestInference(ModelTestCase):
    # Whole sentences

    def test_decoder_inference_outputs_extra_credit(self):
        """Check steps with all kinds of masks, sentences that end early, late or never, and other special tokens."""
        with self.part("one step"):
            self.check_layer_step()
            self.check_turns()
            self.check_time()
        with self.part("stack"):
            self.check_stack(no_encoder_attn=True, output_layer_size=None)
            self.check_stack(no_encoder_attn=False, output_layer_size=13)
        with self.part("translations"):
            self.check_translations()

    def check_translations(self) -> None:
        """Fail unless all kinds of sentences are decoded greedily."""
        config = self.config()
        model = self.both(lambda modules: modules.transformer.Transformer(**config))
        weights, batch = self.ends_in_the_middle(config, model)
        self.translate(config, model, batch, LIMIT)
        for shift in (FAR, -FAR):
            self.load(model, self.with_eos(config, weights, shift))
            self.translate(config, model, batch, self.pick(2, 3))
        arguments = {"src": batch["src"], "src_lengths": batch["src_lengths"], "max_output_length": 1}
        self.keeps_arguments(model.student, arguments, "inference")
        # Alternating limits and sentences, and an eos index that is not small.
        large = self.config(tgt_vocab_size=400, eos_idx=self.pick(263, 331, 399), num_layers=1)
        model = self.both(lambda modules: modules.transformer.Transformer(**large))
        weights = self.weights(model.reference)
        self.load(model, self.with_eos(large, weights, -FAR))
        short, long, other = (self.batch(large, B, T_e, 1) for B, T_e in ((1, 3), (2, 7), (1, 3)))
        for batch, limit in ((short, 2), (long, LIMIT), (other, 2), (short, 2)):
            self.translate(large, model, batch, limit)
        self.load(model, self.with_eos(large, weights, FAR))
        self.translate(large, model, short, 3)
        self.translate(vars(self.trained_config()), self.trained(), self.sentences(3), 30)

    def with_eos(self, config: dict[str, Any], weights: dict[str, np.ndarray], shift: float) -> dict[str, np.ndarray]:
        """The weights, changed so that eos has a different score."""
        bias = weights["decoder.output_layer.bias"].copy()
        bias[config["eos_idx"]] += shift
        return {**weights, "decoder.output_layer.bias": bias}

    def ends_in_the_middle(
        self, config: dict[str, Any], model: Twins
    ) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """Random weights (loaded into both models) and sentences, one of which ends before the limit.

        Without eos, the reference decodes up to the limit. Then the score of eos is raised just enough for eos
        to win late in one of the sentences.
        """
        for _ in range(20):
            weights, batch = self.weights(model.reference), self.batch(config, 3, 6, 1)
            self.load(model, self.with_eos(config, weights, -FAR))
            scores = self.decode(model, batch)
            rivals = scores.max(axis=-1) - scores[..., config["eos_idx"]] - FAR  # how far eos is behind at each step
            lowest = np.minimum.accumulate(rivals, axis=1)
            gain = lowest[:, 1:-2] - rivals[:, 2:-1]  # by how much a step is better for eos than all earlier steps
            row, step = np.unravel_index(gain.argmax(), gain.shape)
            if gain[row, step] > 10 * CLEAR:
                weights = self.with_eos(config, weights, (lowest[row, step + 1] + rivals[row, step + 2]) / 2)
                self.load(model, weights)
                return weights, batch
        raise ReferenceFault("found no sentence that ends in the middle")

    def decode(self, model: Twins, batch: dict[str, np.ndarray]) -> np.ndarray:
        """The reference's scores at every step, (B, T_d, tgt_vocab_size)."""

        def run(reference: Any) -> np.ndarray:
            decoded, _ = reference.inference(batch["src"], batch["src_lengths"], LIMIT)
            return self.score(reference, batch, decoded)

        scores: np.ndarray = self.right(run, model.reference)
        return scores

    def score(self, reference: Any, batch: dict[str, np.ndarray], decoded: list[np.ndarray]) -> np.ndarray:
        """The reference's scores for the token that follows each token except the last, (B, T_d, tgt_vocab_size)."""
        tgt, tgt_lengths = padded([sentence[:-1].tolist() for sentence in decoded])
        scores: np.ndarray = reference(batch["src"], tgt, batch["src_lengths"], tgt_lengths)
        return scores

    def translate(self, config: dict[str, Any], model: Twins, batch: dict[str, np.ndarray], limit: int) -> None:
        """Fail unless the student decodes greedily: each token is the best one, except at near ties."""
        src, src_lengths = batch["src"], batch["src_lengths"]
        result = model.student.inference(src=src, src_lengths=src_lengths, max_output_length=limit)
        decoded = self.items(self.items(result, 2, "inference")[0], len(src), "decoded")
        for number, sentence in enumerate(decoded, start=1):
            self.check_end(config, f"decoded sentence {number}", sentence, limit)
        for number, sentence in enumerate(decoded, start=1):
            self.checks += 1
            if sentence.min() < 0 or sentence.max() >= config["tgt_vocab_size"]:
                self.wrong(
                    f"decoded sentence {number} contains numbers that are not token indices", f"got       {sentence}"
                )
        tokens = [sentence.tolist() for sentence in decoded]
        scores = self.right(lambda reference: self.score(reference, batch, decoded), model.reference, given=tokens)
        for number, sentence in enumerate(decoded, start=1):
            self.checks += 1
            steps = scores[number - 1, : len(sentence) - 1]
            behind = steps.max(axis=-1) - np.take_along_axis(steps, sentence[1:, None], axis=-1)[:, 0]
            if behind.max() > CLEAR:
                step = int((behind > CLEAR).argmax())
                self.wrong(
                    f"decoded sentence {number} takes a token that does not have the highest score",
                    f"expected  {[*sentence[: step + 1].tolist(), int(steps[step].argmax())]} ...",
                    f"got       {sentence[: step + 2].tolist()} ...",
                    actual=sentence,
                )

    def check_end(self, config: dict[str, Any], name: str, sentence: Any, limit: int) -> None:
        """Fail unless a decoded sentence starts with sos and ends when it should."""
        self.checks += 1
        if not isinstance(sentence, np.ndarray) or sentence.ndim != 1 or sentence.dtype.kind != "i":
            shape = f" of shape {sentence.shape}" if isinstance(sentence, np.ndarray) else ""
            self.wrong(
                f"{name} is not a one-dimensional tensor of tokens", f"got       {type(sentence).__name__}{shape}"
            )
        got = f"got       {sentence[: limit + 5].tolist()}"
        if len(sentence) == 0 or sentence[0] != config["sos_idx"]:
            self.wrong(f"{name} does not start with sos_idx = {config['sos_idx']}", got)
        if len(sentence) > limit + 1:
            self.wrong(f"{name} has more than max_output_length = {limit} predicted tokens", got)
        end = f"eos_idx = {config['eos_idx']}"
        if (sentence[1:-1] == config["eos_idx"]).any():
            self.wrong(f"{name} continues after {end}", got)
        if len(sentence) <= limit and sentence[-1] != config["eos_idx"]:
            self.wrong(f"{name} ends before max_output_length = {limit} without {end}", got)

    # Single steps

    def test_decoder_inference_cache_extra_credit(self):
        """Check the caches that `inference` returns for sentences of other lengths."""
        self.check_caches()

    def step_masks(self, B: int, T: int) -> tuple[np.ndarray, np.ndarray]:
        """A causal mask, and a padding mask that matters because the padding is between the tokens."""
        padding = self.rng.choice((0, 0, 1), size=(B, T))
        padding[:, 0] = padding[:, -1] = 0
        return padding, np.triu(np.ones((1, T, T), dtype=np.int64), k=1)

    def source(self, B: int, T_e: int, d_model: int) -> dict[str, np.ndarray]:
        """A random encoder output, with its padding mask."""
        mask = self.padding(self.lengths(B, T_e), T_e)
        return {"encoder_out": self.transposed(B, T_e, d_model), "encoder_padding_mask": mask}

    def check_layer_step(self) -> None:
        """Fail unless one step of a layer appends the correct position to the cache."""
        d_model, d_ff, H = self.layer_sizes()
        layer = self.twins(lambda modules: modules.decoder.TransformerDecoderLayer(d_model, d_ff, H, 0.1))
        T = 5
        x, source = self.random(H, T, d_model), self.source(H, T + self.pick(1, 2), d_model)
        padding, causal = self.step_masks(H, T)
        real = (padding == 0)[..., None]

        # Step by step, from the first position.
        cache = None
        for t in range(1, T + 1):
            masks = {"self_attn_padding_mask": padding[:, :t], "self_attn_mask": causal[:, :t, :t]}
            cache = layer.student.forward_one_step_ec(x[:, :t], **source, **masks, cache=cache)
            self.assert_form(cache, (H, t, d_model), f"the output of step {t}", AXES)
        at_once = self.right(lambda reference: reference(x, **source, **masks), layer.reference)
        wrong = "decoding step by step differs from decoding all positions at once"
        self.unchanged(cache, at_once, wrong, "the output of the last step", AXES, real)

        # One step with masks that never occur in decoding, and a random cache, to show whether it is used.
        some = self.rng.choice((0, 1), size=(H, T, T)) * (np.arange(T) > 0)
        some[:, -1, 1] = 1
        known = self.random(H, T - 1, d_model)
        encoder_out = source["encoder_out"]
        for step in (
            {**source, "self_attn_mask": some, "cache": known},
            {**source, "self_attn_padding_mask": padding != 0, "cache": known},
            {**source, "self_attn_padding_mask": padding, "self_attn_mask": some, "cache": None},
            {"encoder_out": encoder_out, "cache": known},
        ):
            where = real if "self_attn_padding_mask" in step else None
            name = "the output of a first step" if step["cache"] is None else "the output of one step"
            self.one_step(layer, {"x": x, **step}, name, where)
        arguments = {"x": x, **source, "self_attn_mask": some, "cache": known}
        self.keeps_arguments(layer.student, arguments, "forward_one_step_ec")

    def one_step(self, layer: Twins, arguments: dict[str, Any], name: str, where: np.ndarray | None) -> None:
        """Fail unless one step of a layer is correct."""
        self.same(lambda model: model.forward_one_step_ec(**arguments), layer, name, AXES, where)

    def check_time(self) -> None:
        """Fail if a step with a cache takes as long as computing all positions, measured by the system clock.

        In the visible test, the worker counts rows. Student code can forge that count, or compute without torch.
        Here nearly all the work is in the feed-forward network, which a step applies to one position. Each try uses new
        inputs, so that no earlier result can be reused. Only the fastest try counts, since the processor may be busy.
        """
        d_model, d_ff, H, T = 32, 12288, 2, 300
        layer = self.twins(lambda modules: modules.decoder.TransformerDecoderLayer(d_model, d_ff, H, 0.1, True))
        whole, steps = [], []
        for _ in range(TRIES):
            x, known = self.random(1, T, d_model), self.random(1, T - 1, d_model)
            step = {"x": x, "cache": known}
            (_, seconds), right = self.right(
                lambda model: (model.timed(x=x), model.forward_one_step_ec(**step)),  # noqa: B023
                layer.reference,
            )
            whole.append(seconds)
            y, seconds = layer.student.timed("forward_one_step_ec", **step)
            steps.append(seconds)
            self.assert_tensor(y, right, "the output of one step", AXES)
        self.checks += 1
        if self.beside_only or not min(whole) or min(steps) < min(whole) / SHARE:
            return
        self.wrong(
            "the output of one step is right, but the step takes as long as computing all positions",
            f"got       {1e3 * min(steps):.0f} ms of processor time; {T} positions take {1e3 * min(whole):.0f} ms",
        )

    def check_stack(self, no_encoder_attn: bool, output_layer_size: int | None) -> None:
        """Fail unless one step of the stack returns the last position and a new list of caches."""
        d_model, d_ff, H = self.layer_sizes()
        L, T = 2, 3
        stack = self.twins(
            lambda modules: modules.decoder.TransformerDecoder(
                L, d_model, d_ff, H, 0.1, no_encoder_attn, output_layer_size
            )
        )
        x, source = self.random(H, T, d_model), {} if no_encoder_attn else self.source(H, T + 1, d_model)
        padding, causal = self.step_masks(H, T)
        real = (padding == 0)[..., None]
        cache: Any = None
        for t in range(1, T + 1):
            masks = {"decoder_padding_mask": padding[:, :t], "decoder_attention_mask": causal[:, :t, :t]}
            arguments: dict[str, Any] = {"x": x[:, :t], **source, **masks}
            cache = self.step(stack, {**arguments, "cache": cache}, L, real[:, :t])
        self.step(stack, {**arguments, "cache": None}, L, real)
        # A random cache, to show whether it is used.
        arguments["cache"] = [self.random(H, T - 1, d_model) for _ in range(L)]
        if source:
            arguments |= self.source(H, T + 1, d_model)
        self.step(stack, arguments, L, real)
        self.keeps_arguments(stack.student, arguments, "forward_one_step_ec")

    def step(self, stack: Twins, arguments: dict[str, Any], L: int, real: np.ndarray) -> list[np.ndarray]:
        """Fail unless both results of a step are correct; return the reference's new cache.

        The student's cache may contain anything at padded positions, which would spoil the next expected values.
        """
        expected, expected_cache = self.right(
            lambda reference: reference.forward_one_step_ec(**arguments), stack.reference
        )
        y, new_cache = self.items(stack.student.forward_one_step_ec(**arguments), 2, "forward_one_step_ec")
        self.assert_tensor(y, expected, "y", "B 1 features", real[:, -1:])
        tensors: list[np.ndarray] = self.items(new_cache, L, "new_cache")
        for layer, right in enumerate(expected_cache):
            self.assert_tensor(tensors[layer], right, f"new_cache[{layer}]", AXES, real)
        right_cache: list[np.ndarray] = expected_cache
        return right_cache

    def check_caches(self) -> None:
        """Fail unless `inference` returns the caches of the last step, for sentences of different lengths."""
        config = self.config(num_layers=self.pick(1, 3))
        model = self.both(lambda modules: modules.transformer.Transformer(**config))
        _, batch = self.ends_in_the_middle(config, model)
        arguments = {"src": batch["src"], "src_lengths": batch["src_lengths"], "max_output_length": LIMIT}
        decoded, expected = self.right(lambda reference: reference.inference(**arguments), model.reference)
        scores = np.sort(self.right(lambda reference: self.score(reference, batch, decoded), model.reference), axis=-1)
        result = self.items(model.student.inference(**arguments), 2, "inference")
        caches = self.items(result[1], len(decoded), "the list of caches")
        for number, (sentence, cache, right) in enumerate(zip(decoded, caches, expected, strict=True)):
            if (scores[number, : len(sentence) - 1, -1] - scores[number, : len(sentence) - 1, -2]).min() < CLEAR:
                continue  # a near tie: the student's sentence may differ
            name = f"the cache of sentence {number + 1}"
            self.items(cache, len(right), name)
            for layer, (actual, tensor) in enumerate(zip(cache, right, strict=True)):
                self.assert_tensor(actual, tensor, f"{name}, layer {layer}", "1 T d_model")

    def check_turns(self) -> None:
        """Fail unless a layer's steps are correct for alternating short and long batches."""
        d_model, d_ff, H = self.layer_sizes()
        layer = self.twins(lambda modules: modules.decoder.TransformerDecoderLayer(d_model, d_ff, H, 0.1))
        for lengths, mask in self.in_turn():
            B, T = len(lengths), max(lengths)
            step = {
                "x": self.random(B, T, d_model),
                "encoder_out": self.random(B, T, d_model),
                "encoder_padding_mask": self.padding(lengths, T),
                "self_attn_padding_mask": self.padding(lengths, T),
                "self_attn_mask": mask,
                "cache": self.random(B, T - 1, d_model),
            }
            self.one_step(layer, step, "the output of one step", None)

"""Hidden tests for stage 4: the decoder layer with all its masks, small models, and other sentence pairs."""

from typing import Any

import numpy as np

from autograder.assignments.transformer.hidden.models import CLEAR, ModelTestCase
from autograder.assignments.transformer.trained import SMALL, small_arguments
from autograder.grading.graded_case import inside
from autograder.grading.hidden_case import Twins

AXES, SCORES = "B T_d d_model", "B T_d tgt_vocab_size"


class TestDecoder(ModelTestCase):
    # Whole models: the predictions, and what they may depend on

    def test_encoder_decoder_predictions(self):
        """Check the layer with all kinds of masks, its dropout, the stack, and the inputs that affect predictions."""
        sizes = self.layer_sizes()

        def build(modules: Any, dropout_prob: float) -> Any:
            return modules.decoder.TransformerDecoderLayer(*sizes, dropout_prob)

        with self.part("layer"):
            self.check_decoder_layer(sizes[0], sizes[2], self.twins(lambda modules: build(modules, 0.3)))
            self.check_stack()
        with self.part("masks"):
            small = self.student.decoder.TransformerDecoderLayer
            self.check_layer_masks(lambda p: small(*SMALL, p), small_arguments(decoder=True))
        with self.part("dropout"):
            self.needs("layer")
            self.check_training(sizes[0], build)
        with self.part("model"):
            self.check_predictions()

    def check_predictions(self) -> None:
        """Fail unless predictions are correct and depend only on earlier, non-padding tokens."""
        config = self.config()
        model = self.transformer(config)
        small, large = self.sizes(2)
        for B, T_e, T_d in ((config["num_heads"], small, large), (1, small, 1)):
            self.predict(model, self.batch(config, B, T_e, T_d))
        other = self.config(num_heads=1, num_layers=1)
        self.predict(self.transformer(other), self.batch(other, small, large, other["max_seq_length"]))
        self.check_dependence(config, model)
        self.predict(self.trained(), self.sentences(4))

    def predict(self, model: Twins, batch: dict[str, np.ndarray]) -> None:
        """Fail unless all predicted tokens are correct, except at near ties."""
        expected = self.right(lambda reference: reference(**batch), model.reference)
        actual = self.scores_of(model.student, batch)
        self.assert_form(actual, expected.shape, "the scores", SCORES)
        best = np.sort(expected, axis=-1)
        clear = inside(batch["tgt_lengths"]) & (best[..., -1] - best[..., -2] > CLEAR)
        self.assert_tensor(actual.argmax(axis=-1), expected.argmax(axis=-1), "the next tokens", "B T_d", where=clear)

    def scores_of(self, model: Any, batch: dict[str, np.ndarray]) -> Any:
        """The scores of a whole model; the decoder is called separately, so that no stand-in can replace it."""
        source = self.items(model.forward_encoder(batch["src"], batch["src_lengths"]), 2, "forward_encoder")
        return model.forward_decoder(*source, batch["tgt"], batch["tgt_lengths"])

    def check_dependence(self, config: dict[str, Any], model: Twins) -> None:
        """Fail if scores depend on hidden tokens, in evaluation mode or in training mode."""
        student, T = model.student, 8
        shape = (3, T, config["tgt_vocab_size"])
        batch = self.batch(config, 3, 7, T)
        real = inside(batch["tgt_lengths"])[..., None]
        later = {**batch, "tgt": np.where(np.arange(T) < T // 2, batch["tgt"], (batch["tgt"] + 1) % 40)}
        earlier = real & (np.arange(T) < T // 2)[:, None]
        padding = {**batch, "src": np.where(inside(batch["src_lengths"]), batch["src"], (batch["src"] + 1) % 40)}

        scores = self.scores_of(student, batch)
        self.assert_form(scores, shape, "the scores", SCORES)
        wrong = "changing later tokens changes the scores at earlier positions"
        self.unchanged(self.scores_of(student, later), scores, wrong, "the scores", SCORES, earlier)
        wrong = "different tokens in the padding of the source change the scores"
        self.unchanged(self.scores_of(student, padding), scores, wrong, "the scores", SCORES, real)
        alone = {name: value[:1] for name, value in batch.items()}
        alone["src"], alone["tgt"] = (alone[side][:, : int(alone[f"{side}_lengths"][0])] for side in ("src", "tgt"))
        part = scores[:1, : alone["tgt"].shape[1]]
        wrong = "a sentence pair has different scores alone and in a batch"
        self.unchanged(self.scores_of(student, alone), part, wrong, "the scores", SCORES)

        student.train()
        self.seed_student("training")
        scores = self.scores_of(student, batch)
        self.assert_form(scores, shape, "the scores", SCORES)
        self.seed_student("training")
        wrong = "in training mode, changing later tokens changes the scores at earlier positions"
        self.unchanged(self.scores_of(student, later), scores, wrong, "the scores", SCORES, earlier)

    # Scores: exact values

    def test_encoder_decoder_states(self):
        """Check the scores for small models and other sentences, and their gradients."""
        self.check_scores()

    def check_decoder_layer(self, d_model: int, H: int, layer: Twins) -> None:
        """Fail unless the layer's behaviour in evaluation mode matches its docstring."""
        T_d, T_e = self.sizes(2)
        x, lengths = self.transposed(H, T_d, d_model), self.lengths(H, T_d)
        real = inside(lengths)[..., None]
        padding = {"self_attn_padding_mask": self.padding(lengths, T_d)}
        causal = {"self_attn_mask": np.triu(np.ones((1, T_d, T_d), dtype=np.int64), k=1)}
        # Each sentence has its own mask, and every position keeps at least one key.
        own = {"self_attn_mask": self.rng.choice((0, 1), size=(H, T_d, T_d)) * (np.arange(T_d) > 0)}
        source = {
            "encoder_out": self.transposed(H, T_e, d_model),
            "encoder_padding_mask": self.padding(self.lengths(H, T_e), T_e),
        }

        def run(masks: dict[str, np.ndarray], words: str, where: Any = None) -> np.ndarray:
            return self.same(lambda model: model(x, **source, **masks), layer, f"the output {words}", AXES, where)

        # Without a causal mask, the padding of the target matters.
        y = run(padding, "with a padding mask and no causal mask", real)
        changed = layer.student(np.where(real, x, 10 * self.random(*x.shape)), **source, **padding)
        wrong = "without a causal mask, changing the target's padding changes real positions"
        self.unchanged(changed, y, wrong, "the output", AXES, real)
        y = run(causal, "with a causal mask and no padding mask")
        early = (np.arange(T_d) < T_d // 2)[:, None]
        changed = layer.student(np.where(early, x, self.random(*x.shape)), **source, **causal)
        self.unchanged(changed, y, "changing later positions changes earlier positions", "the output", AXES, early)
        flags = {"self_attn_padding_mask": padding["self_attn_padding_mask"] != 0}
        run({**flags, **own}, "with a separate mask for each sentence", real)
        run({**padding, **causal}, "with padding mask and causal mask", real)
        self.check_source(layer, x, source, causal)

        arguments = {"x": x, **source, **padding, **causal}
        self.keeps_arguments(layer.student, arguments)
        self.same_gradients(layer, arguments, self.random(*x.shape) * real, "B T d_model")
        for lengths, mask in self.in_turn():
            arguments = self.both_masks(lengths, mask, d_model)
            self.same(lambda model: model(**arguments), layer, "the output", AXES)  # noqa: B023
        end = (np.arange(T_e) == T_e - 1).astype(np.int64)[None]
        alone = {"encoder_out": source["encoder_out"][:1], "encoder_padding_mask": end}
        name = "the output for one sentence whose source has padding"
        self.same(lambda model: model(x[:1], **alone, **causal), layer, name, AXES)
        self.check_small_features(
            layer, lambda model: model(1e-3 * x, encoder_out=1e-3 * source["encoder_out"], **causal), AXES
        )

    def check_training(self, d_model: int, build: Any) -> None:
        """Fail unless dropout is applied where it should be."""
        lengths = self.lengths(3, 5)
        arguments = self.both_masks(lengths, np.triu(np.ones((1, 5, 5), dtype=np.int64), k=1), d_model)
        self.same_dropout(build, lambda model: model(**arguments), AXES, inside(lengths)[..., None])

    def both_masks(self, lengths: np.ndarray, mask: np.ndarray, d_model: int) -> dict[str, np.ndarray]:
        """Arguments for a layer, with both target masks; the source has the same lengths as the target."""
        B, T = len(lengths), max(lengths)
        return {
            "x": self.random(B, T, d_model),
            "encoder_out": self.random(B, T, d_model),
            "encoder_padding_mask": self.padding(lengths, T),
            "self_attn_padding_mask": self.padding(lengths, T),
            "self_attn_mask": mask,
        }

    def check_source(
        self, layer: Twins, x: np.ndarray, source: dict[str, np.ndarray], causal: dict[str, np.ndarray]
    ) -> None:
        """Fail unless cross-attention sees the source's non-padding positions, or all positions if there is no mask."""
        y = self.same(lambda model: model(x, **source, **causal), layer, "the output with a source", AXES)
        padding = source["encoder_padding_mask"][..., None] != 0
        noise = 10 * self.random(*source["encoder_out"].shape)
        noisy = {**source, "encoder_out": np.where(padding, noise, source["encoder_out"])}
        wrong = "changing the source's padding changes the output"
        self.unchanged(layer.student(x, **noisy, **causal), y, wrong, "the output", AXES)
        encoder_out = source["encoder_out"]
        self.same(lambda model: model(x, encoder_out=encoder_out), layer, "the output without masks", AXES)

    def check_stack(self) -> None:
        """Fail unless a stack without cross-attention but with an output layer returns correct values and gradients."""
        d_model, d_ff, H = self.layer_sizes()
        B, T_d = self.sizes(2)
        stack = self.twins(
            lambda modules: modules.decoder.TransformerDecoder(2, d_model, d_ff, H, 0.3, True, output_layer_size=9)
        )
        x, lengths = self.random(B, T_d, d_model), self.lengths(B, T_d)
        masks = {
            "decoder_padding_mask": self.padding(lengths, T_d),
            "decoder_attention_mask": np.triu(np.ones((1, T_d, T_d), dtype=np.int64), k=1),
        }
        real = inside(lengths)[..., None]
        self.same(lambda model: model(x, **masks), stack, "the output", "B T_d features", real)
        self.same_gradients(stack, {"x": x, **masks}, self.random(B, T_d, 9) * real, "B T d_model")

    def check_scores(self) -> None:
        """Fail unless `forward_decoder` is correct for a small model in training mode and for the trained model."""
        config = self.config(dropout_prob=0.0)
        model = self.train(self.transformer(config))
        B, T_e, T_d = config["num_heads"], 6, config["max_seq_length"]
        batch = self.batch(config, B, T_e, T_d)
        tgt, lengths = batch["tgt"], batch["tgt_lengths"]
        memory = self.transposed(B, T_e, config["d_model"])
        mask = self.padding(batch["src_lengths"], T_e)
        arguments = {"enc_output": memory, "src_padding_mask": mask, "tgt": tgt, "tgt_lengths": lengths}
        real = inside(lengths)[..., None]
        name = "the scores in training mode, with a dropout of 0,"
        self.same(lambda model: model.forward_decoder(**arguments), model, name, SCORES, real)
        output = self.random(B, T_d, config["tgt_vocab_size"]) * real
        self.same_gradients(model, arguments, output, "B T d_model", "forward_decoder")
        self.keeps_arguments(model.student, arguments, "forward_decoder")
        model = self.transformer(config)
        for lengths, _ in self.in_turn():
            self.scores(model, lengths, config)
        # The sentence contains all tokens of the vocabulary: no token is always padding.
        config = self.config(max_seq_length=90, num_layers=1)
        self.scores(self.transformer(config), np.array([80]), config)

        model, batch = self.trained(), self.sentences(4)
        tgt, lengths = batch["tgt"], batch["tgt_lengths"]
        enc_output, src_padding_mask = self.right(
            lambda reference: reference.forward_encoder(batch["src"], batch["src_lengths"]), model.reference
        )
        self.same(
            lambda model: model.forward_decoder(enc_output, src_padding_mask, tgt, lengths),
            model,
            "the scores",
            SCORES,
            inside(lengths)[..., None],
        )

    def scores(self, model: Twins, lengths: np.ndarray, config: dict[str, Any]) -> None:
        """Shorten the source by one token; fail unless `forward_decoder` is correct at non-padding positions."""
        B, T = len(lengths), max(lengths)
        arguments = {
            "enc_output": self.random(B, T, config["d_model"]),
            "src_padding_mask": self.padding(np.maximum(lengths - 1, 1), T),
            "tgt": np.resize(self.rng.permutation(config["tgt_vocab_size"]), (B, T)),
            "tgt_lengths": lengths,
        }
        real = inside(lengths)[..., None]
        self.same(lambda model: model.forward_decoder(**arguments), model, "the scores", SCORES, real)

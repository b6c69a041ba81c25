"""Hidden tests for stage 3: the encoder layer, the stack and `forward_encoder` at other sizes, and other sentences."""

from typing import Any

import numpy as np

from autograder.assignments.transformer.hidden.models import ModelTestCase
from autograder.assignments.transformer.trained import SMALL, small_arguments
from autograder.grading.graded_case import inside
from autograder.grading.hidden_case import Twins

AXES = "B T d_model"


class TestEncoder(ModelTestCase):
    def test_encoder_output(self):
        """Check the layer with masks, dropout and gradients, the stack, small models, and other sentences."""
        sizes = self.layer_sizes()

        def build(modules: Any, dropout_prob: float) -> Any:
            return modules.encoder.TransformerEncoderLayer(*sizes, dropout_prob)

        with self.part("layer"):
            self.check_encoder_layer(sizes[0], sizes[2], self.twins(lambda modules: build(modules, 0.3)))
            self.check_stack()
        with self.part("padding"):
            small = self.student.encoder.TransformerEncoderLayer
            self.check_layer_masks(lambda p: small(*SMALL, p), small_arguments())
        with self.part("dropout"):
            self.needs("layer")
            self.check_training(sizes[0], build)
        with self.part("model"):
            self.check_model()
            self.check_sentences()

    def check_encoder_layer(self, d_model: int, H: int, layer: Twins) -> None:
        """Fail unless the layer's behaviour in evaluation mode matches its docstring."""
        (T,) = self.sizes(1)
        x, lengths = self.transposed(H, T, d_model), self.lengths(H, T)
        mask, real = self.padding(lengths, T), inside(lengths)[..., None]

        y = self.same(lambda model: model(x, self_attn_padding_mask=mask), layer, "the output", AXES, real)
        flags = mask != 0
        self.same(lambda model: model(x, self_attn_padding_mask=flags), layer, "the output with booleans", AXES, real)
        self.same(lambda model: model(x[:1]), layer, "the output without a mask", AXES)
        other = layer.student(np.where(real, x, 10 * self.random(*x.shape)), self_attn_padding_mask=mask)
        self.unchanged(other, y, "changing the padding changes real positions", "the output", AXES, real)
        arguments = {"x": x, "self_attn_padding_mask": mask}
        self.keeps_arguments(layer.student, arguments)
        self.same_gradients(layer, arguments, self.random(*x.shape) * real, AXES)
        for lengths, _ in self.in_turn():
            self.encodes(layer, self.random(len(lengths), max(lengths), d_model), lengths)
        end = (np.arange(T) == T - 1).astype(np.int64)[None]
        name, alone = "the output for one sentence with padding", end[..., None] == 0
        self.same(lambda model: model(x[:1], self_attn_padding_mask=end), layer, name, AXES, alone)
        self.check_small_features(layer, lambda model: model(1e-3 * x), AXES)

    def check_training(self, d_model: int, build: Any) -> None:
        """Fail unless dropout is applied where it should be."""
        lengths = self.lengths(3, 6)
        x, mask, real = self.random(3, 6, d_model), self.padding(lengths, 6), inside(lengths)[..., None]
        self.same_dropout(build, lambda model: model(x, self_attn_padding_mask=mask), AXES, real)

    def encodes(self, layer: Twins, x: np.ndarray, lengths: np.ndarray) -> None:
        """Fail unless a layer is correct at non-padding positions."""
        mask, real = self.padding(lengths, x.shape[1]), inside(lengths)[..., None]
        self.same(lambda model: model(x, self_attn_padding_mask=mask), layer, "the output", AXES, real)

    def check_stack(self) -> None:
        """Fail unless the stack is correct; without positions, token order must not affect the result."""
        d_model, d_ff, H = self.layer_sizes()
        stack = self.twins(
            lambda modules: modules.encoder.TransformerEncoder(
                2, d_model, d_ff, H, dropout_prob=0.2, output_layer_size=9
            )
        )
        B, T = self.sizes(2, low=3)
        x, lengths = self.random(B, T, d_model), self.lengths(B, T)
        mask, real = self.padding(lengths, T), inside(lengths)[..., None]
        y = self.same(lambda model: model(x, encoder_padding_mask=mask), stack, "the output", "B T features", real)
        order = self.rng.permutation(T)
        moved = stack.student(x[:, order], encoder_padding_mask=mask[:, order])
        wrong = "the encoder depends on the order of the tokens, although no positions were added"
        self.unchanged(moved, y[:, order], wrong, "the output", "B T features", real[:, order])

    def check_model(self) -> None:
        """Fail unless `forward_encoder` is correct for small models, up to the longest possible sentence."""
        config = self.config()
        model, T, B = self.transformer(config), config["max_seq_length"], config["num_heads"]
        self.encode(model, self.rng.integers(40, size=(B, T)), self.lengths(B, T))
        src, lengths = self.rng.integers(40, size=(8, 8)), np.array([5, 8, 3, 8, 1, 2, 6, 7])
        real = inside(lengths)
        enc_output = self.encode(model, src, lengths)
        other = np.where(real, src, (src + 1) % 40)
        after, _ = self.items(model.student.forward_encoder(other, lengths), 2, "forward_encoder")
        wrong = "different tokens in the padding change real positions"
        self.unchanged(after, enc_output, wrong, "enc_output", "B T_e d_model", real[..., None])
        alone, _ = self.items(model.student.forward_encoder(src[:1, :5], lengths[:1]), 2, "forward_encoder")
        wrong = "a sentence has different results alone and in a batch"
        self.unchanged(alone, enc_output[:1, :5], wrong, "enc_output", "B T_e d_model")
        outputs = [self.random(*enc_output.shape) * real[..., None], np.zeros(real.shape)]
        arguments = {"src": src, "src_lengths": lengths}
        self.same_gradients(model, arguments, outputs, "B T d_model", "forward_encoder")
        self.keeps_arguments(model.student, arguments, "forward_encoder")
        # A batch of sentences of the same length has a mask too.
        for lengths in (*(lengths for lengths, _ in self.in_turn()), np.array([3, 3]), np.array([5])):
            self.encode(model, self.rng.integers(40, size=(len(lengths), max(lengths))), lengths)
        # The sentence contains all tokens of the vocabulary: no token is always padding.
        long = self.transformer(self.config(max_seq_length=90, num_layers=1))
        self.encode(long, np.resize(self.rng.permutation(40), (1, 80)), np.array([80]))
        training = self.train(self.transformer(self.config(num_layers=1, num_heads=1, dropout_prob=0.0)))
        lengths = np.array([5, 8, 3, 8, 1, 2, 6, 7])
        self.encode(training, src, lengths, "enc_output in training mode, with a dropout of 0,")

    def encode(self, model: Twins, src: np.ndarray, src_lengths: np.ndarray, name: str = "enc_output") -> np.ndarray:
        """Fail unless both results of `forward_encoder` are correct; return the output."""
        real = inside(src_lengths)
        result = self.items(model.student.forward_encoder(src, src_lengths), 2, "forward_encoder")
        expected, _ = self.right(lambda reference: reference.forward_encoder(src, src_lengths), model.reference)
        # The mask comes first: a wrong mask spoils the output.
        mask = result[1] != 0 if isinstance(result[1], np.ndarray) else result[1]
        self.assert_tensor(mask, ~real, "src_padding_mask", "B T_e")
        self.assert_tensor(result[0], expected, name, "B T_e d_model", real[..., None])
        enc_output: np.ndarray = result[0]
        return enc_output

    def check_sentences(self) -> None:
        """Fail unless the trained encoder is correct for our sentences."""
        sentences = self.sentences(10)
        self.encode(self.trained(), sentences["src"], sentences["src_lengths"])

"""Code shared by visible and hidden tests of models: the trained German-English model and checks of dropout."""

import contextlib
import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from autograder.diagnosis.compare_tensors import LIMITS, Incorrect, Wrong, compare, compare_own, wrong_form
from autograder.grading.graded_case import StageTestCase, shape_of
from autograder.grading.stored_tensors import read_tensors
from autograder.sandbox.remote_modules import ObjectProxy, Student
from autograder.sandbox.student_faults import Raised
from course.config import CONFIG, WEIGHTS, ModelConfig
from course.location import checkpoints

CHECKPOINT = "de-en"
COSINES = "cosines of the same angles"  # a part of the test of position tables; the angles are those of the sines
ENCODING_LIMIT = 1e-3  # for the student's own position table, which may be computed in float32
SMALL = (12, 20, 2)  # d_model, d_ff and the number of heads of a small layer
MASK = np.array([[0, 0, 0, 0, 0], [0, 0, 0, 1, 1]])  # its padding mask
KEPT = 0.2  # a dropout probability that keeps most elements, and rescales them
WIDE, LONG = 331, 48  # d_ff and the length of a sentence whose last step is measured
# A dropout probability that drops every element, whatever draws the random numbers: of the fewer than 10,000 elements
# that a check drops, the probability that any is kept is below 1e-9.
DROPPED = 1 - 1e-13
# A model small enough that its decoding can be traced and repeated, and two sentences, one of them padded.
TINY: dict[str, Any] = {"src_vocab_size": 11, "tgt_vocab_size": 17, "sos_idx": 1, "d_model": 12, "num_heads": 2}
TINY |= {"num_layers": 2, "d_ff": 20, "max_seq_length": 16, "dropout_prob": KEPT}
TINY_SENTENCES: dict[str, Any] = {"src": np.array([[3, 7, 4, 2], [5, 9, 0, 0]]), "src_lengths": np.array([4, 2])}
TINY_SENTENCES |= {"max_output_length": 4}
# The padding mask of the target: the causal mask does not hide the padded key from the real token after it.
WITH_HOLE = np.array([[0, 0, 0, 0, 0], [0, 1, 0, 1, 1]])
SUBLAYERS = {  # the linear layer that each sub-layer ends with
    "self-attention": "self_attn.W_o",
    "cross-attention": "encoder_attn.W_o",
    "feed-forward network": "fc2",
}


@functools.cache  # a class needs them for every student
def numbers(*shape: int, name: str = "") -> np.ndarray:
    """Read-only standard normal numbers that depend only on the shape and the name."""
    values = np.random.Generator(np.random.PCG64((*name.encode(), *shape))).standard_normal(shape)
    values.flags.writeable = False
    return values


def small_weights(shapes: Mapping[str, tuple[int, ...]]) -> dict[str, np.ndarray]:
    """The weights of a small layer; each depends on its name, so that the use of a wrong submodule is detected."""
    return {name: numbers(*shape, name=name) / np.sqrt(max((1, *shape[-1:]))) for name, shape in shapes.items()}


def tiny_weights(shapes: Mapping[str, tuple[int, ...]]) -> dict[str, np.ndarray]:
    """Weights of a small model whose embeddings outweigh its biases, so that predictions vary from step to step."""

    def scaled(name: str, value: np.ndarray) -> np.ndarray:
        if "embedding" in name:
            return value * 8
        if name.endswith("norm.weight"):
            return value + 1
        return value * 0.3 if name.endswith("bias") and "output_layer" not in name else value

    return {name: scaled(name, value) for name, value in small_weights(shapes).items()}


def small_arguments(decoder: bool = False, step: bool = False) -> dict[str, np.ndarray]:
    """The arguments for a small encoder or decoder layer: 2 sentences of 5 tokens, one with padding.

    With `step`, the padding comes first, since one step computes the last position. The attention mask then forbids
    that position one more key than a causal mask does.
    """
    x = numbers(2, 5, SMALL[0])
    if not decoder:
        return {"x": x, "self_attn_padding_mask": MASK}
    causal = np.triu(np.ones((1, 5, 5), dtype=np.int64), k=1)
    if step:
        causal[:, -1, 2] = 1
    return {
        "x": x,
        "encoder_out": x[::-1].copy(),
        "encoder_padding_mask": MASK,
        "self_attn_padding_mask": MASK[:, ::-1].copy() if step else WITH_HOLE,
        "self_attn_mask": causal,
    }


def check_columns(case: StageTestCase, table: Any, right: np.ndarray, name: str, odd: bool) -> None:
    """Fail unless the even (or the odd) columns of a position table are correct.

    The odd columns need only be the cosines of the angles whose sines are in the even columns, so that wrong angles
    cost points only once.
    """
    columns = np.arange(right.shape[-1]) % 2 == odd
    try:
        case.assert_tensor(table, right, name, "1 max_seq_length d_model", columns, limit=ENCODING_LIMIT)
    except Incorrect:
        # No table in half precision is accepted, whatever its angles.
        if not odd or shape_of(table) != right.shape or table.dtype.itemsize < 4 or not are_turning(table[0]):
            raise


def are_turning(table: np.ndarray) -> bool:
    """Whether each pair of columns is a point on the unit circle that turns by the same angle from row to row."""
    pairs = table.shape[1] // 2
    points = table[:, 1 : 2 * pairs : 2] + 1j * table[:, 0 : 2 * pairs : 2]
    turned = np.abs(points[1:] * points[:1] - points[:-1] * points[1:2]).max()
    return bool(max(turned, np.abs(np.abs(points) - 1).max()) < 0.01 < np.abs(points[1] - points[0]).max())


def check_buffer(case: StageTestCase, encoding: ObjectProxy, x: np.ndarray) -> None:
    """Fail unless the position table is saved with the model and not trained."""
    case.checks += 1
    trained = False
    with contextlib.suppress(Raised):  # in-place code is reported elsewhere
        trained = bool(encoding.gradients([x], x).parameters)
    if trained:
        case.wrong("the table is trained", "It is a buffer: the model learns everything else, but not positions.")
    if "pe" not in encoding.shapes():
        saved = "Saving a model stores its state_dict, and this table is missing from it."
        case.wrong("the table pe is not saved with the model", saved)


class TrainedTestCase(StageTestCase):
    """A test of the student's Transformer with the weights of the checkpoint."""

    def trained_config(self) -> ModelConfig:
        """The configuration of the checkpoint."""
        return ModelConfig.load(checkpoints() / CHECKPOINT / CONFIG)

    def trained_transformer(self, student: Student | None = None) -> Any:
        """The student's Transformer with the weights of the checkpoint, created once for all tests of a stage."""
        student = student or self.student
        if CHECKPOINT not in student.kept:
            model = student.transformer.Transformer(**vars(self.trained_config()))
            read_tensors(checkpoints() / CHECKPOINT / WEIGHTS)  # raises if anything is wrong with the file
            model.load_state({}, stored=CHECKPOINT)
            student.kept[CHECKPOINT] = model
        return student.kept[CHECKPOINT]

    def tiny_model(self, eos_idx: int = 2) -> tuple[Any, dict[str, np.ndarray]]:
        """A model whose decoding is small enough to trace, and its weights."""
        model = self.student.transformer.Transformer(**TINY, eos_idx=eos_idx)
        weights = tiny_weights(model.shapes())
        model.load_state(weights)
        return model, weights

    def check_layer(self, build: Callable[[float], ObjectProxy], arguments: Mapping[str, np.ndarray]) -> None:
        """Fail unless a small layer returns the stored tensor; warn about argument names and side effects.

        Args:
            build: creates the layer with a given dropout probability.
        """
        layer = build(KEPT)
        layer.load_state(small_weights(layer.shapes()))
        real = (MASK == 0)[..., None]
        self.assert_tensor(layer(**arguments), self.stored("layer")["output"], "the output", "B T d_model", where=real)
        self.warn_of_side_effects(layer, arguments, weights=small_weights(layer.shapes()), where=real)

    def check_layer_masks(self, build: Callable[[float], ObjectProxy], arguments: Mapping[str, np.ndarray]) -> None:
        """Fail unless visible positions affect a small layer's results, and hidden positions do not.

        The layer's results are compared with each other, so that mistakes outside the masks cost no points here.
        """
        layer = build(KEPT)
        layer.load_state(small_weights(layer.shapes()))
        open_masks = {name: 0 * value for name, value in arguments.items() if name.endswith("mask")}
        for mask in open_masks:
            changed = "encoder_out" if mask == "encoder_padding_mask" else "x"
            inputs = {**arguments, **open_masks, mask: arguments[mask]}
            last = arguments[changed].shape[1] - 1
            # All masks hide the last position.
            noise = np.where(np.arange(last + 1)[:, None] == last, 3.0, 0.0)
            for masks, hidden in ((inputs, True), ({**inputs, **open_masks}, False)):
                before, after = layer(**masks), layer(**{**masks, changed: masks[changed] + noise})
                self.assert_form(before, arguments["x"].shape, "the output", "B T d_model")
                self.assert_form(after, before.shape, "the output", "B T d_model")
                moved = float(
                    np.abs(after - before)[1, :3].max()
                )  # of the sentence with padding, all but the last positions
                self.checks += 1
                if (moved > 10 * LIMITS[self.student.dtype]) is hidden:
                    wrong = (
                        "does not mask what it should"
                        if hidden
                        else "is 0 everywhere, but other positions are still masked"
                    )
                    self.wrong(f"{mask} {wrong}", actual=after)

    def check_layer_dropout(self, build: Callable[[float], ObjectProxy], arguments: Mapping[str, np.ndarray]) -> None:
        """Fail unless dropout is applied where it should be in a small layer; see `check_dropout`."""
        weights = small_weights(build(KEPT).shapes())
        self.check_dropout(build, weights, lambda model: model(**arguments), "B T d_model")

    def check_cost(self) -> None:
        """Fail if a step with a cache computes more than the last position.

        Only rows of the feed-forward network, which has a unique width, are counted: attention needs all positions.
        """
        d_model, _, H = SMALL
        layer = self.student.decoder.TransformerDecoderLayer(d_model, WIDE, H, KEPT)
        layer.load_state(small_weights(layer.shapes()))
        x = numbers(1, LONG, d_model)
        mask = np.triu(np.ones((1, LONG, LONG), dtype=np.int64), k=1)
        known = {"encoder_out": x, "self_attn_mask": mask, "cache": numbers(1, LONG - 1, d_model)}
        rows = layer.counting(WIDE).forward_one_step_ec(x=x, **known)
        if not isinstance(rows, int) or rows > LONG // 2:
            self.wrong(
                "the output of one step is right, but all positions are computed again",
                "The cache holds the outputs at the earlier positions. With it, a step computes the last one only:",
                "its query, its feed-forward network and its norms; the keys and values are those of all positions.",
                f"expected  1 row in the feed-forward network, at {LONG} positions",
                f"got       {rows} rows",
            )

    def check_dropout(
        self,
        build: Callable[[float], ObjectProxy],
        weights: Mapping[str, np.ndarray],
        call: Callable[[ObjectProxy], Any],
        axes: str,
        where: np.ndarray | None = None,
    ) -> None:
        """Fail unless dropout is applied to the output of each sub-layer of a layer, and only there.

        Each sub-layer ends with a linear layer. If dropout keeps every element, it multiplies the outputs of these
        linear layers by 1 / (1 - p). If dropout drops every element, the factor is 0.

        Args:
            build: creates the layer with a given dropout probability.
        """
        ends = {title: end for title, end in SUBLAYERS.items() if f"{end}.weight" in weights}
        of = {title: end.removesuffix(".W_o") for title, end in ends.items()}
        still = build(KEPT)

        def scaled(factor: float, titles: Mapping[str, str]) -> Any:
            linear = tuple(ends[title] + "." for title in titles)
            still.load_state(
                {name: value * (factor if name.startswith(linear) else 1) for name, value in weights.items()}
            )
            return call(still)

        recipes = {}  # the replays of the calls in training mode, by dropout probability

        def trained(p: float) -> Any:
            layer = build(p)
            layer.load_state(weights)
            layer.train()
            output = call(layer.deterministic_dropout())
            recipes[p] = self.student.recipe()
            return output

        def same(actual: Any, factor: float, titles: Mapping[str, str]) -> bool:
            return not differ(actual, scaled(factor, titles))

        def differ(actual: Any, other: Any) -> Wrong | None:
            return compare_own("the output", axes, actual, other, LIMITS[self.student.dtype], where)

        def is_like(actual: Any, other: Any) -> None:
            nothing = np.zeros(shape_of(other), dtype=bool)
            if wrong := wrong_form("the output in training mode", axes, actual, shape_of(other), True, nothing):
                self.wrong(wrong.message, *wrong.details)

        limit = LIMITS[self.student.dtype]
        rare, kept, dropped = KEPT, trained(KEPT), trained(DROPPED)
        is_like(kept, scaled(1.0, {}))
        is_like(dropped, kept)
        if not same(kept, 1 / (1 - rare), ends) and differ(trained(rare), kept):
            rare = 1 - DROPPED  # the student's own random numbers
            kept = trained(rare)
        # The dropped case comes first: a layer norm hides that its whole input, the residual included, is scaled.
        for actual, factor, done in ((dropped, 0.0, "drops"), (kept, 1 / (1 - rare), "keeps")):
            right = scaled(factor, ends)
            self.assert_form(right, kept.shape, "the output", axes)
            self.checks += 1
            name = f"the output in training mode, where dropout {done} every element,"
            if not (wrong := compare(name, axes, actual, right, limit, where)):
                continue
            seen = np.stack([kept, dropped])  # mistakes that look the same in one case differ in the other
            if same(kept, 1.0, {}) and same(dropped, 0.0, ends):
                self.wrong("dropout does not divide the elements it keeps by 1 - p", *wrong.details, actual=seen)
            if same(actual, factor, {}):
                self.wrong("in training mode there is no dropout in the layer", *wrong.details, actual=seen)
            for title in ends:
                if same(actual, factor, {other: end for other, end in ends.items() if other != title}):
                    message = f"dropout is missing on the output of the {title}"
                    self.wrong(message, *wrong.details, actual=seen, made_by=[of[title]])
            belongs = "Apply it to the output of each sub-layer, before the input of the sub-layer is added."
            details, shows = (belongs, wrong.message, *wrong.details), recipes[rare]
            message = "dropout is in the wrong place"
            self.wrong(message, *details, actual=seen, made_by=[*of.values()], operation="dropout", recipe=shows)
        chance = build(0.5)
        chance.load_state(weights)
        chance.train()
        self.assert_chance(lambda: call(chance), where)

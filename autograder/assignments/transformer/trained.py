"""What visible and hidden tests of models share: the trained German-English model, and where dropout stands."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from autograder.diagnosis.compare_tensors import LIMITS, compare
from autograder.grading.graded_case import StageTestCase, read_tensors
from autograder.sandbox.remote_modules import ObjectProxy, Student
from course.config import CHECKPOINTS, CONFIG, WEIGHTS, ModelConfig

CHECKPOINT = "de-en"
ENCODING_LIMIT = 1e-3  # where the student's own table of positions is used, which may be computed in float32
MASK = np.array([[0, 0, 0, 0, 0], [0, 0, 0, 1, 1]])  # a padding mask for small layers
KEPT = 0.2  # a probability of dropout with which it is likelier to keep an element, and then multiplies it
# And one with which every element is dropped, whoever draws the numbers: among the less than 10,000 elements that a
# check drops, one is kept with a probability below 1e-9.
DROPPED = 1 - 1e-13
SUBLAYERS = {  # the linear layer that each sub-layer ends with
    "self-attention": "self_attn.W_o",
    "cross-attention": "encoder_attn.W_o",
    "feed-forward network": "fc2",
}


class TrainedTestCase(StageTestCase):
    """A test of the student's Transformer with the weights of the checkpoint."""

    def trained_config(self) -> ModelConfig:
        """The configuration of the checkpoint."""
        return ModelConfig.load(CHECKPOINTS / CHECKPOINT / CONFIG)

    def trained_transformer(self, student: Student | None = None) -> Any:
        """The student's Transformer with the weights of the checkpoint, made once for all tests of a stage."""
        student = student or self.student
        if CHECKPOINT not in student.kept:
            model = student.transformer.Transformer(**vars(self.trained_config()))
            read_tensors(CHECKPOINTS / CHECKPOINT / WEIGHTS)  # raises what is wrong with the file
            model.load_state({}, stored=CHECKPOINT)
            student.kept[CHECKPOINT] = model
        return student.kept[CHECKPOINT]

    def random(self, *shape: int) -> np.ndarray:
        """Standard normal numbers, the same for the same shape."""
        return np.random.Generator(np.random.PCG64(shape)).standard_normal(shape)

    def warn_of_layer(self, build: Callable[[float], ObjectProxy], arguments: Mapping[str, np.ndarray]) -> None:
        """Warn of what the whole model does not show of a small layer: named arguments, side effects, dropout.

        Args:
            build: makes the layer with a given probability of dropout.
        """
        with self.only_warn():
            layer = build(KEPT)
            weights = {name: self.random(*shape) / np.sqrt(shape[-1]) for name, shape in layer.shapes().items()}
            layer.load_state(weights)
            self.warn_of_side_effects(layer, arguments)
            self.check_dropout(build, weights, lambda model: model(**arguments), "B T d_model")

    def check_dropout(
        self,
        build: Callable[[float], ObjectProxy],
        weights: Mapping[str, np.ndarray],
        call: Callable[[ObjectProxy], Any],
        axes: str,
        where: np.ndarray | None = None,
    ) -> None:
        """Fail unless dropout stands on the output of each sub-layer of a layer, and only there.

        Each sub-layer ends with a linear layer. So where dropout keeps every element, the output in training mode is
        that of evaluation mode with these linear layers multiplied by 1 / (1 - p); where it drops all, by 0.

        Args:
            build: makes the layer with a given probability of dropout.
        """
        ends = {title: end for title, end in SUBLAYERS.items() if f"{end}.weight" in weights}
        still = build(KEPT)

        def scaled(factor: float, titles: Mapping[str, str]) -> Any:
            linear = tuple(ends[title] + "." for title in titles)
            still.load_state(
                {name: value * (factor if name.startswith(linear) else 1) for name, value in weights.items()}
            )
            return call(still)

        def trained(p: float) -> Any:
            layer = build(p)
            layer.load_state(weights)
            layer.train()
            return call(layer.without_chance())

        def same(actual: Any, factor: float, titles: Mapping[str, str]) -> bool:
            return not compare("the output", axes, actual, scaled(factor, titles), LIMITS[self.student.dtype], where)

        limit = LIMITS[self.student.dtype]
        rare, kept, dropped = KEPT, trained(KEPT), trained(DROPPED)
        if not same(kept, 1 / (1 - rare), ends) and compare("the output", axes, trained(rare), kept, limit, where):
            rare = 1 - DROPPED  # own random numbers
            kept = trained(rare)
        for actual, factor, done in ((kept, 1 / (1 - rare), "keeps"), (dropped, 0.0, "drops")):
            right = scaled(factor, ends)
            self.assert_form(right, np.shape(right), "the output", axes)
            self.checks += 1
            name = f"the output in training mode, where dropout {done} every element,"
            if not (wrong := compare(name, axes, actual, right, limit, where)):
                continue
            if same(kept, 1.0, {}) and same(dropped, 0.0, ends):
                self.wrong("dropout does not divide what it keeps by 1 - p", *wrong.details, actual=actual)
            if same(actual, factor, {}):
                self.wrong("in training mode there is no dropout in the layer", *wrong.details, actual=actual)
            for title in ends:
                if same(actual, factor, {other: end for other, end in ends.items() if other != title}):
                    self.wrong(f"dropout is missing on the output of the {title}", *wrong.details, actual=actual)
            belongs = "It belongs on the output of each sub-layer, before this is added to the input of the sub-layer."
            self.wrong("dropout does not stand where it should", belongs, wrong.message, *wrong.details, actual=actual)

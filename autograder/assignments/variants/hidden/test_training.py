"""Hidden tests for stage 7: other values for loss, rates and clipping; steps and parameter groups of other models."""

from typing import Any

import numpy as np

from autograder.assignments.variants.hidden.models import VariantsTestCase
from autograder.grading.hidden_case import Twins
from autograder.sandbox.read_reply import are_shapes


class TestTraining(VariantsTestCase):
    def test_smoothed_loss(self):
        """Check random sizes, padding tokens and smoothing values, the gradient, and logits as large as 1,000."""
        with self.part("values"):
            for B, T, V in ((2, 5, 11), (1, 3, 4), (4, 1, 7)):
                padding, smoothing = self.pick(0, 1, 3), 0.1 * self.pick(0, 1, 3, 7)
                targets = self.rng.integers(V, size=(B, T))
                targets[-1, -1] = (padding + 1) % V
                targets[0, 0] = padding
                self.loss(2 * self.random(B, T, V), targets, padding, smoothing)
        with self.part("large_logits"):
            targets = self.rng.integers(2, 9, size=(2, 4))
            self.loss(1000 * self.random(2, 4, 9), targets, 1, 0.2)

    def loss(self, logits: np.ndarray, targets: np.ndarray, padding: int, smoothing: float) -> None:
        """Fail unless the loss and gradient are correct."""
        arguments = (logits, targets, padding, smoothing)
        self.same_number(lambda modules: modules.training.smoothed_loss(*arguments), self.modules, "the loss")

        def call(modules: Any) -> Any:
            return modules.drivers.smoothed_loss_and_gradient(*arguments)

        _, gradient = self.items(call(self.student), 2, "smoothed_loss")
        _, right = self.right(call, self.reference)
        self.checks += 1
        if gradient is None:
            self.wrong(
                "no gradient reaches the logits", "Does the computation leave the graph (.detach(), .item(), ...)?"
            )
        self.assert_tensor(gradient, right, "the gradient of the logits", "B T V")

    def test_warmup_rate(self):
        """Check random peak rates and several step counts."""
        for _ in range(3):
            peak, warmup = 0.5 + self.rng.random(), self.pick(1, 5, 40, 400)
            for step in (1, 2, warmup, warmup + 1, 2 * warmup + 1, 9 * warmup, 100_000):
                name = f"the rate at step {step} with a warm-up of {warmup}"
                self.same_rate("warmup_rate", name, step, peak, warmup)

    def test_cosine_rate(self):
        """Check random peak rates, step counts and final rates."""
        for _ in range(3):
            peak, warmup, floor = 0.5 + self.rng.random(), self.pick(1, 5, 40), 0.3 * self.rng.random()
            total = warmup + self.pick(1, 17, 300)
            for step in (1, warmup, warmup + 1, (warmup + total) // 2, total - 1, total, total + 1, 3 * total):
                name = f"the rate at step {step} with a warm-up of {warmup} and {total} steps in all"
                self.same_rate("cosine_rate", name, max(1, step), peak, warmup, total, floor)

    def same_rate(self, function: str, name: str, *arguments: float) -> None:
        """Fail unless a rate is correct."""
        self.same_number(lambda modules: getattr(modules.training, function)(*arguments), self.modules, name)

    def test_clip_gradients(self):
        """Check gradients of other sizes, in a list and from an iterator, just below the limit and far above it."""
        gradients = [self.random(3, 4), self.random(6), 0.1 * self.random(2, 3, 2), self.random(1)]
        length = float(np.sqrt(sum((gradient**2).sum() for gradient in gradients)))
        for case, factors in {"short": (1.001, 50.0), "long": (0.99, 0.01)}.items():
            with self.part(case):
                for number, factor in enumerate(factors):
                    self.clip(gradients, factor * length, as_iterator=number == 1)

    def clip(self, gradients: list[np.ndarray], max_norm: float, as_iterator: bool) -> None:
        """Fail unless the norm and gradients are correct."""

        def call(modules: Any) -> Any:
            return modules.drivers.clip_gradients_of(gradients, max_norm, as_iterator=as_iterator)

        norm, *after = self.items(call(self.student), 1 + len(gradients), "clip_gradients")
        right_norm, *right = self.right(call, self.reference)
        self.assert_number(norm, right_norm, f"the norm before clipping at {max_norm:.4g}")
        for number, (gradient, expected) in enumerate(zip(after, right, strict=True)):
            axes = " ".join("abc"[: expected.ndim])
            self.assert_tensor(gradient, expected, f"gradient {number} clipped at {max_norm:.4g}", axes)

    def test_train_step(self):
        """Check steps of a language model and another model, also after validation, with and without clipping."""
        config = self.config(dropout=0.0)
        model = self.twins(lambda modules: modules.language_model.DecoderTransformer(**config))
        self.steps(model, [self.tokens(config, 3, 7)[None] for _ in range(3)], [0.3, 0.05, 0.2], 0.5)
        for max_norm in (0.1, 1000.0):
            other = self.twins(lambda modules: modules.drivers.Curve(5))
            batches = [self.random(2, 4, 5) for _ in range(3)]  # x and y of each step
            self.steps(other, batches, [0.1, 0.4, 0.2], max_norm, evaluating=True)

    def steps(
        self, model: Twins, batches: list[np.ndarray], rates: list[float], max_norm: float, evaluating: bool = False
    ) -> None:
        """Fail unless all losses and the final weights are correct."""

        def call(pair: Any) -> Any:
            return pair[0].drivers.train_steps(pair[1], batches, rates, max_norm, evaluating)

        pair = self.beside(model)
        right_losses, *right = self.right(call, pair.reference)
        losses, *weights = self.items(call(pair.student), 1 + len(right), "the run")
        losses = self.items(losses, len(batches), "the list of losses")
        for step, (loss, expected) in enumerate(zip(losses, right_losses, strict=True), start=1):
            self.assert_number(loss, expected, f"the loss of step {step}")
        for number, (weight, expected) in enumerate(zip(weights, right, strict=True)):
            axes = "rows columns" if expected.ndim == 2 else "features"
            self.assert_tensor(weight, expected, f"parameter {number} after the steps", axes)

    def test_parameter_groups(self):
        """Check a tagger, a Vision Transformer, and a model with shared weights."""
        decay = 0.01 * self.pick(1, 5, 20)
        config = self.config()
        for model, embeddings in (
            (self.student.drivers.Shared(), ["tokens.weight", "inner.places.weight"]),
            (self.student.drivers.Shared(output_first=True), ["output.weight", "inner.places.weight"]),
            (self.student.drivers.Images(), []),
            (self.student.language_model.DecoderTransformer(**config), None),
        ):
            reply = self.student.drivers.parameter_shapes(model)
            if not are_shapes(reply):
                self.wrong("the names and shapes of the parameters cannot be read")
            shapes = {name: tuple(shape) for name, shape in reply}
            self.assert_groups(self.student.drivers.parameter_groups_of(model, decay), shapes, decay, embeddings)

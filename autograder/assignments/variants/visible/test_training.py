"""Stage 7: loss, rates, clipping, the step, weight decay."""

import numpy as np

from autograder.assignments.variants.visible import cases as made
from autograder.assignments.variants.visible.checks import CheckingTestCase


class TestTraining(CheckingTestCase):
    def test_smoothed_loss(self):
        """Label smoothing of 0, 0.1 and 0.4 with padding, and logits as large as 1,000."""
        stored = self.stored("loss")
        logits, targets = stored["logits"], stored["targets"]
        with self.part("values"):
            for case, smoothing in made.SMOOTHINGS.items():
                loss = self.student.training.smoothed_loss(logits, targets, 1, smoothing)
                self.assert_number(loss, stored[case], f"the loss with a smoothing of {smoothing}")
        with self.part("large_logits"):
            loss = self.student.training.smoothed_loss(300 * logits, targets, 1, 0.1)
            self.assert_number(loss, stored["large"], "the loss for large logits")
        arguments = {"logits": logits, "targets": targets, "padding_idx": 1, "smoothing": 0.1}
        self.warn_of_side_effects(self.student.training.smoothed_loss, arguments, batch=False)
        with self.only_warn():  # the order of the rows does not change their mean
            loss = self.student.training.smoothed_loss(logits[::-1].copy(), targets[::-1].copy(), 1, 0.1)
            self.assert_number(loss, stored["usual"], "the loss of the same rows in reverse order")

    def test_warmup_rate(self):
        """The learning rate from the 2017 paper at ten steps, with a peak of 0.8 after 10 steps."""
        stored = self.stored("rates")
        for step, right in zip(stored["steps"], stored["warmup"], strict=True):
            rate = self.student.training.warmup_rate(int(step), made.PEAK, made.WARMUP)
            self.assert_number(rate, right, f"the rate at step {step}")

    def test_cosine_rate(self):
        """The cosine rate at ten steps: 0.8 after 10 steps, falling to 0.05 after 200 steps, then constant."""
        stored = self.stored("rates")
        for step, right in zip(stored["steps"], stored["cosine"], strict=True):
            rate = self.student.training.cosine_rate(int(step), made.PEAK, made.WARMUP, made.TOTAL, made.FLOOR)
            self.assert_number(rate, right, f"the rate at step {step}")

    def test_clip_gradients(self):
        """Three gradients and a parameter without a gradient; norms below and above the limit."""
        gradients = list(self.stored("clip").values())
        for case, max_norm in made.CLIPS.items():
            stored = self.stored(f"clip_{case}")
            with self.part(case):
                result = self.student.drivers.clip_gradients_of(gradients, max_norm, as_iterator=True)
                norm, *after = self.items(result, 1 + len(gradients), "clip_gradients")
                self.assert_number(norm, stored["norm"], f"the norm before clipping at {max_norm:g}")
                for number, gradient in enumerate(after):
                    right, name = stored[str(number)], f"gradient {number} clipped at {max_norm:g}"
                    self.assert_tensor(gradient, right, name, "rows columns" if right.ndim == 2 else "features")

    def test_train_step(self):
        """Three steps of a small language model: the losses, and all weights at the end."""
        model = self.student.language_model.DecoderTransformer(**(made.MODEL | {"dropout": 0.0}))
        model.load_state(self.stored("weights"))
        stored = self.stored("steps")
        batches = [stored[f"tokens.{number}"][None] for number in range(len(made.RATES))]
        result = self.student.drivers.train_steps(model, batches, made.RATES, made.MAX_NORM)
        names = sorted(self.stored("weights"))
        losses, *weights = self.items(result, 1 + len(names), "the run")
        losses = self.items(losses, len(batches), "the list of losses")
        for step, (loss, right) in enumerate(zip(losses, stored["losses"], strict=True), start=1):
            self.assert_number(loss, right, f"the loss of step {step}")
        for name, weight in zip(names, weights, strict=True):
            right = stored[name]
            axes = "rows columns" if right.ndim == 2 else "features"
            self.assert_tensor(weight, right, f"{name} after three steps", axes)

        with self.only_warn(), self.student.unnoted():
            chance, curve = np.random.Generator(np.random.PCG64(1)), self.student.drivers.Curve(5)
            curve.load_state({name: chance.random(shape) for name, shape in curve.shapes().items()})
            batch = chance.random((1, 2, 4, 5))
            loss = curve.loss(*batch[0])  # in training mode it is four times as large
            self.assert_form(loss, (), "the loss of a step in evaluation mode", "")
            result = self.student.drivers.train_steps(curve, batch, [0.1], 1.0, True)
            losses = self.items(result, 1 + len(curve.shapes()), "the run")[0]
            (first,) = self.items(losses, 1, "the list of losses")
            self.assert_number(first, 4 * loss, "the loss of a step in training mode, after validation")

    def test_parameter_groups(self):
        """Separate the parameters with weight decay from the other parameters of a small language model."""
        model = self.student.language_model.DecoderTransformer(**made.MODEL)
        shapes = model.shapes()
        self.assert_groups(self.student.drivers.parameter_groups_of(model, 0.1), shapes, 0.1)
        with self.only_warn():
            # Other names; tables with three axes; a nested embedding, and an embedding that shares its weight with the
            # output layer, which comes after or before it.
            drivers, embeddings = self.student.drivers, ["tokens.weight", "inner.places.weight"]
            others = [(one, embeddings) for one in (drivers.Words(), drivers.Images(), drivers.Shared())]
            others.append((drivers.Shared(output_first=True), ["output.weight", "inner.places.weight"]))
            for other, embeddings in others:
                pairs = drivers.parameter_shapes(other)
                if not isinstance(pairs, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
                    self.wrong("the parameters of a model have no names and shapes")
                shapes = {str(name): shape for name, shape in pairs}
                self.assert_groups(drivers.parameter_groups_of(other, 0.1), shapes, 0.1, embeddings)

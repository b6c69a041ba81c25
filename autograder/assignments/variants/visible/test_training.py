"""Stage 7: loss, rates, clipping, the step, weight decay."""

from autograder.assignments.variants.visible import cases as made
from autograder.assignments.variants.visible.checks import CheckingTestCase


class TestTraining(CheckingTestCase):
    def test_smoothed_loss(self):
        """Label smoothing of 0, 0.1 and 0.4 with padding, and logits as large as 1,000."""
        stored = self.stored("loss")
        logits, targets = stored["logits"], stored["targets"]
        for case, smoothing in made.SMOOTHINGS.items():
            loss = self.student.training.smoothed_loss(logits, targets, 1, smoothing)
            self.assert_number(loss, stored[case], f"the loss with a smoothing of {smoothing}")
        loss = self.student.training.smoothed_loss(300 * logits, targets, 1, 0.1)
        self.assert_number(loss, stored["large"], "the loss of large logits")

    def test_warmup_rate(self):
        """The rate of the paper of 2017 at ten steps, with a peak of 0.8 after 10 steps."""
        stored = self.stored("rates")
        for step, right in zip(stored["steps"], stored["warmup"], strict=True):
            rate = self.student.training.warmup_rate(int(step), made.PEAK, made.WARMUP)
            self.assert_number(rate, right, f"the rate of step {step}")

    def test_cosine_rate(self):
        """The rate along a cosine at ten steps, from 0.8 after 10 steps to 0.05 after 200 and beyond."""
        stored = self.stored("rates")
        for step, right in zip(stored["steps"], stored["cosine"], strict=True):
            rate = self.student.training.cosine_rate(int(step), made.PEAK, made.WARMUP, made.TOTAL, made.FLOOR)
            self.assert_number(rate, right, f"the rate of step {step}")

    def test_clip_gradients(self):
        """Three gradients and a parameter without one: shorter than the limit, and longer."""
        gradients = list(self.stored("clip").values())
        for case, max_norm in made.CLIPS.items():
            stored = self.stored(f"clip_{case}")
            result = self.student.drivers.clip(gradients, max_norm, True)
            norm, *after = self.items(result, 7, "clip_gradients")
            self.assert_number(norm, stored["norm"], f"the norm before clipping at {max_norm:g}")
            for number, gradient in enumerate(after[:3]):
                axes = "rows columns" if gradient.ndim == 2 else "features"
                self.assert_tensor(gradient, stored[str(number)], f"gradient {number} clipped at {max_norm:g}", axes)

    def test_train_step(self):
        """Three steps of a small language model: the losses, and all weights after them."""
        model = self.student.language_model.DecoderTransformer(**(made.MODEL | {"dropout": 0.0}))
        model.load_state(self.stored("weights"))
        stored = self.stored("steps")
        batches = [[stored[f"tokens.{number}"]] for number in range(len(made.STEPS["rates"]))]
        result = self.student.drivers.train_steps(model, batches, made.STEPS["rates"], made.STEPS["max_norm"])
        names = list(self.stored("weights"))
        losses, *weights = self.items(result, 1 + len(names), "the run")
        for step, (loss, right) in enumerate(zip(losses, stored["losses"], strict=True), start=1):
            self.assert_number(loss, right, f"the loss of step {step}")
        for number, weight in enumerate(weights):
            axes = "rows columns" if weight.ndim == 2 else "features"
            right = stored[f"weight.{number}"]
            self.assert_tensor(weight, right, f"parameter {number} after three steps", axes)

    def test_parameter_groups(self):
        """Which parameters of a small language model decay, and which do not."""
        model = self.student.language_model.DecoderTransformer(**made.MODEL)
        self.assert_groups(self.student.drivers.decaying(model, 0.1), model.shapes(), 0.1)

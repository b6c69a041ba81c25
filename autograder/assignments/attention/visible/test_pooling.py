"""Stage 1: attention pooling with kernels."""

from typing import Any

import numpy as np

from autograder.grading.graded_case import StageTestCase
from autograder.grading.side_effects import check_gradients


class TestPooling(StageTestCase):
    """Tests that use points in the plane, and grid points that no kernel reaches."""

    def kernel(self, name: str) -> Any:
        """A kernel from the module. Pooling is graded only with provided kernels, so wrong kernels do not affect it."""
        return getattr(self.student.pooling, name)

    def test_kernels(self):
        """Compute the boxcar, triangular and Epanechnikov kernels, including at u = 1."""
        stored = self.stored("kernels")
        for name in ("boxcar", "triangular", "epanechnikov"):
            with self.part(name):
                self.assert_tensor(self.kernel(name)(stored["u"]), stored[name], f"{name}(u)", "n m")
            self.warn_of_changes(self.kernel(name), {"u": stored["u"]})

    def pool(self, case: str, kernel: str) -> None:
        """Fail unless `attention_pooling` returns the stored tensors."""
        stored = self.stored(case)
        inputs = {name: stored[name] for name in ("queries", "keys", "values")}
        result = self.student.pooling.attention_pooling(
            **inputs, kernel=self.kernel(kernel), width=float(stored["width"])
        )
        self.compare(result, stored, "attention_pooling")

    def compare(self, result: Any, stored: dict[str, Any], call: str) -> None:
        """Fail unless the estimates and weights are correct."""
        estimates, weights = self.items(result, 2, call)
        self.assert_tensor(weights, stored["weights"], "weights", "n_q n_k")
        self.assert_tensor(estimates, stored["estimates"], "estimates", "n_q d_v")

    def test_attention_pooling(self):
        """Average the values, giving near keys more weight; if the kernel reaches no key, use the nearest one."""
        with self.part("reached"):
            self.pool("near", "gaussian")
            self.pool("equal", "constant")
        with self.part("unreached"):
            self.pool("unreached", "gaussian")
            self.pool("some_unreached", "gaussian")
            with self.only_warn():
                self.differentiate("unreached", "gaussian")
        with self.only_warn(), self.student.unnoted():
            stored = self.stored("near")
            inputs: dict[str, Any] = {name: stored[name] for name in ("queries", "keys", "values")}
            inputs |= {"kernel": self.kernel("gaussian"), "width": np.array(stored["width"])}
            check_gradients(self, self.student.pooling.attention_pooling, inputs)
        with self.only_warn():
            after = self.student.pooling.attention_pooling.arguments_after(**inputs)
            for name in ("queries", "keys", "values"):
                if not self.equal(after[name], inputs[name]):
                    self.argument_changed(name)

    def differentiate(self, case: str, kernel: str) -> None:
        """Fail unless the gradient of the width is finite."""
        stored = self.stored(case)
        inputs = {name: stored[name] for name in ("queries", "keys", "values", "width")}
        outputs = [np.ones_like(stored[name]) for name in ("estimates", "weights")]
        pooling = self.student.pooling.attention_pooling
        gradient = pooling.gradients(outputs, **inputs, kernel=self.kernel(kernel)).inputs[-1]
        if gradient is not None and not np.isfinite(gradient).all():
            self.wrong("the gradient of the width is not finite: do you divide 0 by 0 somewhere?")

    def test_kernel_regression(self):
        """Pool with the learned width."""
        stored = self.stored("regression")
        model = self.student.pooling.KernelRegression(self.kernel("gaussian"), float(stored["width"]))
        inputs = {name: stored[name] for name in ("queries", "keys", "values")}
        self.compare(model(**inputs), stored, "forward")
        self.warn_of_changes(model, inputs)
        alike = self.stored("equal")
        constant = self.student.pooling.KernelRegression(self.kernel("constant"), float(alike["width"]))
        self.compare(constant(**{name: alike[name] for name in inputs}), alike, "forward")
        with self.only_warn():
            self.follow_width(stored, inputs)
            self.learn_width(model, inputs, [stored[name].shape for name in ("estimates", "weights")])

    def learn_width(
        self, model: Any, inputs: dict[str, Any], shapes: list[tuple[int, ...]], method: str | None = None
    ) -> None:
        """Fail unless gradients reach the width and the values, which come last in `inputs`."""
        # All ones would not work: the sum of the weights does not depend on the width.
        chance = np.random.Generator(np.random.PCG64(1))
        outputs = [chance.standard_normal(shape) for shape in shapes]
        found = model.gradients(outputs, method=method, **inputs)
        for name, gradient in (("log_width", found.parameters.get("log_width")), ("values", found.inputs[-1])):
            if gradient is None or not np.any(gradient):
                self.wrong(f"no gradient reaches {name}: does the computation leave the graph (.item(), ...)?")

    def follow_width(self, stored: dict[str, Any], inputs: dict[str, Any]) -> None:
        """Fail unless each call uses the current value of `log_width`, which changes during training."""
        width = float(stored["width"])
        model = self.student.pooling.KernelRegression(self.kernel("gaussian"), 2 * width)
        shapes = model.shapes()
        if shapes.keys() != {"log_width"}:
            return
        model(**inputs)  # with the first width, which must not be stored
        model.load_state({"log_width": np.full(shapes["log_width"], np.log(width))})
        _, weights = self.items(model(**inputs), 2, "forward")
        if np.shape(weights) != stored["weights"].shape or not np.allclose(weights, stored["weights"], atol=1e-3):
            why = "In training, log_width changes from call to call, and so does the width."
            self.wrong("after log_width has changed, the old width is still used: is it computed in each call?", why)

    def leave_out(self, case: str, kernel: str) -> None:
        """Fail unless `leave_one_out` returns the stored tensors."""
        stored = self.stored(case)
        model = self.student.pooling.KernelRegression(self.kernel(kernel), float(stored["width"]))
        predictions, weights = self.items(model.leave_one_out(stored["keys"], stored["values"]), 2, "leave_one_out")
        self.assert_tensor(weights, stored["weights"], "weights", "n n")
        self.assert_tensor(predictions, stored["predictions"], "predictions", "n d_v")

    def test_leave_one_out(self):
        """Predict each value from all other pairs, with any kernel; if no pair is in reach, use the nearest one."""
        with self.part("reached"):
            self.leave_out("others", "gaussian")
            self.leave_out("equal_others", "constant")
        with self.part("unreached"):
            self.leave_out("unreached_others", "gaussian")
            self.leave_out("some_unreached_others", "gaussian")
        model, stored = self.student.pooling.KernelRegression(self.kernel("gaussian"), 1.0), self.stored("others")
        pairs = {name: stored[name] for name in ("keys", "values")}
        if self.warn_of_changes(model, pairs, "leave_one_out", batch=False):
            with self.only_warn():
                shapes = [stored[name].shape for name in ("predictions", "weights")]
                self.learn_width(model, pairs, shapes, "leave_one_out")

"""Stage 1: attention pooling with kernels."""

from typing import Any

from autograder.assignments.attention.following import FollowingTestCase

ESTIMATES, WEIGHTS = ("estimates", "n_q d_v"), ("weights", "n_q n_k")


class TestPooling(FollowingTestCase):
    """Points in the plane, and points on a grid that no kernel reaches."""

    def kernel(self, name: str) -> Any:
        """A kernel of the module. Where pooling is graded these are given ones: a slip in another costs nothing."""
        return getattr(self.student.pooling, name)

    def test_kernels(self):
        """Compute the boxcar, the triangular and the Epanechnikov kernel, at u = 1 too."""
        stored = self.stored("kernels")
        for name in ("boxcar", "triangular", "epanechnikov"):
            self.assert_tensor(self.kernel(name)(stored["u"]), stored[name], f"{name}(u)", "n m")

    def test_attention_pooling(self):
        """Average the values by the nearness of their keys; where the kernel reaches none, take the nearest."""
        for case, kernel in (("near", "gaussian"), ("equal", "constant"), ("unreached", "gaussian")):
            stored = self.stored(case)
            inputs = {name: stored[name] for name in ("queries", "keys", "values")}
            estimates, weights = self.pooled(self.kernel(kernel), float(stored["width"]), **inputs)
            self.assert_tensor(weights, stored["weights"], *WEIGHTS)
            self.assert_tensor(estimates, stored["estimates"], *ESTIMATES)

    def test_kernel_regression(self):
        """Pool with the width that is learned."""
        stored, kernel = self.stored("regression"), self.kernel("gaussian")
        inputs, width = {name: stored[name] for name in ("queries", "keys", "values")}, float(stored["width"])
        model = self.student.pooling.KernelRegression(kernel, width)
        estimates, weights = self.items(model(**inputs), 2, "forward")
        self.assert_following(weights, stored["weights"], *WEIGHTS, lambda: self.pooled(kernel, width, **inputs)[1])
        self.assert_following(
            estimates, stored["estimates"], *ESTIMATES, lambda: self.pooled(kernel, width, **inputs)[0]
        )

    def test_leave_one_out(self):
        """Predict each value from all other pairs, whatever the kernel, and from the nearest where it reaches none."""
        for case, kernel in (("others", "gaussian"), ("equal_others", "constant"), ("unreached_others", "gaussian")):
            self.leave_out(case, self.kernel(kernel))

    def leave_out(self, case: str, kernel: Any) -> None:
        stored = self.stored(case)
        keys, values, width = stored["keys"], stored["values"], float(stored["width"])
        model = self.student.pooling.KernelRegression(kernel, width)
        predictions, weights = self.items(model.leave_one_out(keys, values), 2, "leave_one_out")

        def following(number: int) -> Any:
            return self.pooled_without_own(kernel, width, keys, values)[number]

        self.assert_following(weights, stored["weights"], "weights", "n n", lambda: following(1))
        self.assert_following(predictions, stored["predictions"], "predictions", "n d_v", lambda: following(0))

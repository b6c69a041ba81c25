"""Hidden tests for stage 1: kernels for any input shape, pooling at many sizes, near and far keys, learned widths."""

from collections.abc import Collection
from typing import Any

import numpy as np

from autograder.assignments.attention.hidden.case import AttentionTestCase

NARROW = 0.01  # a Gaussian of this width is exactly 0 at a distance of 1
Points = dict[str, np.ndarray]


class TestPooling(AttentionTestCase):
    def test_kernels(self):
        """Check scaled distances in tensors of several shapes, including 0, 1 and large distances."""
        distances = []
        for shape in ((self.pick(4, 7),), (3, self.pick(2, 5)), (2, 3, 4)):
            distances.append(np.abs(self.random(*shape)))
            distances[-1].flat[:3] = 0.0, 1.0, 1000.0
        for name in ("boxcar", "triangular", "epanechnikov"):
            with self.part(name):
                for u in distances:
                    self.kernel(name, u)

    def kernel(self, name: str, u: np.ndarray) -> None:
        """Fail unless a kernel is correct."""
        kernel, axes = self.function("pooling", name), " ".join(f"axis_{number}" for number in range(u.ndim))
        self.same(lambda function: function(u), kernel, f"{name}(u)", axes)
        self.leaves(kernel.student, u=u)

    # Points

    def points(self, n_q: int, n_k: int, d: int, d_v: int) -> Points:
        """Random queries, keys and values."""
        return {"queries": self.random(n_q, d), "keys": self.random(n_k, d), "values": self.random(n_k, d_v)}

    def grid(self, sizes: list[int], d_v: int) -> Points:
        """Points with small integer coordinates: some queries equal keys, others are halfway between two keys."""
        n_q, n_k = sizes
        keys = 2.0 * self.rng.integers(-2, 3, size=(n_k, 2))
        keys[-1] = keys[0] + np.array([4.0, 0.0])
        queries = self.rng.integers(-5, 6, size=(n_q, 2)).astype(float)
        queries[:2] = keys[0], keys[0] + np.array([2.0, 0.0])
        return {"queries": queries, "keys": keys, "values": self.random(n_k, d_v)}

    def some_unreached(self, n_q: int, n_k: int) -> Points:
        """Points for width 0.1: one query is over 6 widths from every key; another query and a key are out of reach."""
        points = {name: 0.1 * value for name, value in self.points(n_q + 2, n_k, 2, 2).items()}
        for name in ("queries", "keys"):  # left of the origin, where the first query and key are
            points[name][:, 0] = -np.abs(points[name][:, 0])
            points[name][0] = 0
        points["queries"][-2:] = [0.62, 0.0], [9.0, 0.0]
        points["keys"][-1] = [-9.0, 0.0]
        return points

    def cases(self) -> list[tuple[str, float, Points]]:
        """Kernels provided to students, with widths and points for which each query reaches some keys."""
        n_q, n_k = self.sizes(2)
        width = 0.3 + abs(float(self.random(1)[0]))
        # All keys are six to eight widths away: their kernel values are tiny, but the keys are reached.
        far = self.points(n_q, n_k, 2, 2)
        far["queries"] = 0.1 * far["queries"] + np.array([7.0, 0.0])
        far["keys"] *= 0.1
        return [
            ("gaussian", width, self.points(n_q, n_k, self.pick(1, 3), self.pick(1, 2))),
            ("gaussian", width, self.points(n_k, n_k, 2, 3)),
            ("gaussian", 1.0, far),
            ("gaussian", width, self.points(1, n_k, 2, 1)),
            ("constant", width, self.points(n_q, self.pick(1, 3), 2, 2)),
        ]

    # Pooling

    def test_attention_pooling(self):
        """Check random sizes, tiny kernel values, queries with no key in reach, equidistant keys, and tensor widths."""
        cases, alone, points = self.cases(), self.grid(self.sizes(2), 3), self.points(4, 5, 2, 2)
        with self.part("reached"):
            for name, width, given in cases:
                self.pool(name, width, given)
            self.learns_width(points, 0.8, but=())
            arguments = {**points, "kernel": self.student.pooling.gaussian, "width": np.array(0.8)}
            self.leaves(self.student.pooling.attention_pooling, **arguments)
        with self.part("unreached"):
            self.pool("gaussian", NARROW, alone)
            self.pool("gaussian", 0.1, self.some_unreached(*self.sizes(2)))
            self.learns_width(alone, NARROW)

    def pool(self, name: str, width: float, points: Points) -> None:
        """Fail unless `attention_pooling` is correct with a given kernel."""

        def run(modules: Any) -> Any:
            kernel = getattr(modules.pooling, name)
            return modules.pooling.attention_pooling(**points, kernel=kernel, width=width)

        self.compare(run(self.student), self.right(run, self.reference), "attention_pooling")

    def compare(self, actual: Any, right: Any, call: str) -> None:
        """Fail unless the estimates and weights are correct."""
        estimates, weights = self.items(actual, 2, call)
        self.assert_tensor(weights, right[1], "weights", "n_q n_k")
        self.assert_tensor(estimates, right[0], "estimates", "n_q d_v")

    def learns_width(self, points: Points, width: float, but: Collection[str] = ("queries", "keys")) -> None:
        """If the width is a tensor, fail unless its gradient is correct and finite.

        Args:
            but: points whose gradients are not checked: where a query equals a key, their distance has no slope.
        """
        outputs = [self.random(len(points["queries"]), n) for n in (points["values"].shape[1], len(points["keys"]))]

        def differentiate(modules: Any) -> Any:
            arguments = {**points, "kernel": modules.pooling.gaussian, "width": np.array(width)}
            return modules.pooling.attention_pooling.gradients(outputs, **arguments)

        right, actual = self.right(differentiate, self.reference), differentiate(self.student)
        self.same_gradient("width", actual.inputs[-1], right.inputs[-1], "")
        for name, gradient, expected in zip(points, actual.inputs, right.inputs, strict=False):
            if name not in but:
                self.same_gradient(name, gradient, expected, "points features")

    # The width as a parameter

    def test_kernel_regression(self):
        """Check other widths and kernels, and the gradient of the width."""
        for name, width, points in [*self.cases(), ("gaussian", NARROW, self.grid(self.sizes(2), 3))]:
            self.regression(name, width, points)

    def regression(self, name: str, width: float, points: Points) -> None:
        """Fail unless a regression model pools with its width and learns the width."""
        model = self.both(lambda modules: modules.pooling.KernelRegression(getattr(modules.pooling, name), width))
        for given in (points, {**points, "queries": points["queries"][::-1].copy()}):
            right = self.right(lambda reference: reference(**given), model.reference)  # noqa: B023
            self.compare(model.student(**given), right, "forward")
        self.learns(model, points, [self.random(*result.shape) for result in right], but=("queries", "keys"))
        self.keeps_arguments(model.student, points)

    def test_leave_one_out(self):
        """Check random sizes, isolated pairs, equidistant neighbours, and the gradient of the width."""
        (n,) = self.sizes(1)
        width = 0.3 + abs(float(self.random(1)[0]))
        cases = [
            ("gaussian", self.points(1, n, self.pick(1, 2, 3), self.pick(1, 2))),
            ("gaussian", self.points(1, 2, 2, 2)),
            ("constant", self.points(1, n, 2, 1)),
        ]
        alone = self.grid([2, n], 3)
        with self.part("reached"):
            for name, points in cases:
                self.leave_out(name, width, points)
        with self.part("unreached"):
            self.leave_out("gaussian", NARROW, alone)
            points = self.some_unreached(n, n + 2)
            self.leave_out("gaussian", 0.1, {"keys": points["queries"], "values": points["values"]})

    def leave_out(self, name: str, width: float, points: Points) -> None:
        """Fail unless each value is predicted from all other pairs."""
        pairs = {key: points[key] for key in ("keys", "values")}
        model = self.both(lambda modules: modules.pooling.KernelRegression(getattr(modules.pooling, name), width))
        right = self.right(lambda reference: reference.leave_one_out(**pairs), model.reference)
        predictions, weights = self.items(model.student.leave_one_out(**pairs), 2, "leave_one_out")
        self.assert_tensor(weights, right[1], "weights", "n n")
        self.assert_tensor(predictions, right[0], "predictions", "n d_v")
        outputs = [self.random(*result.shape) for result in right]
        self.learns(model, pairs, outputs, but=("keys",), method="leave_one_out")
        self.keeps_arguments(model.student, pairs, "leave_one_out")

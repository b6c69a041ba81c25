"""Stage 1, hidden: kernels of any shape, pooling in many sizes, near and far, widths that are learned."""

from typing import Any

import numpy as np

from autograder.assignments.attention.hidden.case import AttentionTestCase

NARROW = 0.01  # a Gaussian of this width is 0, and not only small, at a distance of 1


class TestPooling(AttentionTestCase):
    def test_kernels(self):
        """Scaled distances of other shapes, at 0, at 1 and far away."""
        for shape in ((self.pick(4, 7),), (3, self.pick(2, 5)), (2, 3, 4)):
            u = np.abs(self.random(*shape))
            u.flat[:3] = 0.0, 1.0, 1000.0
            for name in ("boxcar", "triangular", "epanechnikov"):
                kernel = self.function("pooling", name)
                axes = " ".join(f"axis_{number}" for number in range(u.ndim))
                self.same(lambda function: function(u), kernel, f"{name}(u)", axes)  # noqa: B023
                self.leaves(kernel.student, u=u)

    def points(self, n_q: int, n_k: int, d: int, d_v: int) -> dict[str, np.ndarray]:
        """Random queries, keys and values."""
        return {"queries": self.random(n_q, d), "keys": self.random(n_k, d), "values": self.random(n_k, d_v)}

    def grid(self, n_q: int, n_k: int, d_v: int) -> dict[str, np.ndarray]:
        """Points with small whole coordinates: some queries are keys, others lie between keys, equally far from two."""
        keys = 2.0 * self.rng.integers(-2, 3, size=(n_k, 2))
        keys[-1] = keys[0] + np.array([4.0, 0.0])
        queries = self.rng.integers(-5, 6, size=(n_q, 2)).astype(float)
        queries[:2] = keys[0], keys[0] + np.array([2.0, 0.0])
        return {"queries": queries, "keys": keys, "values": self.random(n_k, d_v)}

    def cases(self) -> list[tuple[str, float, dict[str, np.ndarray]]]:
        """Kernels, widths and points."""
        n_q, n_k = self.sizes(2)
        near = 0.3 + abs(float(self.random(1)[0]))
        # All keys are six to eight widths away: their kernel is tiny, but they are reached.
        far = self.points(n_q, n_k, 2, 2)
        far["queries"] = 0.1 * far["queries"] + np.array([7.0, 0.0])
        far["keys"] *= 0.1
        return [
            ("gaussian", near, self.points(n_q, n_k, self.pick(1, 3), self.pick(1, 2))),
            ("gaussian", near, self.points(n_k, n_k, 2, 3)),
            ("gaussian", 1.0, far),
            ("gaussian", near, self.points(1, n_k, 2, 1)),
            ("constant", near, self.points(n_q, self.pick(1, 3), 2, 2)),
            ("gaussian", NARROW, self.grid(n_q, n_k, 3)),
        ]

    def test_attention_pooling(self):
        """Other sizes, tiny kernels, queries that reach nothing and tied keys; a width that is a tensor."""
        for name, width, points in self.cases():
            right = self.right(lambda modules: self.pool(modules, name, width, points), self.reference)  # noqa: B023
            actual = self.items(self.pool(self.student, name, width, points), 2, "attention_pooling")
            self.assert_tensor(actual[1], right[1], "weights", "n_q n_k")
            self.assert_tensor(actual[0], right[0], "estimates", "n_q d_v")
        arguments = {**points, "kernel": self.student.pooling.gaussian, "width": np.array(NARROW)}
        self.leaves(self.student.pooling.attention_pooling, **arguments)
        self.learns_width(points, NARROW)
        self.learns_width(self.points(4, 5, 2, 2), 0.8)

    def pool(self, modules: Any, name: str, width: float, points: dict[str, np.ndarray]) -> Any:
        """What `attention_pooling` gives with a kernel that is given."""
        return modules.pooling.attention_pooling(**points, kernel=getattr(modules.pooling, name), width=width)

    def learns_width(self, points: dict[str, np.ndarray], width: float) -> None:
        """Fail unless the gradient of a width that is a tensor is right, and finite."""
        outputs = [self.random(len(points["queries"]), n) for n in (points["values"].shape[1], len(points["keys"]))]

        def differentiate(modules: Any) -> Any:
            arguments = {**points, "kernel": modules.pooling.gaussian, "width": np.array(width)}
            return modules.pooling.attention_pooling.gradients(outputs, **arguments)

        right = self.right(differentiate, self.reference)
        actual = differentiate(self.student)
        self.same_gradient("width", actual.inputs[-1], right.inputs[-1], "")
        self.same_gradient("values", actual.inputs[2], right.inputs[2], "n_k d_v")

    def test_kernel_regression(self):
        """Other widths and kernels, and the gradient of the width."""
        for name, width, points in self.cases():
            self.regression(name, width, points)

    def regression(self, name: str, width: float, points: dict[str, np.ndarray]) -> None:
        """Fail unless a regression pools with its width, and learns it."""
        model = self.both(lambda modules: modules.pooling.KernelRegression(getattr(modules.pooling, name), width))
        right = self.right(lambda reference: reference(**points), model.reference)
        actual = self.items(model.student(**points), 2, "forward")
        exact = [
            self.assert_following(
                actual[part],
                right[part],
                *axes,
                lambda: self.pooled(getattr(self.student.pooling, name), width, **points)[part],  # noqa: B023
            )
            for part, axes in ((1, ("weights", "n_q n_k")), (0, ("estimates", "n_q d_v")))
        ]
        outputs = [self.random(*result.shape) for result in right]
        self.learns(model, points, outputs, all(exact), but=("queries", "keys"))

    def test_leave_one_out(self):
        """Other sizes, pairs that are alone, tied neighbours, and the gradient of the width."""
        (n,) = self.sizes(1)
        near = 0.3 + abs(float(self.random(1)[0]))
        for name, width, points in (
            ("gaussian", near, self.points(1, n, self.pick(1, 2, 3), self.pick(1, 2))),
            ("gaussian", near, self.points(1, 2, 2, 2)),
            ("constant", near, self.points(1, n, 2, 1)),
            ("gaussian", NARROW, self.grid(2, n, 3)),
        ):
            self.left_out(name, width, points["keys"], points["values"])

    def left_out(self, name: str, width: float, keys: np.ndarray, values: np.ndarray) -> None:
        """Fail unless each value is predicted from all other pairs."""
        model = self.both(lambda modules: modules.pooling.KernelRegression(getattr(modules.pooling, name), width))
        right = self.right(lambda reference: reference.leave_one_out(keys, values), model.reference)
        actual = self.items(model.student.leave_one_out(keys, values), 2, "leave_one_out")
        exact = [
            self.assert_following(
                actual[part],
                right[part],
                *axes,
                lambda: self.pooled_without_own(getattr(self.student.pooling, name), width, keys, values)[part],  # noqa: B023
            )
            for part, axes in ((1, ("weights", "n n")), (0, ("predictions", "n d_v")))
        ]
        outputs = [self.random(*result.shape) for result in right]
        arguments = {"keys": keys, "values": values}
        self.learns(model, arguments, outputs, all(exact), but=("keys",), method="leave_one_out")
        self.keeps_arguments(model.student, arguments, "leave_one_out")

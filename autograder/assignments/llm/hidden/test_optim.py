"""Hidden tests for stage 4: other options and shapes, tiny gradients, matrices of one row or column, random models."""

from typing import Any

import numpy as np

from autograder.assignments.llm.hidden.cases import LlmTestCase

Group = tuple[list[tuple[str, Any]], list[np.ndarray]]


class TestOptimizers(LlmTestCase):
    def number(self, low: float, high: float) -> float:
        """A random number."""
        return float(low + (high - low) * self.rng.random())

    def adamw(self) -> Group:
        """Random options and parameters."""
        options = [("lr", self.number(0.2, 0.5)), ("betas", (self.number(0.4, 0.7), self.number(0.8, 0.95)))]
        options += [("eps", self.number(0.01, 0.1)), ("weight_decay", self.number(0.3, 0.6))]
        n, m, size = self.sizes(3, 2, 6)
        return options, [self.random(n, m), self.random(size), self.random(2, n, m)]

    def muon(self) -> Group:
        """Random options and matrices."""
        options = [("lr", self.number(0.2, 0.5)), ("momentum", self.number(0.5, 0.9))]
        options += [("weight_decay", self.number(0.3, 0.6)), ("steps", self.pick(3, 4, 6))]
        n, m = self.sizes(2, 2, 6)
        return options, [self.random(n, m), self.random(m, n), self.random(*self.choose([(1, m), (n, 1)]))]

    def steps(self, name: str, groups: list[Group], number: int, varied: bool = False, saved: int = 0) -> None:
        """Fail unless the optimizer moves random parameters as the reference does."""
        shapes = [p.shape for _, own in groups for p in own]
        gradients: list[list[Any]] = [[self.random(*shape) for shape in shapes] for _ in range(number)]
        rates = []
        if varied:
            gradients[0][self.pick(0, 1)] = gradients[1][len(shapes) - 1] = None
            rates = [[self.number(0.1, 0.5) for _ in groups] for _ in range(number)]
        call = lambda m: m.drivers.optimize(name, groups, gradients, rates, saved)[0]  # noqa: E731
        self.assert_steps(name, groups, gradients, self.right(call, self.reference), rates, saved)

    def test_adamw(self):
        """Check other options and shapes, tiny gradients, three groups, and a saved state."""
        with self.part("first"):
            self.steps("AdamW", [self.adamw()], 1)
            options, parameters = self.adamw()
            tiny = [[1e-8 * self.random(*p.shape) for p in parameters]]
            group = [([*options[:2], ("eps", 1e-8), options[3]], parameters)]
            call = lambda m: m.drivers.optimize("AdamW", group, tiny, [], 0)[0]  # noqa: E731
            self.assert_steps("AdamW", group, tiny, self.right(call, self.reference))
        with self.part("later"):
            self.steps("AdamW", [self.adamw()], self.pick(3, 4))
        with self.part("groups"):
            self.steps("AdamW", [self.adamw() for _ in range(3)], 4, varied=True)
        with self.part("saved"):
            self.steps("AdamW", [self.adamw(), self.adamw()], 4, saved=self.pick(1, 2))

    def test_muon(self):
        """Check other options, matrices of one row or column, three groups, and a saved state."""
        with self.part("first"):
            self.steps("Muon", [self.muon()], 1)
        with self.part("later"):
            self.steps("Muon", [self.muon()], self.pick(3, 4), saved=self.pick(1, 2))
        with self.part("groups"):
            self.steps("Muon", [self.muon() for _ in range(3)], 4, varied=True)

    def test_orthogonalise(self):
        """Check random sizes and step counts, large and small matrices, transposed memory layouts, and zeros."""
        for part in ("wide", "tall", "zeros"):
            with self.part(part):
                if part == "zeros":
                    self.needs("wide", "tall")
                for steps in (1, self.pick(2, 3, 4), 5):
                    low, high = sorted(self.sizes(2, 1, 8))
                    shape = (high, low) if part == "tall" else (low, high)
                    G = self.choose([1e-3, 1.0, 100.0]) * self.choose([self.random, self.transposed])(*shape)
                    G = 0 * G if part == "zeros" else G
                    call = lambda m, G=G, steps=steps: m.optim.orthogonalise(G, steps)  # noqa: E731
                    self.assert_tensor(call(self.student), self.right(call, self.reference), "the result", "n m")
                self.keeps_arguments(self.student.optim.orthogonalise, {"G": self.random(*shape), "steps": 2})

    def test_split(self):
        """Check random models whose layers have misleading names."""
        for part in ("kinds", "shared"):
            with self.part(part):
                rows: list[tuple[str, str, list[int]]] = [("rows", "embedding", [5, 3])]
                names = ["embedding_of_input", "head", "norm_weight", "output", "bias", "tokens"]
                kinds = [("linear", [3, 4]), ("parameter", [2, 3]), ("parameter", [3]), ("norm", [3])]
                kinds += [("conv", [3, 3, 2]), ("embedding", [4, 3])]
                for name, number in zip(names, self.rng.permutation(len(kinds)), strict=True):
                    rows.append((name, *kinds[number]))
                if part == "shared":
                    rows.append(("last", "shared", [0]))
                call = lambda m, rows=rows: m.drivers.split_of(rows)  # noqa: E731
                self.assert_split(rows, self.right(call, self.reference))

    def test_wsd(self):
        """Check random schedules at every boundary."""
        for part in ("whole", "borders"):
            with self.part(part):
                warmup, decay = self.sizes(2, 2, 7)
                total, floor = warmup + decay + self.pick(0, 3, 5), self.number(0.1, 0.4)
                schedule: list[tuple[Any, ...]] = [(step, total, warmup, decay, floor) for step in range(total)]
                if part == "borders":
                    schedule = [(step, total, warmup, decay, floor) for step in (total, total + 1, 3 * total)]
                    schedule += [(step, total, 0, decay, floor) for step in (0, total - decay, total - 1)]
                    schedule += [(step, total, warmup, 0, floor) for step in (0, total - 1, total)]
                call = lambda m, schedule=schedule: [m.optim.wsd(*given) for given in schedule]  # noqa: E731
                self.assert_factors(schedule, self.right(call, self.reference))

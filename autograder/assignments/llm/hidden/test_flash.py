"""Hidden tests for stage 2: more and fewer keys than queries, tiles of size one and full size, scores of 1,000."""

from typing import Any

import numpy as np

from autograder.assignments.llm.hidden.cases import LlmTestCase

Arrays = tuple[np.ndarray, ...]


class TestTiles(LlmTestCase):
    def test_step(self):
        """Check tiles of random sizes, very large and very small scores, and queries that see no key in a tile."""
        Q, K, D = self.sizes(3, 2, 7)
        fresh = np.full((2, Q), -np.inf), np.zeros((2, Q)), np.zeros((2, Q, D))
        with self.part("first"):
            for scale in (1.0, 300.0):
                self.step(fresh, scale * self.random(2, Q, K), self.random(2, K, D), "the first tile")
            self.step(fresh, self.random(2, Q, K) - 1000, self.random(2, K, D), "a first tile with scores near -1000")
        with self.part("next"):
            m, total = 3 * self.random(2, Q), 1 + self.rng.random((2, Q))
            state = m, total, total[..., None] * self.random(2, Q, D)
            for shift in (0.0, 8.0, -8.0):
                self.step(state, self.random(2, Q, K) + shift, self.random(2, K, D), "the next tile")
            self.step((m - 1000, *state[1:]), self.random(2, Q, K) + 1000, self.random(2, K, D), "much larger scores")
            self.step(state, self.random(2, Q, K) - 1000, self.random(2, K, D), "much smaller scores")
            arguments = dict(zip(("m", "total", "acc"), state, strict=True))
            arguments |= {"scores": self.random(2, Q, K), "v": self.random(2, K, D)}
            self.keeps_arguments(self.student.flash.online_softmax_step, arguments)
        with self.part("nothing_seen"):
            self.needs("first")
            scores, row = self.random(2, Q, K), int(self.rng.integers(Q))
            scores[:, row] = -np.inf
            self.step(fresh, scores, self.random(2, K, D), "a tile that one query may not see")
            self.step(state, scores, self.random(2, K, D), "a later tile that one query may not see")
            unseen = [values.copy() for values in state]
            unseen[0][:, row], unseen[1][:, row], unseen[2][:, row] = -np.inf, 0, 0
            self.step(tuple(unseen), self.random(2, Q, K), self.random(2, K, D), "the first keys that a query sees")

    def step(self, state: Arrays, scores: np.ndarray, v: np.ndarray, name: str) -> None:
        """Fail unless a step is correct."""

        def call(modules: Any) -> Any:
            return modules.flash.online_softmax_step(*state, scores, v)

        actual = call(self.student)
        self.assert_state(actual, self.right(call, self.reference), name)

    def test_tiles(self):
        """Check other lengths, axes and tiles, scores of 1,000, queries that see no key, and the sizes of tensors."""
        with self.part("whole"):
            for axes, blocks in (((), (1, 1)), ((2,), (3, 4)), ((2, 3), (50, 2)), ((1,), (2, 50))):
                q, k, v = self.tensors(axes, *self.sizes(4, 3, 9))
                self.tiled(q, k, v, block_q=blocks[0], block_k=blocks[1])
            self.tiled(100 * q, 10 * k, v, block_q=2, block_k=3)
        with self.part("causal"):
            for blocks in ((1, 2), (3, 3), (2, 4), (4, 50)):
                T_q, T_k, *others = self.sizes(4, 3, 9)
                q, k, v = self.tensors((2,), min(T_q, T_k), max(T_q, T_k), *others)
                self.tiled(q, k, v, block_q=blocks[0], block_k=blocks[1], causal=True)
            q, k, v = self.tensors((2,), 9, 9, 4, 3)
            self.tiled(q, k, v, block_q=3, block_k=3, causal=True)
            self.keeps_arguments(
                self.student.flash.tiled_attention, {"q": q, "k": k, "v": v, "block_q": 2, "block_k": 2, "causal": True}
            )
            q, k, v = self.tensors((2,), 8, 5, 4, 3)
            self.tiled(q, k, v, block_q=3, block_k=2, causal=True)
        with self.part("window"):
            for window, blocks in ((1, (3, 2)), (self.pick(2, 3), (2, 3)), (5, (4, 1)), (50, (2, 2))):
                q, k, v = self.tensors((2,), self.pick(6, 9), 10, 5, 3)
                self.tiled(q, k, v, block_q=blocks[0], block_k=blocks[1], causal=True, window=window)
        with self.part("small"):
            self.needs("whole", "causal")
            self.assert_small(self.pick(90, 110), 4, 16)

    def tensors(self, axes: tuple[int, ...], T_q: int, T_k: int, D: int, D_v: int) -> Arrays:
        """Queries, keys and values."""
        return self.random(*axes, T_q, D), self.random(*axes, T_k, D), self.random(*axes, T_k, D_v)

    def tiled(self, q: np.ndarray, k: np.ndarray, v: np.ndarray, **options: Any) -> None:
        """Fail unless attention in tiles is correct."""

        def call(modules: Any) -> Any:
            return modules.flash.tiled_attention(q, k, v, **options)

        out, lse = self.items(call(self.student), 2, "tiled_attention")
        right_out, right_lse = self.right(call, self.reference)
        axes = " ".join([*"abcd"[: q.ndim - 2], "T_q"])
        self.assert_tensor(out, right_out, "out", f"{axes} D_v")
        self.assert_tensor(lse, right_lse, "lse", axes, where=self.seen(right_lse))

    def test_combine(self):
        """Check random results for two sets of keys, and queries that see no key in one set or in both."""
        for part in ("both", "one_empty"):
            with self.part(part):
                T, D = self.sizes(2, 4, 8)
                out1, out2 = self.random(2, T, D), self.random(2, T, D)
                lse1, lse2 = 3 * self.random(2, T), 3 * self.random(2, T)
                if part == "one_empty":
                    for out, lse, row in ((out1, lse1, 0), (out2, lse2, 1), (out1, lse1, 2), (out2, lse2, 2)):
                        out[:, row], lse[:, row] = 0, -np.inf

                def call(modules: Any, given: Arrays = (out1, lse1, out2, lse2)) -> Any:
                    return modules.flash.combine(*given)

                out, lse = self.items(call(self.student), 2, "combine")
                right_out, right_lse = self.right(call, self.reference)
                self.assert_tensor(out, right_out, "out", "B T_q D_v")
                self.assert_tensor(lse, right_lse, "lse", "B T_q", where=self.seen(right_lse))
                arguments = {"out1": out1, "lse1": lse1, "out2": out2, "lse2": lse2}
                self.keeps_arguments(self.student.flash.combine, arguments)

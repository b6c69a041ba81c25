"""Stage 2: attention in tiles."""

import numpy as np

from autograder.assignments.llm.visible.checks import CheckingTestCase

TILES = {
    "whole": {"block_q": 4, "block_k": 3},
    "causal": {"block_q": 3, "block_k": 4, "causal": True},
    "window": {"block_q": 3, "block_k": 2, "causal": True, "window": 4},
}
LENGTH, FEATURES, BLOCK = 96, 4, 16  # of the call whose largest tensor is measured


class TestTiles(CheckingTestCase):
    def test_step(self):
        """Process a first tile of keys and a second tile with larger scores; some queries have not seen any key."""
        first = self.stored("first")
        Q, D = first["scores"].shape[-2], first["v"].shape[-1]
        fresh = np.full((2, Q), -np.inf), np.zeros((2, Q)), np.zeros((2, Q, D))
        with self.part("first"):
            self.check_step(fresh, first, "the first tile")
        with self.part("next"):
            for case, name in (("second", "a tile with larger scores"), ("lower", "a tile with smaller scores")):
                stored = self.stored(case)
                self.check_step((stored["m"], stored["total"], stored["acc"]), stored, name)
        with self.part("nothing_seen"):
            self.needs("first")
            self.check_step(fresh, self.stored("hidden"), "a tile that one query may not see")
            stored = self.stored("after")
            self.check_step((stored["m"], stored["total"], stored["acc"]), stored, "the first keys that it may see")
        arguments = {name: self.stored("second")[name] for name in ("m", "total", "acc", "scores", "v")}
        self.warn_of_changes(self.student.flash.online_softmax_step, arguments)

    def check_step(self, state: tuple[np.ndarray, ...], stored: dict[str, np.ndarray], name: str) -> None:
        """Fail unless the state's weighted mean and the logarithm of its sum match the stored state."""
        self.assert_state(
            self.student.flash.online_softmax_step(*state, stored["scores"], stored["v"]),
            (stored["new_m"], stored["new_total"], stored["new_acc"]),
            name,
        )

    def test_tiles(self):
        """Attend to all keys, earlier keys or the last four keys, in uneven tiles and without a large tensor."""
        stored = self.stored("tiles")
        for part, options in TILES.items():
            with self.part(part):
                out, lse = self.items(
                    self.student.flash.tiled_attention(stored["q"], stored["k"], stored["v"], **options),
                    2,
                    "tiled_attention",
                )
                self.assert_tensor(out, stored[f"{part}_out"], "out", "B H T_q D_v")
                self.assert_tensor(lse, stored[f"{part}_lse"], "lse", "B H T_q", where=self.seen(stored[f"{part}_lse"]))
        with self.part("small"):
            self.needs("whole", "causal")
            self.assert_small(LENGTH, FEATURES, BLOCK)
        arguments = {name: stored[name] for name in "qkv"} | TILES["causal"]
        self.warn_of_changes(self.student.flash.tiled_attention, arguments)

    def test_combine(self):
        """Combine the results for two sets of keys; one query sees keys of only one set."""
        for part in ("both", "one_empty"):
            with self.part(part):
                stored = self.stored(part)
                given = {name: stored[name] for name in ("out1", "lse1", "out2", "lse2")}
                out, lse = self.items(self.student.flash.combine(**given), 2, "combine")
                self.assert_tensor(out, stored["out"], "out", "B T_q D_v")
                self.assert_tensor(lse, stored["lse"], "lse", "B T_q", where=self.seen(stored["lse"]))
        self.warn_of_changes(self.student.flash.combine, given)

"""Stage 4: optimizers."""

from typing import Any

from autograder.assignments.llm.visible import cases
from autograder.assignments.llm.visible.checks import CheckingTestCase

# The number of groups and of steps, whether rates change and gradients are missing, and when the state is saved.
CASES = {
    "first": (1, 1, False, 0),
    "later": (1, 3, False, 0),
    "groups": (2, 4, True, 0),
    "saved": (1, 3, False, 2),
}


class TestOptimizers(CheckingTestCase):
    def check_steps(self, name: str, groups: Any, part: str) -> None:
        """Fail unless the optimizer moves the stored parameters as the reference does."""
        stored, (number, steps, varied, saved) = self.stored(f"{name}.{part}"), CASES[part]
        shapes = [shape for _, own in groups[:number] for shape in own]
        values, sent = [stored[f"p.{p}"] for p in range(len(shapes))], []
        for options, own in groups[:number]:
            sent.append((list(options), values[: len(own)]))
            values = values[len(own) :]
        self.assert_steps(
            name,
            sent,
            [[stored.get(f"g.{step}.{p}") for p in range(len(shapes))] for step in range(steps)],
            [[stored[f"after.{step}.{p}"] for p in range(len(shapes))] for step in range(steps)],
            cases.RATES[:steps] if varied else (),
            saved,
        )

    def test_adamw(self):
        """Take one AdamW step, then three; train two groups with missing gradients and changing rates; load a state."""
        for part in CASES:
            with self.part(part):
                self.check_steps("AdamW", cases.ADAMW, part)

    def test_orthogonalise(self):
        """Orthogonalise wide, tall and square matrices, a single row or column, and a matrix of zeros."""
        for part, sizes in cases.MATRICES.items():
            with self.part(part):
                if part == "zeros":
                    self.needs("wide", "tall")
                for number, (_, _, steps) in enumerate(sizes):
                    stored = self.stored(f"{part}.{number}")
                    X = self.student.optim.orthogonalise(stored["G"], steps)
                    self.assert_tensor(X, stored["X"], "the result", "n m")
        arguments = {"G": self.stored("wide.0")["G"], "steps": 5}
        self.warn_of_changes(self.student.optim.orthogonalise, arguments, batch=False)

    def test_muon(self):
        """Take one Muon step, then three; train two groups with missing gradients and changing rates."""
        for part in ("first", "later", "groups"):
            with self.part(part):
                self.check_steps("Muon", cases.MUON, part)

    def test_split(self):
        """Split the parameters of a model with several kinds of layers, and of a model with a shared embedding."""
        for part, rows in cases.MODELS.items():
            with self.part(part):
                stored = self.stored(f"split.{part}")
                self.assert_split(rows, (stored["hidden"], stored["others"]))

    def test_wsd(self):
        """Compute all steps of a schedule, steps after the end, and schedules without warm-up or decay."""
        for part, schedule in cases.SCHEDULES.items():
            with self.part(part):
                self.assert_factors(schedule, self.stored("wsd")[part])

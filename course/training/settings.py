"""The training settings of a run, which are saved with its state."""

from dataclasses import dataclass


@dataclass(frozen=True)
class TrainConfig:
    """Training settings. The learning rate rises linearly for `warmup_steps` and then falls linearly to zero.

    The result is the mean of `average` sets of weights: those after the last step, those `average_every` steps earlier,
    and so on.
    """

    epochs: int = 8
    batch_tokens: int = 2000  # of all processes together
    peak_rate: float = 1.2e-3
    warmup_steps: int = 800
    label_smoothing: float = 0.1
    clip_norm: float = 1.0
    seed: int = 1
    average: int = 1
    average_every: int = 100

    def rate(self, step: int, total_steps: int) -> float:
        """Return the learning rate for a step, counted from 0."""
        rising = (step + 1) / self.warmup_steps
        falling = (total_steps - step) / max(1, total_steps - self.warmup_steps)
        return self.peak_rate * max(0.0, min(rising, falling))

    def averaged_steps(self, total_steps: int) -> list[int]:
        """Return the steps after which the weights are included in the mean."""
        steps = range(total_steps, 0, -self.average_every)
        return sorted(steps[: self.average])

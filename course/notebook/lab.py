"""A lab: train several models that differ in one setting, and compare their curves and results."""

from collections.abc import Mapping, Sequence

from course.notebook.display import Table
from course.notebook.plots import Curves, show_curves
from course.text import Pair
from course.training.small import Curve, count_exact, held_out_loss, train_small
from course.training.trainer import Trainer


def compare(runs: Mapping[str, Trainer], test: Sequence[Pair], title: str) -> dict[str, Curve]:
    """Train a model for each run, draw the curves, and count the held-out pairs that each model gets exactly right.

    An interrupt stops the current run. The next call does not repeat finished runs.

    Returns:
        The curves of the runs that have started.
    """
    from IPython.display import display

    curves, rows = {}, []
    for name, trainer in runs.items():
        print(f"{name}:")
        curves[name] = train_small(trainer)
        if not curves[name].done:
            return curves
        exact, loss = count_exact(trainer.model, test), held_out_loss(trainer.model, test)
        rows.append([name, f"{curves[name].losses[-1]:.2f}", f"{loss:.2f}", f"{exact} of {len(test)}"])
    draw(curves, title)
    table = Table(["run", "loss in training", "loss on new words", "exactly right"], rows)
    display(table)  # type: ignore[no-untyped-call]
    return curves


def draw(curves: Mapping[str, Curve], title: str) -> None:
    """Plot the loss of each run over its steps."""
    steps = next(iter(curves.values())).steps
    ends = ", ".join(f"{name} {curve.losses[-1]:.2f}" for name, curve in curves.items())
    show_curves(
        Curves(title, "step", "loss per token", steps, {name: curve.losses for name, curve in curves.items()}),
        description=f"{title}: the loss against the step, from {steps[0]} to {steps[-1]}. At the end: {ends}.",
        size=(7, 4.2),
    )

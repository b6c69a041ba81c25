"""Regression with attention, for the notebooks: plots of a function's estimates, with the weights below."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from course.heatmaps import show_heatmaps
from course.notebook.plots import Curves, show_curves

if TYPE_CHECKING:
    import torch


def show_regressions(
    queries: "torch.Tensor",
    truth: "torch.Tensor",
    data: "tuple[torch.Tensor, torch.Tensor]",
    found: "Mapping[str, tuple[torch.Tensor, torch.Tensor]]",
) -> None:
    """Draw estimates of one function side by side, and their weights as heatmaps on one scale.

    Args:
        queries: (n_q, 1), in ascending order.
        truth: the function at the queries, (n_q, 1).
        data: the measurements: keys (n_k, 1) and values (n_k, 1).
        found: the estimates (n_q, 1) and weights (n_q, n_k), by name.
    """
    from IPython.display import display

    x, points = queries[:, 0].tolist(), tuple(side[:, 0].tolist() for side in data)
    low, high = min(*points[1], *truth[:, 0].tolist()), max(*points[1], *truth[:, 0].tolist())
    panels = [
        Curves(
            name,
            "x",
            "" if number else "y",
            x,
            {"the function": truth[:, 0].tolist(), "estimate": estimates[:, 0].tolist()},
            ylim=(low - 0.3, high + 0.3),
            legend=number == 0,
            points=(points[0], points[1]),
        )
        for number, (name, (estimates, _)) in enumerate(found.items())
    ]
    errors = {name: ((estimates - truth) ** 2).mean().item() for name, (estimates, _) in found.items()}
    words = ", ".join(f"{name} {error:.2f}" for name, error in errors.items())
    width = 2.8 * len(panels)
    show_curves(
        *panels, description=f"Estimates of one function. Their mean squared errors: {words}.", size=(width, 3.6)
    )
    weights = [matrix for _, matrix in found.values()]
    figure = show_heatmaps(
        [weights],
        xlabel="key",
        ylabel="query",
        titles=list(found),
        figsize=(width, 3.8),
        limits=(0, max(matrix.max().item() for matrix in weights)),
    )
    display(figure)  # type: ignore[no-untyped-call]

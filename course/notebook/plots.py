"""Drawing for the notebooks, so that a cell shows its idea: curves side by side, each with its legend below."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from course.notebook.display import show

# Colour, line and marker differ together, so that curves can be told apart in grey as well.
STYLES = (("C0", "-", "o"), ("C1", "--", "s"), ("C2", "-.", "v"), ("C3", ":", "D"), ("C4", "-", "^"), ("k", "--", "x"))


@dataclass(frozen=True)
class Curves:
    """One panel: curves by name over common values of x.

    `log` names the axes that are logarithmic: "", "x", "y" or "xy". `level` draws a dashed horizontal line, by name.
    """

    title: str
    xlabel: str
    ylabel: str
    x: Sequence[float]
    curves: Mapping[str, Sequence[float]]
    log: str = ""
    ylim: tuple[float | None, float | None] | None = None
    level: tuple[str, float] | None = None
    legend: bool = True


def show_curves(*panels: Curves, description: str, size: tuple[float, float] | None = None) -> None:
    """Draw panels side by side and display them, with a text for those who cannot see them.

    Args:
        panels: what to draw.
        description: the figure in words.
        size: of the whole figure, in inches.
    """
    import matplotlib.pyplot as plt

    figure, grid = plt.subplots(
        1, len(panels), figsize=size or (4.4 * len(panels) + 0.6, 3.8), layout="constrained", squeeze=False
    )
    for axes, panel in zip(grid[0], panels, strict=True):
        draw_curves(axes, panel)
    show(figure, description)


def draw_curves(axes: Any, panel: Curves) -> None:
    """Draw one panel into given axes of matplotlib. The legend stands below, where it covers no curve."""
    marked = len(panel.x) <= 12  # markers on every one of many points hide the curve
    for (name, values), (colour, line, marker) in zip(panel.curves.items(), STYLES, strict=False):
        style = {"marker": marker, "markersize": 4} if marked else {}
        axes.plot(panel.x, values, color=colour, linestyle=line, label=name, **style)
    if panel.level is not None:
        name, height = panel.level
        axes.axhline(height, color="0.4", linestyle=(0, (1, 2)), label=name)
    axes.set(title=panel.title, xlabel=panel.xlabel, ylabel=panel.ylabel)
    axes.set_xscale("log" if "x" in panel.log else "linear")
    axes.set_yscale("log" if "y" in panel.log else "linear")
    if panel.ylim is not None:
        axes.set_ylim(*panel.ylim)
    if panel.legend:
        axes.legend(fontsize=8, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2)

"""Plots for the notebooks: curves with the legend below, tables of words, clocks."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from course.notebook.display import show

# Colour, line style and marker differ together, so that curves are also distinguishable in greyscale.
STYLES: tuple[tuple[str, Any, str], ...] = (
    *(("C0", "-", "o"), ("C1", "--", "s"), ("C2", "-.", "v"), ("C3", ":", "D")),
    *(("C4", (0, (7, 2, 1, 2, 1, 2)), "^"), ("k", (0, (2, 4)), "x")),
)


@dataclass(frozen=True)
class Curves:
    """One panel: named curves over the same x values.

    `log` names the logarithmic axes: "", "x", "y" or "xy". `level` is the name and the height of a dashed horizontal
    line. `points` are measured x and y values, drawn as small circles.
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
    points: tuple[Sequence[float], Sequence[float]] | None = None


def show_curves(*panels: Curves, description: str, size: tuple[float, float] | None = None) -> None:
    """Draw panels side by side and display them, with alternative text; a single panel is smaller on narrow pages.

    Args:
        panels: the panels to draw.
        description: the figure in words.
        size: of the whole figure, in inches.
    """
    figure = _panels(panels, size or (4.4 * len(panels) + 0.6, 3.8))
    show(figure, description, _panels(panels, (2.8, 3.4)) if len(panels) == 1 else None)


def _panels(panels: Sequence[Curves], size: tuple[float, float]) -> Any:
    import matplotlib.pyplot as plt

    figure, grid = plt.subplots(1, len(panels), figsize=size, layout="constrained", squeeze=False)
    for axes, panel in zip(grid[0], panels, strict=True):
        draw_curves(axes, panel)
    return figure


def draw_curves(axes: Any, panel: Curves) -> None:
    """Draw one panel into the given matplotlib axes. The legend is below the plot, where it hides no curve."""
    marked = len(panel.x) <= 12  # markers on many points would hide the curve
    for under, ((name, values), (colour, line, marker)) in enumerate(zip(panel.curves.items(), STYLES, strict=False)):
        # Covered curves are wider, so that both edges remain visible.
        width = 1.5 + 0.4 * (len(panel.curves) - 1 - under)
        style = {"marker": marker, "markersize": 4} if marked else {"linewidth": width}
        axes.plot(panel.x, values, color=colour, linestyle=line, label=name, **style)
    if panel.points is not None:
        axes.plot(*panel.points, "o", color="0.45", markerfacecolor="none", markersize=4, zorder=1, label="data")
    if panel.level is not None:
        name, height = panel.level
        axes.axhline(height, color="0.4", linestyle=(0, (1, 2)), label=name)
    axes.set(title=panel.title, xlabel=panel.xlabel, ylabel=panel.ylabel)
    axes.set_xscale("log" if "x" in panel.log else "linear")
    axes.set_yscale("log" if "y" in panel.log else "linear")
    if marked and "x" in panel.log:  # otherwise labels such as 2 x 10² overlap
        axes.set_xticks(panel.x, [f"{x:g}" for x in panel.x], fontsize=9)
        axes.xaxis.minorticks_off()
    if panel.ylim is not None:
        axes.set_ylim(*panel.ylim)
    if panel.legend:
        columns = 2 if axes.figure.get_figwidth() > 4 else 1
        place = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.2), "ncols": columns}
        axes.legend(fontsize=9, frameon=False, handlelength=4, **place)


def show_words(
    panels: Mapping[str, Sequence[Sequence[str]]], xlabel: str, ylabel: str, description: str, cell: float = 0.55
) -> None:
    """Draw tables of short words side by side, with one colour per word; empty cells have no colour.

    Args:
        panels: rows of words, by title.
        xlabel, ylabel: labels of columns and rows.
        description: the figure in words.
        cell: the size of a cell in inches.
    """
    import matplotlib.pyplot as plt
    from matplotlib.patches import Rectangle

    words = list(dict.fromkeys(word for rows in panels.values() for row in rows for word in row if word))
    colours = ("0.88", "#ffe3c2", "#d3e6fb", "#e4dcf6", "#d9f0d6")  # light, so that black text is readable on them
    sizes = [(len(rows), len(rows[0])) for rows in panels.values()]
    width, height = sum(columns for _, columns in sizes) * cell + 1.2 * len(panels), max(sizes)[0] * cell + 1
    figure, grid = plt.subplots(1, len(panels), figsize=(width, height), layout="constrained", squeeze=False)
    for axes, (title, rows) in zip(grid[0], panels.items(), strict=True):
        for i, row in enumerate(rows):
            for j, word in enumerate(row):
                face = colours[words.index(word) % len(colours)] if word else "none"
                axes.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, facecolor=face, edgecolor="0.6"))
                axes.text(j, i, word, ha="center", va="center", fontsize=8, color="black")
        axes.set(title=title, xlabel=xlabel, xlim=(-0.5, len(rows[0]) - 0.5), ylim=(len(rows) - 0.5, -0.5))
        axes.set(xticks=range(len(rows[0])), yticks=range(len(rows)), aspect="equal")
    grid[0][0].set_ylabel(ylabel)
    show(figure, description)


def show_clocks(moments: Sequence[float], slowness: Sequence[float], description: str) -> None:
    """Draw a row of clock faces for each slowness: at time t the hand is at angle t / slowness.

    The angle is measured from the x axis, counterclockwise.
    """
    import matplotlib.pyplot as plt
    from matplotlib.patches import Circle

    size = (1.25 * len(moments), 1.3 * len(slowness))
    figure, faces = plt.subplots(len(slowness), len(moments), figsize=size, layout="constrained", squeeze=False)
    for number, (row, slow) in enumerate(zip(faces, slowness, strict=True)):
        for face, t in zip(row, moments, strict=True):
            face.add_patch(Circle((0, 0), 1, fill=False, color="0.6"))
            angle = t / slow
            face.plot([0, math.cos(angle)], [0, math.sin(angle)], linewidth=3, solid_capstyle="round")
            face.set(xlim=(-1.15, 1.15), ylim=(-1.15, 1.15), aspect="equal", xticks=[], yticks=[], frame_on=False)
            if number == 0:
                face.set_title(f"t = {t:g}", fontsize=10)
        row[0].set_ylabel(f"angle\nt / {slow:g}", rotation=0, labelpad=25, va="center")
    show(figure, description)

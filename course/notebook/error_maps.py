"""Heatmaps of the differences between a failed test's tensor and the expected one."""

from typing import TYPE_CHECKING, Any

from course.heatmaps import show_heatmaps

if TYPE_CHECKING:
    import numpy as np

    from autograder.diagnosis.compare_tensors import Incorrect
    from course.figure_with_alt_text import AltFigure

PANELS = 4  # at most
CELLS = 64  # at most, along each axis of a panel


def error_image(error: "Incorrect") -> Any:
    """Return the figure as HTML for a template, or "" if there is nothing to show."""
    from markupsafe import Markup

    return Markup(error_figure(error).image())


def error_figure(error: "Incorrect") -> "AltFigure":
    """Draw the absolute differences along the last two axes: a panel for each head or sentence, up to four.

    The panels start at the first sentence with a wrong number. Elements that do not count, such as padding, are
    hatched.
    """
    import numpy as np

    assert error.expected is not None
    with np.errstate(all="ignore"):
        difference = np.abs(error.actual.astype(np.float64) - error.expected.astype(np.float64))
    counts = np.broadcast_to(np.True_ if error.where is None else error.where, difference.shape)
    difference = np.where(np.isfinite(difference), difference, np.nan)
    whole = not np.issubdtype(error.expected.dtype, np.floating)
    if whole:  # two tokens are either equal or different
        difference = (difference != 0).astype(float)
    names = error.axes.split()
    while difference.ndim < 2:
        difference, counts, names = difference[None], counts[None], ["", *names]
    fixed: list[str] = []
    while difference.ndim > 3:  # (B, H, T, d): show the heads of one sentence
        index = int(np.argmax([np.nanmax(part, initial=0) > 0 for part in np.where(counts, difference, 0)]))
        fixed.append(f"{names[0]}={index}")
        difference, counts, names = difference[index], counts[index], names[1:]
    if difference.ndim == 2:
        difference, counts, names = difference[None], counts[None], ["", *names]
    wrong = [int(i) for i in range(len(difference)) if np.nanmax(np.where(counts[i], difference[i], 0), initial=0) > 0]
    start = min(wrong[0] if wrong else 0, max(0, len(difference) - PANELS))
    shown = range(start, min(start + PANELS, len(difference)))
    panels = np.stack([_coarse(np.where(counts[i], difference[i], 0), np.nanmax) for i in shown])
    masks = np.stack([_coarse(~counts[i], np.min) for i in shown])
    titles = [", ".join([*fixed, f"{names[0]}={i}"] if names[0].isidentifier() else fixed) for i in shown]
    rows, columns = panels.shape[1:]
    labels = [
        f"{name} ({size} in {CELLS} cells)" if size > CELLS else name
        for name, size in zip(names[1:], difference.shape[1:], strict=True)
    ]
    wide = columns > 2 * rows  # wide panels are stacked vertically
    across = 1 if wide else 2 if len(shown) == PANELS else len(shown)  # four in a row are too wide for a notebook
    down = len(shown) // across
    grid = (down, across, rows, columns)
    scale = max(0.04, min(0.22, 4 / (columns * across), 5 / (rows * down)))
    return show_heatmaps(
        panels.reshape(grid),
        xlabel=labels[1],
        ylabel=labels[0] or "row",
        titles=titles,
        figsize=(1.6 + across * (0.5 + scale * columns), 0.9 + down * (0.5 + scale * rows)),
        cmap="viridis",
        masks=masks.reshape(grid),
        limits=(0, max(float(np.nanmax(panels, initial=0)), 1e-12)),
        label="differs" if whole else "|got - expected|",
    )


def _coarse(panel: "np.ndarray", pool: Any) -> "np.ndarray":
    """Reduce a panel to at most `CELLS` cells along each axis; a cell then covers several elements."""
    import numpy as np

    for axis in (0, 1):
        size = panel.shape[axis]
        if size > CELLS:
            parts = np.array_split(panel, CELLS, axis=axis)
            panel = np.stack([pool(part, axis=axis) for part in parts], axis=axis)
    return panel

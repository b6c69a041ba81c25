"""Pictures: images cut into patches, the attention of a Vision Transformer, and several models side by side."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from course.figure_with_alt_text import AltFigure


def show_patches(image: Any, patch_size: int, title: str = "the image") -> "AltFigure":
    """Draw an image with the borders of its patches, and the patches in the order in which the model reads them.

    Args:
        image: (height, width), from 0 (paper) to 1 (ink).
        patch_size: the side of a patch in pixels.
        title: the title of the image.
    """
    import numpy as np

    from course.figure_with_alt_text import AltFigure

    pixels = np.asarray(image, dtype=float)
    rows, columns = pixels.shape[0] // patch_size, pixels.shape[1] // patch_size
    figure = AltFigure(figsize=(3 + 0.55 * columns + 2.5, 3.4), facecolor="white", layout="constrained")
    figure.alt = (
        f"{title}: {pixels.shape[0]} x {pixels.shape[1]} pixels, cut into {rows} x {columns} patches, which are "
        "numbered from left to right, then from top to bottom."
    )
    halves: Any = figure.subfigures(1, 2, width_ratios=(3, 0.55 * columns + 2.5))
    whole, parts = halves
    axes = whole.subplots()
    axes.imshow(pixels, cmap="gray_r", vmin=0, vmax=1)
    for border in range(1, rows):
        axes.axhline(border * patch_size - 0.5, color="C1")
    for border in range(1, columns):
        axes.axvline(border * patch_size - 0.5, color="C1")
    axes.set(title=title, xticks=[], yticks=[])
    for number, patch in enumerate(parts.subplots(rows, columns, squeeze=False).flat):
        row, column = divmod(number, columns)
        top, left = row * patch_size, column * patch_size
        patch.imshow(pixels[top : top + patch_size, left : left + patch_size], cmap="gray_r", vmin=0, vmax=1)
        patch.set(xticks=[], yticks=[])
        patch.set_title(str(number), fontsize=8, pad=2)
    return figure


def show_looking(
    images: Any,
    weights: Any,
    titles: Sequence[str],
    row_titles: Sequence[str],
    boxes: Sequence[tuple[int, int, int]] | None = None,
    label: str = "attention weight",
) -> "AltFigure":
    """Draw each image next to maps of its patch weights; all maps have the same scale.

    Args:
        images: (N, height, width).
        weights: (N, panels, rows of patches, columns of patches).
        titles: titles of the panels; row_titles: titles of the images.
        boxes: for each image a square to mark: row and column of its upper left pixel, and its side.
        label: a name for the weights.
    """
    import numpy as np
    from matplotlib.patches import Rectangle

    from course.figure_with_alt_text import AltFigure

    pixels, maps = np.asarray(images, dtype=float), np.asarray(weights, dtype=float)
    N, panels = maps.shape[:2]
    figure = AltFigure(figsize=(1.7 * (1 + panels) + 1.2, 1.85 * N + 0.5), facecolor="white", layout="constrained")
    grid = figure.subplots(N, 1 + panels, squeeze=False)
    height, width = pixels.shape[1:]
    for i in range(N):
        grid[i, 0].imshow(pixels[i], cmap="gray_r", vmin=0, vmax=1)
        grid[i, 0].set_ylabel(row_titles[i])
        for j in range(panels):
            axes: Any = grid[i, 1 + j]
            extent = (-0.5, width - 0.5, height - 0.5, -0.5)  # in pixel coordinates
            drawn = axes.imshow(maps[i, j], cmap="cividis", vmin=0, vmax=maps.max(), extent=extent)
            if i == 0:
                axes.set_title(titles[j])
        for axes in grid[i]:
            axes.set(xticks=[], yticks=[])
            if boxes is not None:
                top, left, side = boxes[i]
                corner = (left - 0.5, top - 0.5)
                axes.add_patch(Rectangle(corner, side, side, fill=False, edgecolor="C1", linewidth=1.5))
    figure.colorbar(drawn, ax=grid, shrink=min(1.0, 2 / N), label=label)
    figure.alt = f"{N} images with {panels} maps of {label} each. " + " ".join(
        f"{row_titles[i]}, {titles[j]}: largest {maps[i, j].max():.2f} at {_place(maps[i, j])}."
        for i, j in np.ndindex(N, panels)
    )
    return figure


def _place(weights: "np.ndarray") -> str:
    """Describe the position of the largest weight."""
    row, column = divmod(int(weights.argmax()), weights.shape[1])
    return f"row {row}, column {column} of the patches"


@dataclass(frozen=True)
class Panel:
    """An attention map with the tokens of its queries and keys."""

    title: str
    weights: Any  # (queries, keys)
    queries: Sequence[str]
    keys: Sequence[str]
    forbidden: Any = None  # (queries, keys), True where a query may not attend


def show_side_by_side(panels: Sequence[Panel]) -> "AltFigure":
    """Draw attention maps of different models side by side, on one scale; masked cells are hatched."""
    import numpy as np
    from matplotlib.collections import PolyCollection

    from course.figure_with_alt_text import AltFigure

    widths = [len(panel.keys) for panel in panels]
    tallest = max(len(panel.queries) for panel in panels)
    size = (0.27 * sum(widths) + 1.1 * len(panels) + 0.6, 0.27 * tallest + 1.6)
    figure = AltFigure(figsize=size, facecolor="white", layout="constrained")
    corners = np.array([(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)])
    grid = figure.subplots(1, len(panels), squeeze=False, width_ratios=widths)[0]
    for axes, panel in zip(grid, panels, strict=True):
        drawn = axes.imshow(np.asarray(panel.weights), cmap="cividis", vmin=0, vmax=1)
        forbidden = np.asarray(False if panel.forbidden is None else panel.forbidden, dtype=bool)
        if forbidden.any():
            cells = np.argwhere(forbidden)[:, None, ::-1] + corners
            axes.add_collection(
                PolyCollection(list(cells), facecolors="none", edgecolors="0.62", hatch="////", linewidths=0)
            )
        axes.set_title(panel.title, fontsize=9)
        axes.set_xticks(range(len(panel.keys)), panel.keys, rotation=90, fontsize=8)
        axes.set_yticks(range(len(panel.queries)), panel.queries, fontsize=8)
    figure.colorbar(drawn, ax=grid, shrink=0.6, label="attention weight")
    figure.alt = f"{len(panels)} maps of attention. " + " ".join(
        f"{' '.join(panel.title.split())}: {len(panel.queries)} queries by {len(panel.keys)} keys, "
        f"largest weight {np.max(np.asarray(panel.weights)):.2f}."
        for panel in panels
    )
    return figure

"""Attention as heatmaps: `python -m course.heatmaps "Der Fuchs niest." --out attention.svg`.

The heatmaps show what the modules' code really computes, mistakes included (see `course.read_attention`).
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from course.errors import UserError, run_command
from course.read_attention import AttentionMaps, attention_maps

if TYPE_CHECKING:
    import numpy as np
    import torch

    from course.figure_with_alt_text import AltFigure
    from course.text import Tokenizer

KINDS = {"encoder": "encoder self-attention", "decoder": "decoder self-attention", "cross": "cross-attention"}
WIDE = 9.2  # inches; a wider figure does not fit into a notebook beside the file browser


def show_heatmaps(
    matrices: Any,
    xlabel: str,
    ylabel: str,
    titles: Sequence[str] | None = None,
    figsize: tuple[float, float] | None = None,
    cmap: str = "cividis",
    xticks: Sequence[str] | None = None,
    yticks: Sequence[str] | None = None,
    row_titles: Sequence[str] | None = None,
    masks: Any = None,
    alt: str | None = None,
    limits: tuple[float, float] | None = (0, 1),
    label: str = "attention weight",
) -> "AltFigure":
    """Draw matrices side by side, all on the same colour scale.

    Args:
        matrices: (rows, columns, queries, keys).
        xlabel, ylabel: labels of keys and queries.
        titles: a title for each column, or for each panel, row by row; row_titles: a title for each row.
        figsize: inches; by default the size depends on the number of tokens.
        cmap: a perceptually uniform colour map; "PuOr" for numbers of both signs.
        xticks, yticks: the tokens of the keys and of the queries.
        masks: non-zero where a query may not attend; such cells are hatched. Any shape that broadcasts to `matrices`.
        alt: the figure in words, as alternative text; by default the sizes and the largest number of each panel.
        limits: the ends of the scale; None means the range of the data, made symmetric if some numbers are negative.
        label: the label of the colour bar.

    Returns:
        The figure. A notebook shows it if it is the last line of a cell; elsewhere call `display`.
    """
    import numpy as np
    from matplotlib.collections import PolyCollection
    from matplotlib.ticker import MaxNLocator

    from course.figure_with_alt_text import AltFigure

    panels = np.asarray(matrices, dtype=float)
    if panels.ndim != 4:
        raise ValueError(f"matrices must be (rows, columns, queries, keys), not {panels.shape}")
    rows, columns, queries, keys = panels.shape
    hatched = np.broadcast_to(np.asarray(0 if masks is None else masks) != 0, panels.shape)
    low, high = limits or _range(panels)
    size = figsize or natural_size(panels.shape)
    if figsize is None and xticks is not None:
        size = size[0], size[1] + KEY_LABELS * (rows - 1)
    figure = AltFigure(figsize=size, facecolor="white", layout="constrained")
    figure.alt = alt or describe(panels, xlabel, ylabel, titles, xticks, yticks, row_titles, label)
    # Below small panels, a number needs 0.3 inches.
    most_ticks = 10 if figsize is None else min(10, max(3, int((size[0] - 1.2) / columns / 0.3)))
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for i, j in np.ndindex(rows, columns):
        axes: Any = grid[i, j]
        image = axes.imshow(panels[i, j], cmap=cmap, vmin=low, vmax=high, aspect="equal")
        if hatched[i, j].any():
            corners = np.array([(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)])
            cells = np.argwhere(hatched[i, j])[:, None, ::-1] + corners  # (masked cells, 4, x and y)
            axes.add_collection(
                PolyCollection(list(cells), facecolors="none", edgecolors="0.62", hatch="////", linewidths=0)
            )
        if i == rows - 1:
            axes.set_xlabel(xlabel)
        if j == 0:
            axes.set_ylabel(f"{row_titles[i]}\n{ylabel}" if row_titles else ylabel)
        if titles and (i == 0 or len(titles) > columns):
            axes.set_title(titles[i * columns + j], loc="center" if columns > 1 else "left")
        for axis, most in ((axes.xaxis, most_ticks), (axes.yaxis, 10)):
            axis.set_major_locator(MaxNLocator(most, integer=True))
        if xticks is not None:
            axes.set_xticks(range(keys), xticks, rotation=90, fontsize=8)
            axes.tick_params(labelbottom=True)  # below each row, to keep the words near their columns
        if yticks is not None:
            axes.set_yticks(range(queries), yticks, fontsize=8)
    figure.colorbar(image, ax=grid, shrink=min(1.0, 3.0 / size[1]), label=label)
    return figure


KEY_LABELS = 0.6  # inches for the words below a row
CELL = 0.19  # inches


def natural_size(shape: tuple[int, ...]) -> tuple[float, float]:
    """The figure size in inches at which the tokens are readable."""
    rows, columns, queries, keys = shape
    return 1.2 + columns * (0.25 + CELL * keys), 0.9 + rows * (0.45 + CELL * queries)


def _range(panels: "np.ndarray") -> tuple[float, float]:
    import numpy as np

    low, high = float(np.nanmin(panels)), float(np.nanmax(panels))
    return (low, high) if low >= 0 else (-max(-low, high), max(-low, high))


def describe(
    panels: "np.ndarray",
    xlabel: str,
    ylabel: str,
    titles: Sequence[str] | None,
    xticks: Sequence[str] | None,
    yticks: Sequence[str] | None,
    row_titles: Sequence[str] | None,
    label: str,
    most: int = 12,
) -> str:
    """Describe heatmaps in words: the contents, and the position of the largest number in each panel."""
    import numpy as np

    rows, columns, queries, keys = panels.shape
    words = [f"{rows * columns} heatmap{'s' * (rows * columns > 1)} of {label}, {queries} {ylabel} by {keys} {xlabel}."]
    for i, j in list(np.ndindex(rows, columns))[:most]:
        if np.isnan(panels[i, j]).all():
            continue
        query, key = divmod(int(np.nanargmax(panels[i, j])), keys)
        title = "" if not titles else titles[j] if len(titles) == columns else titles[i * columns + j]
        names = [row_titles[i] if row_titles else "", title]
        name = ", ".join(filter(None, names)) or f"panel {i * columns + j + 1}"
        row = yticks[query] if yticks is not None else query
        column = xticks[key] if xticks is not None else key
        words.append(f"{name}: largest {panels[i, j, query, key]:.2f} at {row}, {column}.")
    if rows * columns > most:
        words.append(f"And {rows * columns - most} more.")
    return " ".join(words)


def show_attention(
    maps: AttentionMaps,
    kind: str = "cross",
    layer: int | None = None,
    head: int | None = None,
    source: "Tokenizer | None" = None,
    target: "Tokenizer | None" = None,
    upto: int | None = None,
) -> "AltFigure":
    """Draw the attention weights of a sentence: a row per layer, a column per head; masked cells are hatched.

    Args:
        maps: the result of `attention_maps`.
        kind: "encoder" or "decoder" self-attention, or "cross".
        layer, head: draw only this layer or head; None means all.
        source, target: the tokenizers, for token labels.
        upto: the number of positions to reserve, if the decoder has not produced all of them yet.

    Raises:
        ValueError: if there is no such kind, layer or head.
    """
    import torch

    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, not {kind!r}")
    weights, mask = getattr(maps, kind), getattr(maps, f"{kind}_mask")
    if weights is None:
        raise ValueError(f"there is no {KINDS[kind]} in these maps: pass the target to attention_maps too")
    for name, number, count in (("layer", layer, weights.size(0)), ("head", head, weights.size(1))):
        if number is not None and not 0 <= number < count:
            raise ValueError(f"there is no {name} {number}: there are {count}, counted from 0")
    layers = range(weights.size(0)) if layer is None else [layer]
    heads = range(weights.size(1)) if head is None else [head]
    weights = weights[list(layers)][:, list(heads)]
    queries = _names(maps.src if kind == "encoder" else maps.tgt, source if kind == "encoder" else target)
    keys = _names(maps.tgt if kind == "decoder" else maps.src, target if kind == "decoder" else source)
    if upto is not None and kind != "encoder":
        missing = upto - len(queries)
        wider = missing if kind == "decoder" else 0
        weights = torch.nn.functional.pad(weights, (0, wider, 0, missing), value=torch.nan)
        mask = torch.nn.functional.pad(mask, (0, wider, 0, missing))
        queries, keys = queries + [""] * missing, keys + [""] * wider
    titles, row_titles = [f"head {number}" for number in heads], [f"layer {number}" for number in layers]
    if len(layers) == 1 and len(heads) % 2 == 0 and natural_size(weights.shape)[0] > WIDE:
        weights = weights.unflatten(1, (2, -1))[0]  # (1, H, queries, keys) -> (2, H / 2, queries, keys)
        row_titles = row_titles * 2
    return show_heatmaps(
        weights,
        xlabel="keys",
        ylabel="queries",
        titles=titles,
        row_titles=row_titles,
        xticks=keys,
        yticks=queries,
        masks=mask,
        label=f"{KINDS[kind]} weight",
    )


def _names(tokens: "torch.Tensor | None", tokenizer: "Tokenizer | None") -> list[str]:
    indices = [] if tokens is None else [int(token) for token in tokens]
    return tokenizer.pieces(indices) if tokenizer else list(map(str, indices))


def draw_cross_attention(sentence: str, translation: str | None = None) -> "AltFigure":
    """Draw the cross-attention of the trained model, a row per layer and a column per head.

    Args:
        sentence: German.
        translation: English; None means the model's own translation.
    """
    import torch

    from course.checkpoint import load_checkpoint

    checkpoint = load_checkpoint()
    src = torch.tensor([checkpoint.source.encode(sentence)])
    if translation is None:
        with torch.no_grad():
            decoded, _ = checkpoint.model.inference(src, torch.tensor([src.size(1)]), 2 * src.size(1) + 10)
        tokens = decoded[0].tolist()
    else:
        tokens = checkpoint.target.encode(translation)
    maps = attention_maps(checkpoint.model, src, torch.tensor([tokens[:-1]]))
    assert maps.cross is not None
    layers, heads = maps.cross.shape[:2]
    return show_heatmaps(
        maps.cross,
        xlabel="German token",
        ylabel="predicts",
        titles=[f"head {head}" for head in range(heads)],
        row_titles=[f"layer {layer}" for layer in range(layers)],
        xticks=checkpoint.source.pieces(src[0].tolist()),
        yticks=checkpoint.target.pieces(tokens[1:]),  # each query is labelled with the token that it predicts
    )


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m course.heatmaps", description=__doc__)
    parser.add_argument("sentence", help="a German sentence")
    parser.add_argument("--translation", help="its English translation (default: the model's own)")
    parser.add_argument("--out", type=Path, required=True, help="file to write, .svg or .png")
    args = parser.parse_args(arguments)
    if not args.sentence.strip():
        raise UserError("the sentence is empty")
    figure = draw_cross_attention(args.sentence, args.translation)
    try:
        figure.savefig(args.out, metadata={"Date": None} if args.out.suffix == ".svg" else None, dpi=150)
    except (OSError, ValueError) as error:
        raise UserError(f"cannot write {args.out}: {error}") from error
    return 0


if __name__ == "__main__":
    sys.exit(run_command(main))

"""Cut the picture of a figure into its columns of panels, and stack them, for narrow pages.

Drawing the figure again would take seconds.
"""

import io
import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

FRAME = 4  # pixels: the frame of a panel, which is not part of its labels


def stack(
    pictures: Mapping[str, bytes],
    spans: Sequence[tuple[int, int]],
    outer: Sequence[tuple[int, int]],
    most: int,
    tallest: int,
) -> dict[str, bytes]:
    """Cut pictures of a figure (PNG files) between its columns of panels; return them with the pieces stacked.

    Args:
        pictures: the variants of the figure by name, of equal size. The first one is on white.
        spans: where each column of panels begins and ends, in pixels, from left to right.
        outer: the same with the panels' labels.
        most: the maximum width of a row in pixels. A row contains as many columns as fit, at least one.
        tallest: the greatest height in pixels.

    Returns:
        The stacked pictures by name; {} if everything fits into one row, if they would be too tall, or if the columns
        cannot be separated.
    """
    import numpy as np
    from PIL import Image

    pixels = {name: np.asarray(Image.open(io.BytesIO(data)).convert("RGBA")) for name, data in pictures.items()}
    first = next(iter(pixels.values()))
    cuts = _cuts(first, outer)
    if not cuts:
        return {}
    labels = (0, spans[0][0] - FRAME) if _shared(first, spans, cuts) else (0, 0)
    rows: list[list[tuple[int, int]]] = []
    for piece in itertools.pairwise(cuts):
        room = most - sum(end - start for start, end in rows[-1]) if rows else 0
        if piece[1] - piece[0] <= room:
            rows[-1].append(piece)
        else:
            rows.append([piece] if not rows or labels[1] == 0 else [labels, piece])
    if len(rows) < 2 or len(rows) * first.shape[0] > tallest:
        return {}
    return {name: _png(_stacked(array, rows)) for name, array in pixels.items()}


def _cuts(white: "np.ndarray", outer: Sequence[tuple[int, int]]) -> list[int]:
    """Return the cut positions, from left to right: the widest empty gaps between neighbouring columns of panels."""
    import numpy as np

    empty = np.asarray((white[..., :3] == 255).all(axis=(0, 2)))
    cuts = [0]
    for (_, end), (start, _) in itertools.pairwise(outer):
        found = np.flatnonzero(empty[end:start]) if start > end else np.array([])
        if not len(found):
            return []
        gaps = np.split(found, np.flatnonzero(np.diff(found) > 1) + 1)
        widest = max(gaps, key=len)
        cuts.append(end + int(widest[len(widest) // 2]))
    return [*cuts, white.shape[1]] if len(cuts) > 1 else []


def _shared(white: "np.ndarray", spans: Sequence[tuple[int, int]], cuts: Sequence[int]) -> bool:
    """Whether only the first column has labels on its left."""
    import numpy as np

    ink = np.asarray((white[..., :3] < 255).any(axis=(0, 2)))
    widths = []
    for (start, _), cut in zip(spans, cuts, strict=False):
        inked = np.flatnonzero(ink[cut:start])
        widths.append(start - cut - int(inked[0]) if len(inked) else 0)
    return max(widths[1:]) < widths[0] / 3


def _stacked(array: "np.ndarray", rows: Sequence[Sequence[tuple[int, int]]]) -> "np.ndarray":
    import numpy as np

    lines = [np.concatenate([array[:, start:end] for start, end in row], axis=1) for row in rows]
    width = max(line.shape[1] for line in lines)
    ground = array[:1, :1]
    return np.concatenate(
        [
            np.concatenate([line, np.broadcast_to(ground, (line.shape[0], width - line.shape[1], 4))], axis=1)
            for line in lines
        ]
    )


def _png(array: "np.ndarray") -> bytes:
    from PIL import Image

    buffer = io.BytesIO()
    # 256 colours are enough for a heatmap, and make the file much smaller.
    Image.fromarray(array).quantize(256, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(
        buffer, format="png"
    )
    return buffer.getvalue()

"""Handwritten digits, 8 x 8 pixels: reading, splitting, and placing them on a larger, noisy canvas."""

import gzip
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from course.errors import UserError
from course.variants.tales import DATA

SIDE = 8
HELD_OUT = 500
SPLIT_SEED = 20170612


@dataclass(frozen=True)
class Digits:
    """Images, (N, 1, 8, 8), with values from 0 (paper) to 1 (ink), and their digits, (N,)."""

    images: np.ndarray
    labels: np.ndarray


def read_digits(folder: Path = DATA) -> tuple[Digits, Digits]:
    """Return the 1,297 training digits and the 500 held-out digits, split with a fixed seed.

    Raises:
        UserError: if the file is missing or damaged.
    """
    path = folder / "digits.csv.gz"
    try:
        rows = np.loadtxt(gzip.decompress(path.read_bytes()).decode("ascii").splitlines(), delimiter=",")
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise UserError(f"the digits {path} cannot be read: {error}") from error
    if rows.ndim != 2 or rows.shape[1] != SIDE * SIDE + 1:
        raise UserError(f"the digits {path} are damaged: the rows do not have {SIDE * SIDE + 1} columns")
    order = np.random.Generator(np.random.PCG64(SPLIT_SEED)).permutation(len(rows))
    images = (rows[order, :-1] / 16).reshape(-1, 1, SIDE, SIDE).astype(np.float32)
    labels = rows[order, -1].astype(np.int64)
    split = len(rows) - HELD_OUT
    return Digits(images[:split], labels[:split]), Digits(images[split:], labels[split:])


def on_canvas(images: np.ndarray, side: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Place each image at a random position on a larger, noisy square.

    The noise is uniform from 0 to 0.4 for each pixel; where there is ink, the larger of the two values is kept.

    Args:
        images: (N, 1, 8, 8).
        side: the height and width of the canvas.

    Returns:
        Canvases, (N, 1, side, side), and positions, (N, 2): row and column of the upper left pixel of each image.
    """
    N = len(images)
    canvases = rng.random((N, 1, side, side), dtype=np.float32) * np.float32(0.4)
    places = rng.integers(side - SIDE + 1, size=(N, 2))
    for canvas, image, (row, column) in zip(canvases, images, places, strict=True):
        part = canvas[0, row : row + SIDE, column : column + SIDE]
        np.maximum(part, image[0], out=part)
    return canvases, places

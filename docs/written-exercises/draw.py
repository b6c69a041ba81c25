"""Draw the two pictures of the written exercises: `python docs/written-exercises/draw.py` (`make figures`)."""

import math
from pathlib import Path

from course.figures.drawing import Drawing

# Cross-attention of the trained model, layer 2, head 0, with teacher forcing: measured, in hundredths.
READ = ["<s>", "Mein", "Onkel", "hat", "gestern", "einen", "gelb", "en", "Hut", "gekauft", ".", "</s>"]
WRITTEN = ["<s>", "My", "uncle", "bought", "a", "yellow", "hat", "yesterday", "."]
CROSS = [
    [1, 84, 0, 2, 1, 4, 1, 1, 0, 5, 1, 1],
    [0, 0, 97, 0, 0, 0, 0, 0, 2, 0, 0, 0],
    [0, 0, 0, 0, 1, 0, 1, 0, 1, 96, 0, 0],
    [3, 1, 7, 0, 5, 10, 32, 1, 31, 5, 3, 2],
    [0, 0, 0, 0, 0, 0, 98, 0, 2, 0, 0, 0],
    [0, 0, 0, 0, 0, 0, 6, 0, 93, 0, 0, 0],
    [9, 1, 0, 3, 44, 0, 3, 3, 1, 2, 13, 21],
    [24, 0, 1, 3, 6, 1, 2, 1, 2, 2, 27, 32],
    [32, 0, 0, 1, 1, 0, 0, 1, 0, 0, 30, 34],
]
SIZE = 6


def forbidden(panel: str, i: int, j: int) -> bool:
    """Whether query i may not attend to key j in a panel of the first picture; D has its mask on the wrong axis."""
    return {"A": j >= 4, "B": j > i, "C": j > i or j >= 3, "D": i >= 4}[panel]


def weights(panel: str) -> list[list[float]]:
    """The weights of a panel, (SIZE, SIZE), from the same scores; a query without any key gets the mean of all."""
    rows = []
    for i in range(SIZE):
        allowed = [not forbidden(panel, i, j) for j in range(SIZE)]
        scores = [((3 * i + 2 * j * j + i * j) % 7) / 3 for j in range(SIZE)]
        shares = [math.exp(score) * may for score, may in zip(scores, allowed, strict=True)]
        rows.append([share / sum(shares) for share in shares] if any(allowed) else [1 / SIZE] * SIZE)
    return rows


def masks() -> Drawing:
    d = Drawing(
        940,
        260,
        "Four heatmaps of attention weights",
        "Four squares of 6 by 6 cells, rows are queries, columns are keys. A: the last two columns are empty. B: the "
        "cells above the diagonal are empty. C: the cells above the diagonal and the last three columns are empty. D: "
        "no cell is empty; all cells of the last two rows have the same shade.",
    )
    for number, panel in enumerate("ABCD"):
        left, top = 50 + 225 * number, 50
        d.text(left + 15 * SIZE, 24, panel, "strong")
        for i, row in enumerate(weights(panel)):
            for j, weight in enumerate(row):
                d.cell(left + 30 * j, top + 30 * i, 30, 30, weight)
        d.text(left + 15 * SIZE, top + 30 * SIZE + 17, "key 0 to 5", "small")
    d.text(22, 140, "query\n0 to 5", "small")
    return d


def cross_attention() -> Drawing:
    d = Drawing(
        900,
        350,
        "Cross-attention of one head",
        "A heatmap of 9 rows, the English tokens that the decoder has read last, by 12 columns, the German tokens. "
        + " ".join(
            f"{name}: largest {max(row) / 100:.2f} at {READ[row.index(max(row))]}."
            for name, row in zip(WRITTEN, CROSS, strict=True)
        ),
    )
    for j, name in enumerate(READ):
        d.text(130 + 62 * j, 24, name, "small")
    for i, row in enumerate(CROSS):
        d.text(48, 59 + 34 * i, WRITTEN[i], "small")
        for j, hundredths in enumerate(row):
            d.cell(99 + 62 * j, 42 + 34 * i, 62, 34, hundredths / 100)
    return d


PICTURES = {"masks": masks, "cross_attention": cross_attention}

if __name__ == "__main__":
    for name, draw in PICTURES.items():
        Path(__file__).with_name(f"{name}.svg").write_text(draw().svg(), encoding="utf-8", newline="\n")

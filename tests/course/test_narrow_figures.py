"""Figures on narrow pages: their columns of panels, stacked, each with the labels on the left."""

import base64
import io
import re
from functools import cache

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.image import imread

from course import show_heatmaps
from course.figure_with_alt_text import image
from course.notebook.display import Table
from course.page_style import SMALLEST


def pictures(html: str) -> list[tuple[int, int, np.ndarray]]:
    """The light pictures: width on the page, the least width, pixels."""
    found = re.findall(
        r'class="tc-light" [^>]*?width="(\d+)" style="max-width:max\(100%,(\d+)px\)[^>]*base64,([^"]+)"', html
    )
    return [(int(width), int(least), imread(io.BytesIO(base64.b64decode(data)))) for width, least, data in found]


@cache
def heatmaps(columns: int, rows: int = 1) -> str:
    words = ["one", "two", "three", "four", "five", "six", "seven"]
    titles = [f"head {head}" for head in range(columns)]
    return show_heatmaps(
        np.zeros((rows, columns, 7, 7)), "key", "query", titles=titles, xticks=words, yticks=words
    ).image()


def test_heatmaps_are_below_each_other_on_a_narrow_page():
    html = heatmaps(4)
    (_, least, across), (narrow, _, down) = pictures(html)
    assert narrow < 420
    assert 'class="tc-box tc-narrow" style="overflow-x:auto;max-width:100%;display:none"' in html
    assert f"@container (max-width: {least - 1}px)" in html  # wherever the panels do not fit side by side
    assert down.shape[0] == 4 * across.shape[0]
    # Each row begins with the labels of the queries; the last one has the scale.
    labels = down[: across.shape[0], :100]
    ink = [(row[:, :100, :3] < 0.5).any(axis=-1).sum() for row in np.split(down, 4)]
    assert (labels[..., :3] < 0.5).any()
    assert max(ink) < 1.1 * min(ink)


def test_many_heatmaps_scroll_sideways():
    """Twelve stacked panels would be taller than three screens."""
    assert "tc-narrow" not in heatmaps(4, rows=3)


def test_panels_with_labels_of_their_own_are_cut_between_them():
    figure, axes = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
    for one in axes:
        one.plot([1, 2], [3, 4])
        one.set_ylabel("milliseconds")
    html = image(figure, "two", 110, bbox_inches="tight")
    plt.close(figure)
    (_, _, across), (narrow, _, down) = pictures(html)
    assert down.shape[0] == 2 * across.shape[0]
    assert narrow < 600
    for row in np.split(down, 2):  # nothing is cut through
        assert (row[:, 0, :3] > 0.98).all()


@pytest.mark.parametrize("columns", [1, 2])
def test_what_fits_has_one_form(columns):
    assert len(pictures(heatmaps(1))) == 1
    figure = show_heatmaps(np.zeros((1, columns, 2, 2)), "k", "q")
    assert len(pictures(figure.image())) == 1


def test_text_is_never_smaller_than_it_may_be():
    """A picture shrinks with its page until its smallest text, 8 points of the ticks, is too small to read."""
    for width, least, _ in pictures(heatmaps(4)):
        assert 8 / 72 * 100 * least / width == pytest.approx(SMALLEST, abs=0.1)


def test_a_wide_table_scrolls_in_a_box_of_its_own():
    assert Table(["a"], [["b"]])._repr_html_().startswith('<div class="tc-box')

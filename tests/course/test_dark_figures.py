"""Figures on dark pages: a variant that is pale on nothing, with the same colours, chosen by the style of the page."""

import base64
import io
import re

import numpy as np
import pytest
from matplotlib.image import imread
from matplotlib.spines import Spine

from course import show_heatmaps
from course.figure_with_alt_text import AltFigure, image
from course.page_style import DARK


def variants(html):
    """The pixels of the light and of the dark picture, (height, width, RGBA)."""
    found = dict(re.findall(r'class="tc-(\w+)" [^>]*src="data:image/png;base64,([^"]+)"', html))
    return [imread(io.BytesIO(base64.b64decode(found[name]))) for name in ("light", "dark")]


@pytest.fixture(scope="module")
def heatmap():
    return show_heatmaps([[np.eye(3)]], "key", "query", titles=["identity"])


def test_the_dark_variant_is_pale_on_nothing(heatmap):
    light, dark = variants(heatmap.image())
    assert light.shape == dark.shape
    assert (light[..., 3] == 1).all()
    assert dark[0, 0, 3] == 0
    ink = (light[..., :3] < 0.1).all(axis=-1)  # black: words, ticks and frames
    assert ink.sum() > 500
    assert (dark[ink][:, :3] > 0.7).mean() > 0.97


def test_the_colours_of_the_cells_are_the_same(heatmap):
    light, dark = variants(heatmap.image())
    coloured = np.ptp(light[..., :3], axis=-1) > 0.25  # of cividis; words and paper are grey
    assert coloured.mean() > 0.1
    assert np.isclose(light[coloured], dark[coloured], atol=1e-6).mean() > 0.97  # not where a frame begins


def test_drawing_it_dark_leaves_the_figure_as_it_was(heatmap):
    heatmap.png()  # the layout takes a step at each drawing, the first one the largest
    before = [part.get_edgecolor() for part in heatmap.findobj(Spine)], heatmap.axes[0].get_position().bounds
    heatmap.image()
    after = [part.get_edgecolor() for part in heatmap.findobj(Spine)], heatmap.axes[0].get_position().bounds
    assert after[0] == before[0]
    assert after[1] == pytest.approx(before[1], abs=0.01)
    assert heatmap.get_layout_engine() is not None


def test_words_on_colours_stay_dark():
    figure = AltFigure(figsize=(2, 2))
    axes = figure.subplots()
    axes.imshow([[1.0]], cmap="Wistia")
    axes.set_axis_off()
    axes.text(0, 0, "word", ha="center", size=30)
    light, dark = variants(image(figure, "a word", 100))
    ink = (light[..., :3] < 0.1).all(axis=-1)
    assert ink.sum() > 100
    assert (dark[ink][:, :3] < 0.1).all()


def test_without_styles_the_light_one_is_shown(heatmap):
    html = heatmap.image()
    pictures = re.findall("<img [^>]*>", html)
    assert "display:none" not in pictures[0]
    assert "display:none" in pictures[1]
    assert all(f"{page} .tc-dark" in html for page in DARK)

"""What the notebooks draw with: nothing stands over the curves, and every figure has words."""

import itertools

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch

from course.figure_with_alt_text import AltFigure
from course.notebook import plots, regressions
from course.notebook.plots import Curves, draw_curves, show_clocks, show_curves, show_words

TWO = Curves("title", "x", "y", range(1, 20), {"one": range(1, 20), "two": range(19, 0, -1)}, log="y", level=("l", 7))


@pytest.fixture
def shown(monkeypatch):
    """The figures that are displayed, with their words; they are kept open."""
    figures = []
    monkeypatch.setattr(plots, "show", lambda figure, words, *_: figures.append((figure, words)))
    yield figures
    plt.close("all")


def test_the_legend_stands_below_the_curves():
    figure, axes = plt.subplots()
    draw_curves(axes, TWO)
    figure.canvas.draw()
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["one", "two", "l"]
    assert legend.get_window_extent().y1 <= axes.get_window_extent().y0
    assert (axes.get_yscale(), axes.get_xscale()) == ("log", "linear")
    plt.close(figure)


def test_curves_can_be_told_apart_without_colours():
    figure, axes = plt.subplots()
    draw_curves(axes, Curves("", "", "", range(3), {str(n): [n, n, n] for n in range(6)}))
    styles = [(line.get_linestyle(), line.get_marker()) for line in axes.get_lines()]
    assert len(set(styles)) == 6
    plt.close(figure)


def test_measured_points_are_circles_with_a_name():
    figure, axes = plt.subplots()
    draw_curves(axes, Curves("", "", "", range(3), {"fit": range(3)}, points=([0.5, 1.5], [7, 8])))
    fit, points = axes.get_lines()
    assert np.array_equal(points.get_xydata(), [[0.5, 7], [1.5, 8]])
    assert (points.get_marker(), points.get_linestyle(), fit.get_linestyle()) == ("o", "None", "-")
    assert points.get_zorder() < fit.get_zorder()
    assert axes.get_legend_handles_labels()[1] == ["fit", "data"]
    plt.close(figure)


def test_regressions_share_their_scales_and_say_their_errors(monkeypatch, shown):
    drawn: list[AltFigure] = []
    monkeypatch.setattr("IPython.display.display", drawn.append)
    queries, truth = torch.linspace(0, 1, 5)[:, None], torch.ones(5, 1)
    data = torch.tensor([[0.2], [0.8]]), torch.tensor([[0.0], [4.0]])
    found = {"far": (truth + 2, torch.full((5, 2), 0.5)), "near": (truth, torch.tensor([[0.8, 0.2]] * 5))}
    regressions.show_regressions(queries, truth, data, found)
    ((figure, words),) = shown
    assert words.endswith("far 4.00, near 0.00.")
    assert len({axes.get_ylim() for axes in figure.axes}) == 1
    (maps,) = drawn
    images = [image for axes in maps.axes for image in axes.get_images()]
    assert np.allclose([image.get_clim() for image in images[:2]], (0, 0.8))


def test_marked_points_on_a_logarithmic_axis_name_their_places():
    figure, axes = plt.subplots()
    draw_curves(axes, Curves("", "", "", (16, 64, 512), {"one": (1, 2, 3)}, log="x"))
    figure.canvas.draw()
    labels = [label for label in axes.get_xticklabels(which="both") if label.get_text()]
    assert [label.get_text() for label in labels] == ["16", "64", "512"]
    boxes = [label.get_window_extent() for label in labels]
    assert all(left.x1 < right.x0 for left, right in itertools.pairwise(boxes))
    plt.close(figure)


def test_curves_of_many_points_have_no_markers_and_can_be_told_apart_by_their_lines():
    figure, axes = plt.subplots()
    draw_curves(axes, Curves("", "", "", range(50), {str(n): [1] * 50 for n in range(6)}))
    lines = axes.get_lines()
    assert {line.get_marker() for line in lines} == {"None"}
    assert len({str(line._dash_pattern) for line in lines}) == 6  # type: ignore[attr-defined]
    # One that lies under another is seen on both sides of it.
    widths = [line.get_linewidth() for line in lines]
    assert widths == sorted(widths, reverse=True)
    assert len(set(widths)) == 6
    plt.close(figure)


def test_panels_stand_side_by_side(shown):
    show_curves(TWO, TWO, description="two panels")
    ((figure, words),) = shown
    assert words == "two panels"
    left, right = figure.axes
    assert left.get_position().x1 <= right.get_position().x0


def test_words_stand_in_their_cells(shown):
    show_words({"a": [["", "pad"], ["later", "pad"]], "b": [["x"]]}, xlabel="key", ylabel="query", description="words")
    figure = shown[0][0]
    texts = {(text.get_text(), *text.get_position()) for text in figure.axes[0].texts}
    assert texts == {("", 0, 0), ("pad", 1, 0), ("later", 0, 1), ("pad", 1, 1)}
    colours = {patch.get_facecolor() for patch in figure.axes[0].patches}
    assert len(colours) == 3  # white, and one for each word


def test_clocks_show_the_angle_and_name_the_moments(shown):
    show_clocks(moments=[0, 1], slowness=[1, 10, 100], description="clocks")
    figure = shown[0][0]
    assert [axes.get_title() for axes in figure.axes] == ["t = 0", "t = 1", "", "", "", ""]
    x, y = figure.axes[3].get_lines()[0].get_data()
    assert (x[1], y[1]) == pytest.approx((0.995, 0.0998), abs=1e-3)

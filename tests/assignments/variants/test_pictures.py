"""The pictures of the notebooks: what is drawn, on one scale, and the words for it."""

from typing import Any

import numpy as np
import torch

from course.variants.pictures import Panel, show_looking, show_patches, show_side_by_side


def drawn(axes):
    return np.asarray(axes.images[0].get_array())


def test_patches_are_read_like_a_page():
    image = np.arange(24.0).reshape(4, 6) / 24
    figure = show_patches(image, 2, "a test")
    whole, *patches = figure.get_axes()
    assert drawn(whole).tolist() == image.tolist()
    assert len(whole.lines) == 1 + 2
    assert [patch.get_title() for patch in patches] == [str(number) for number in range(6)]
    assert drawn(patches[1]).tolist() == image[:2, 2:4].tolist()
    assert drawn(patches[3]).tolist() == image[2:, :2].tolist()
    assert "4 x 6 pixels, cut into 2 x 3 patches" in figure.alt


def test_what_is_looked_at_has_one_scale_and_a_box():
    images, weights = np.zeros((2, 8, 8)), np.zeros((2, 3, 4, 4))
    weights[0, 1, 2, 3], weights[1, 2, 0, 1] = 0.5, 0.9
    figure = show_looking(images, weights, ["layer 0", "layer 1", "layer 2"], ["a 3", "a 7"], [(1, 2, 4), (0, 0, 4)])
    panels = figure.get_axes()[:8]
    assert all(panel.images[0].get_clim() == (0, 0.9) for row in (panels[1:4], panels[5:8]) for panel in row)
    box: Any = panels[0].patches[0]
    assert (box.get_xy(), box.get_width()) == ((1.5, 0.5), 4)
    assert "a 3, layer 1: largest 0.50 at row 2, column 3" in figure.alt
    assert "a 7, layer 2: largest 0.90 at row 0, column 1" in figure.alt


def test_models_side_by_side_keep_their_own_tokens():
    causal = torch.ones(2, 2, dtype=torch.bool).triu(1)
    panels = [Panel("back", torch.eye(2), "ab", "ab", causal), Panel("across", np.full((2, 3), 1 / 3), "ab", "xyz")]
    figure = show_side_by_side(panels)
    first, second = figure.get_axes()[:2]
    assert [label.get_text() for label in second.get_xticklabels()] == ["x", "y", "z"]
    assert (len(first.collections), len(second.collections)) == (1, 0)
    assert first.images[0].get_clim() == second.images[0].get_clim() == (0, 1)
    assert "across: 2 queries by 3 keys, largest weight 0.33" in figure.alt

"""Attention maps: read through the modules' own code, drawn on one scale."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch

from course.heatmaps import attention_maps, attention_weights, show_heatmaps
from course.modules import default_folder, load_modules

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def modules():
    return load_modules(default_folder())


def test_weights_are_the_softmax_of_the_scores(modules):
    """With more keys than features in a head, several blocks of the identity are needed."""
    torch.manual_seed(1)
    attention = modules.mha.MultiHeadAttention(d_model=6, num_heads=2)
    query, memory = torch.randn(2, 4, 6), torch.randn(2, 7, 6)
    padding = torch.zeros(2, 7, dtype=torch.long)
    padding[1, 5:] = 1
    weights = attention_weights(attention, query, memory, memory, padding)
    q, k, _ = attention.compute_mh_qkv_transformation(query, memory, memory)
    scores = (q @ k.transpose(-2, -1) / 3**0.5).masked_fill(padding[:, None, None] != 0, -1e9)
    torch.testing.assert_close(weights, scores.softmax(dim=-1))


def test_maps_of_a_model(modules):
    torch.manual_seed(2)
    model = modules.transformer.Transformer(20, 20, 2, 3, 12, 3, 2, 16, 30, 0.1).eval()
    src, tgt = torch.randint(4, 20, (1, 9)), torch.randint(4, 20, (1, 5))
    before = model(src, tgt, torch.tensor([9]), torch.tensor([5]))
    maps = attention_maps(model, src, tgt)
    assert maps.decoder is not None
    assert maps.cross is not None
    assert maps.encoder.shape == (2, 3, 9, 9)
    assert maps.decoder.shape == (2, 3, 5, 5)
    assert maps.cross.shape == (2, 3, 5, 9)
    for weights in (maps.encoder, maps.decoder, maps.cross):
        torch.testing.assert_close(weights.sum(dim=-1), torch.ones(weights.shape[:-1]))
    assert (maps.decoder.triu(diagonal=1) == 0).all()  # causal
    assert attention_maps(model, src).cross is None
    # The hooks are gone and have changed nothing.
    torch.testing.assert_close(model(src, tgt, torch.tensor([9]), torch.tensor([5])), before)


def test_a_mistake_shows_in_the_map(modules, tmp_path):
    """What is drawn is what the code does: without its mask, the decoder is seen to look ahead."""
    for module in default_folder().glob("*.py"):
        text = module.read_text(encoding="utf-8").replace("if attention_mask is not None:", "if False:")
        (tmp_path / module.name).write_text(text, encoding="utf-8")
    model = load_modules(tmp_path).transformer.Transformer(20, 20, 2, 3, 12, 3, 1, 16, 30, 0.0).eval()
    maps = attention_maps(model, torch.tensor([[2, 5, 3]]), torch.tensor([[2, 6, 7, 3]]))
    assert maps.decoder is not None
    assert (maps.decoder.triu(diagonal=1).sum(dim=-1)[..., :-1] > 0).all()


def test_one_scale_for_all_panels():
    figure = show_heatmaps(torch.rand(2, 3, 4, 5) / 2, "keys", "queries", titles=["a", "b", "c"], yticks=list("wxyz"))
    images = [image for axes in figure.axes for image in axes.get_images()]
    assert len(images) == 6
    assert {image.get_clim() for image in images} == {(0, 1)}
    assert figure.get_facecolor() == (1, 1, 1, 1)  # readable on a dark page too


def test_matrices_of_the_wrong_shape_are_refused():
    with pytest.raises(ValueError, match="rows, columns, queries, keys"):
        show_heatmaps(torch.rand(4, 5), "keys", "queries")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([" ", "--out", "a.svg"], "empty"),
        (["Hallo.", "--out", "a.xyz"], "a.xyz"),
        (["Hallo.", "--out", "no/a.png"], "no"),
    ],
)
def test_bad_input(arguments, message, tmp_path):
    command = [sys.executable, "-m", "course.heatmaps", *arguments]
    environment = {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_figure_is_the_one_that_make_figures_draws(tmp_path):
    """Pixel by pixel, but for what fonts and rounding may change."""
    import numpy as np
    from matplotlib.image import imread

    from course.heatmaps import draw_cross_attention

    made = tmp_path / "made.png"
    draw_cross_attention("Mein Bruder hat heute Morgen den Hund gefüttert.").savefig(made, dpi=150)
    new, stored = imread(made), imread(ROOT / "img" / "cross_attention.png")
    assert new.shape == stored.shape
    assert np.abs(new - stored).mean() < 0.01

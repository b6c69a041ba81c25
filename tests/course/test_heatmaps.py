"""Attention maps: read through the modules' own code, drawn on one scale."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from course import attention_maps, attention_weights, show_attention, show_heatmaps
from course.modules import default_folder, load_modules

ROOT = Path(__file__).resolve().parents[2]


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
    from matplotlib.image import imread

    from course.heatmaps import draw_cross_attention

    made = tmp_path / "made.png"
    draw_cross_attention("Mein Bruder hat heute Morgen den Hund gefüttert.").savefig(made, dpi=150)
    new, stored = imread(made), imread(ROOT / "img" / "cross_attention.png")
    assert new.shape == stored.shape
    assert np.abs(new - stored).mean() < 0.01


# Masks, labels, words


@pytest.fixture(scope="module")
def model(modules):
    torch.manual_seed(3)
    return modules.transformer.Transformer(20, 20, 2, 3, 12, 2, 2, 16, 30, 0.1).eval()


def hatched(figure) -> list[int]:
    """The number of hatched cells in each panel."""
    panels = [axes for axes in figure.axes if axes.get_images()]
    return [sum(len(c.get_paths()) for c in axes.collections if c.get_hatch()) for axes in panels]


def test_masked_cells_are_hatched(model):
    maps = attention_maps(model, torch.tensor([[2, 5, 3]]), torch.tensor([[2, 6, 7, 8]]))
    assert hatched(show_attention(maps, "decoder")) == [6] * 4
    assert hatched(show_attention(maps, "encoder")) == [0] * 4
    padding = torch.tensor([0, 0, 1])  # of keys
    assert hatched(show_heatmaps(torch.rand(1, 2, 4, 3), "keys", "queries", masks=padding)) == [4, 4]


def test_one_layer_and_head_with_names(model):
    maps = attention_maps(model, torch.tensor([[2, 5, 3]]), torch.tensor([[2, 6]]))
    figure = show_attention(maps, "cross", layer=1, head=0)
    (axes,) = (axes for axes in figure.axes if axes.get_images())
    assert axes.get_title("left") == "head 0"
    assert axes.get_ylabel().startswith("layer 1")
    assert [label.get_text() for label in axes.get_xticklabels()] == ["2", "5", "3"]
    assert maps.cross is not None
    drawn = torch.from_numpy(np.asarray(axes.get_images()[0].get_array()))
    torch.testing.assert_close(drawn, maps.cross[1, 0].double())
    for wrong in ({"kind": "self"}, {"layer": 2}, {"head": -1}):
        with pytest.raises(ValueError, match=r"must be one of|there is no"):
            show_attention(maps, **wrong)
    with pytest.raises(ValueError, match="pass the target to attention_maps"):
        show_attention(attention_maps(model, torch.tensor([[2, 5]])), "cross")


def test_a_figure_in_words_and_on_a_ground_of_its_own():
    matrices = torch.zeros(1, 2, 2, 2)
    matrices[0, 0, 1, 0], matrices[0, 1, 0, 1] = 0.75, 0.5
    figure = show_heatmaps(matrices, "keys", "queries", titles=["a", "b"], xticks=["x", "<y>"], yticks=["q", "r"])
    assert figure.alt == (
        "2 heatmaps of attention weight, 2 queries by 2 keys. a: largest 0.75 at r, x. b: largest 0.50 at q, <y>."
    )
    html = figure._repr_html_()
    assert '<img class="tc-light" alt="2 heatmaps of attention weight' in html
    assert "at q, &lt;y&gt;." in html
    assert "background:white" in html
    assert show_heatmaps(matrices, "k", "q", alt="my words").alt == "my words"


def test_a_scale_from_the_data():
    values = torch.tensor([[[[-1.0, 3.0]]]])
    images = [image for axes in show_heatmaps(values, "k", "q", limits=None).axes for image in axes.get_images()]
    assert images[0].get_clim() == (-3, 3)


def test_dropout_does_not_blur_the_maps(model):
    src = torch.tensor([[2, 5, 9, 3]])
    still = attention_maps(model, src).encoder
    model.train()
    try:
        torch.testing.assert_close(attention_maps(model, src).encoder, still)
        assert model.training
    finally:
        model.eval()
    with pytest.raises(ValueError, match="one sentence"):
        attention_maps(model, src.expand(2, 4))


def test_bool_masks_and_masks_by_name(modules):
    torch.manual_seed(4)
    attention = modules.mha.MultiHeadAttention(6, 2)
    from course.read_attention import recorded

    x = torch.randn(2, 3, 6)
    padding, causal = torch.tensor([[0, 0, 1], [0, 0, 0]]).bool(), torch.ones(1, 3, 3).triu(1).bool()
    with recorded([attention]) as calls:
        attention(x, x, value=x, attention_mask=causal, key_padding_mask=padding)
        attention(x, x, x, padding)
    assert torch.equal(calls[0].mask, padding[:, None] | causal)
    assert torch.equal(calls[1].mask, padding[:, None].expand(2, 3, 3))


# Where a tensor is wrong


def test_error_maps_of_every_shape():
    from autograder.diagnosis.compare_tensors import Incorrect, Wrong
    from course.notebook.error_maps import error_figure

    def panels(actual, expected, axes, where=None):
        figure = error_figure(Incorrect(Wrong("wrong"), "call()", actual.numpy(), where, expected.numpy(), axes))
        drawn = [axes for axes in figure.axes if axes.get_images()]
        titles = [axes.get_title() or axes.get_title("left") for axes in drawn]
        return dict(zip(titles, [axes.get_images()[0].get_array() for axes in drawn], strict=True)), figure

    zeros = torch.zeros(2, 6, 5, 3)
    wrong = zeros.clone()
    wrong[1, 5, 2, 1] = 0.5
    found, figure = panels(wrong, zeros, "B H T_q d_k")
    assert list(found) == ["B=1, H=2", "B=1, H=3", "B=1, H=4", "B=1, H=5"]
    assert found["B=1, H=5"][2, 1] == 0.5
    assert found["B=1, H=5"].sum() == 0.5
    found, _ = panels(torch.tensor([[3, 9]]), torch.tensor([[3, 4]]), "B T_d")
    assert found[""].tolist() == [[0, 1]]  # another token is another token
    found, figure = panels(torch.ones(1, 3, 200), torch.zeros(1, 3, 200), "B T d_model", torch.arange(3)[:, None] < 2)
    assert found["B=0"].shape == (3, 64)
    assert sum(hatched(figure)) == 64
    found, _ = panels(torch.tensor([float("nan"), 1.0]), torch.zeros(2), "d")
    assert found[""].tolist()[0][1] == 1

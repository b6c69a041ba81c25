"""The written exercises: each number of the model answers is computed, pictures are current, nothing is shipped."""

import importlib.util
import math
import re
from pathlib import Path
from types import ModuleType

import pytest
import torch

from autograder.authoring.packing.handout import contents
from autograder.manifest import assignment
from course import attention_maps, trained
from course.modules import load_modules

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "written-exercises"
EXERCISES = (FOLDER / "exercises.md").read_text(encoding="utf-8")
ANSWERS = (FOLDER / "answers.md").read_text(encoding="utf-8")


def draw() -> ModuleType:
    specification = importlib.util.spec_from_file_location("draw", FOLDER / "draw.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def answer(number: int) -> str:
    """The model answer to an exercise, without the commas in its numbers."""
    text = re.split(r"(?m)^## \d+\. ", ANSWERS)[number]
    return text.replace("{,}", "").replace("{", "").replace("}", "")


def holds(number: int, *values: float, digits: int = 0) -> None:
    """See that an answer states these numbers."""
    for value in values:
        said = f"{value:.{digits}f}"
        assert re.search(rf"(?<![\d.]){re.escape(said)}(?!\d)", answer(number).replace(",", "")), f"{number}: {said}"


def test_there_are_twelve_with_the_same_titles():
    titles = [re.findall(r"(?m)^## (\d+\. .*)$", text) for text in (EXERCISES, ANSWERS)]
    assert titles[0] == titles[1]
    assert [int(title.partition(".")[0]) for title in titles[0]] == list(range(1, 13))
    for text in re.split(r"(?m)^## ", ANSWERS)[1:]:
        assert "*Marking" in text


def test_they_are_not_in_the_handout():
    assert not any("written-exercises" in name for name in contents([assignment("transformer")]))


def test_the_pictures_are_current():
    module = draw()
    made = {f"{name}.svg": picture().svg() for name, picture in module.PICTURES.items()}
    assert made == {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.svg")}
    for name in made:
        assert f"]({name})" in EXERCISES.replace("\n", "")


def test_counts_of_multiplications_parameters_and_memory():
    T, d = 20, 128
    holds(1, 4 * T * d * d, 2 * T * T * d, 2 * d)
    layer = load_modules().encoder.TransformerEncoderLayer(256, 1024, 8, 0.1)
    sizes = {name: sum(p.numel() for p in part.parameters()) for name, part in layer.named_children()}
    network, whole = sizes["fc1"] + sizes["fc2"], sum(sizes.values())
    holds(2, sizes["self_attn"], network, sizes["self_attn_layer_norm"] + sizes["final_layer_norm"], whole)
    holds(2, 100 * network / whole, digits=1)
    holds(3, 12 * 12 * 2048**2, 2 * 12 * 2048 * 768, 2 * 12 * 2048 * 768 * 2 / 2**20)
    holds(3, 12 * 12 * 2048**2 * 4 / 2**30, digits=2)
    d, T, T_e = 64, 10, 8
    holds(10, 2 * d * d + 2 * T * d * d, 4 * d * d, 2 * d * d + 2 * T_e * d * d, 2 * d * d, T * d, 2 * (T + T_e) * d)


def test_one_query_by_hand():
    q, v = torch.tensor([2.0, 2, 0, 0]), torch.tensor([[3.0, 0], [0, 3], [6, 6]])
    k = torch.tensor([[1.0, 0, 0, 5], [0, 0, 7, 1], [1, 1, 1, 1]])
    scores = k @ q / 2
    assert scores.tolist() == [1, 0, 2]
    weights = scores.softmax(0)
    holds(4, *weights.tolist(), digits=3)
    holds(
        4, *(weights @ v).tolist(), *(scores[:2].softmax(0) @ v[:2]).tolist(), *(weights[:2] @ v[:2]).tolist(), digits=2
    )
    holds(4, weights[:2].sum().item(), digits=3)


def test_the_masks_of_the_picture_are_those_of_the_answer():
    """What is white, and which rows are level: read off the numbers that are drawn."""
    module = draw()
    white = {panel: [[weight == 0 for weight in row] for row in module.weights(panel)] for panel in "ABCD"}
    columns, causal = [j >= 4 for j in range(6)], [[j > i for j in range(6)] for i in range(6)]
    assert white["A"] == [columns] * 6
    assert white["B"] == causal
    assert white["C"] == [[later or j >= 3 for j, later in enumerate(row)] for row in causal]
    assert not any(cell for row in white["D"] for cell in row)
    level = {
        panel: [i for i, row in enumerate(module.weights(panel)) if max(row) - min(row) < 1e-9] for panel in "ABCD"
    }
    assert level == {"A": [], "B": [], "C": [], "D": [4, 5]}
    # The mistake, made by the course's own attention.
    attention = load_modules().mha.MultiHeadAttention(8, 2)
    x, mask = torch.randn(1, 6, 8), torch.tensor([[0, 0, 0, 0, 1, 1]])
    q, k, v = attention.compute_mh_qkv_transformation(x, x, x)
    rows = mask[:, :, None].expand(1, 6, 6)  # forbids queries instead of keys
    mixed = attention.compute_scaled_dot_product_attention(q, k, v, attention_mask=rows)
    torch.testing.assert_close(mixed[0, 4], v.mean(dim=2).flatten())


def test_the_heatmap_is_that_of_the_trained_model():
    module, checkpoint = draw(), trained()
    source = checkpoint.source.encode("Mein Onkel hat gestern einen gelben Hut gekauft.")
    target = checkpoint.target.encode("My uncle bought a yellow hat yesterday.")
    maps = attention_maps(checkpoint.model, torch.tensor([source]), torch.tensor([target[:-1]]))
    assert maps.cross is not None
    torch.testing.assert_close(maps.cross[2, 0], torch.tensor(module.CROSS) / 100, atol=0.011, rtol=0)
    assert module.READ == [piece.removeprefix("▁") for piece in checkpoint.source.pieces(source)]
    assert module.WRITTEN == [piece.removeprefix("▁") for piece in checkpoint.target.pieces(target[:-1])]
    holds(6, 0.96, 0.98, 0.93, digits=2)


def test_the_toy_model_and_the_loss():
    toy = {"we": (0.5, {"sleep": 0.4, "run": 0.3, "sing": 0.3}), "they": (0.3, {"sleep": 0.9, "run": 0.1})}
    toy["nobody"] = (0.2, {"sleeps": 1.0})
    sentences = {f"{one} {two}": p * q for one, (p, after) in toy.items() for two, q in after.items()}
    assert max(sentences, key=lambda sentence: sentences[sentence]) == "they sleep"
    for sentence, probability in sentences.items():
        assert re.search(rf'"{sentence}",? (?:has )?(?:\$.* = )?{probability:.2f}', answer(7)), sentence
    holds(12, -sum(map(math.log, (1 / 2, 1 / 4, 1 / 4, 1))) / 4, digits=3)
    holds(12, -sum(map(math.log, (1 / 2, 1 / 4, 1 / 4, 1, 1 / 8))) / 5, digits=3)
    holds(12, math.exp(-sum(map(math.log, (1 / 2, 1 / 4, 1 / 4, 1))) / 4), digits=2)


def test_the_positions():
    table = load_modules().pe.PositionalEncoding(4, 20).pe[0]
    product = (table[1] @ table[4]).item()
    assert product == pytest.approx((table[11] @ table[14]).item(), abs=1e-6)
    holds(11, product, digits=4)
    turn = torch.tensor([[math.cos(1), -math.sin(1)], [math.sin(1), math.cos(1)]])
    torch.testing.assert_close(table[6:9, :2], table[7:10, :2] @ turn.T)


def test_the_decodings_are_those_of_the_trained_model():
    from course.translation.decoding import beam_search, greedy_decode

    checkpoint = trained()
    model, german, english = checkpoint.model, checkpoint.source, checkpoint.target
    rows = re.findall(
        r"(?m)^\| (.*?) ?\| (reference|greedy|beam|greedy and beam)(?:, k = 8)? \| (.*?) \| \u2212(.*?) \| (\d+) \|$",
        EXERCISES,
    )
    assert len(rows) == 7
    sentence = ""
    for given, way, translation, value, tokens in rows:
        sentence = given or sentence
        source, target = german.encode(sentence), english.encode(translation)
        lengths = torch.tensor([len(source)]), torch.tensor([len(target) - 1])
        with torch.no_grad():
            scores = model(torch.tensor([source]), torch.tensor([target[:-1]]), *lengths)[0].log_softmax(dim=-1)
        assert scores[range(len(target) - 1), target[1:]].sum().item() == pytest.approx(-float(value), abs=0.01)
        assert len(target) - 1 == int(tokens)
        if "greedy" in way:
            assert english.decode(greedy_decode(model, [source])[0]) == translation
        if "beam" in way:
            assert english.decode(beam_search(model, [source], beam=8, length_penalty=0.0)[0]) == translation
    holds(8, 3.32 / 11, 3.10 / 8, digits=2)

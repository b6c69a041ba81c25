"""Notebooks with the solution: no cell is blocked, and what the texts say is what the cells print."""

import re
from pathlib import Path

import pytest
import torch

from course.location import ENGINE as ROOT
from tests.support.running_notebooks import EXCUSES, check_outputs, outputs, run, unpacked_handout

FOLDER = ROOT / "solutions" / "variants"


@pytest.fixture(autouse=True)
def _float32(_float64):
    torch.set_default_dtype(torch.float32)


@pytest.fixture(scope="module")
def handout(tmp_path_factory) -> Path:
    return unpacked_handout(tmp_path_factory.mktemp("handout"), "--assignment", "variants")


def printed(name: str, handout: Path, folder: Path, monkeypatch) -> dict[str, str]:
    """What the cells of a notebook printed, tables included, by their ids."""
    cells = run(FOLDER, name, handout, folder, monkeypatch, seconds=2400)
    check_outputs(cells)
    found = {cell.id: "\n".join([*outputs(cell, "stdout"), *outputs(cell, "text/html")]) for cell in cells}
    for id, text in found.items():
        assert not any(excuse in text for excuse in EXCUSES), id
    return found


def figures(table: str) -> dict[str, list[float]]:
    """The numbers of the rows of a table, by the first cell of the row."""
    rows = re.findall(r"<tr><td[^>]*>([^<]*)</td>(.*?)</tr>", table)
    return {name: [float(number) for number in re.findall(r">(-?[\d.]+)[ %]*<", rest)] for name, rest in rows}


@pytest.mark.slow
def test_tagger(handout, tmp_path, monkeypatch):
    found = printed("5_tagger.ipynb", handout, tmp_path, monkeypatch)
    shown = figures(found["sides-shown"])
    for noun, adjective in (("die reichen werden", "die reichen leute"), ("der blinde braucht", "der blinde mann")):
        rows = [next(shown[text] for text in shown if text.startswith(kind)) for kind in (noun, adjective)]
        assert rows[0][0] > 0.8
        assert rows[1][0] < 0.2
        assert rows[0][1] == rows[1][1]  # with a causal mask both sentences are equal up to the word
    made = figures(found["sides-made"])
    assert made["both sides"] == [100]
    assert 40 < made["only the left side"][0] < 60
    trained = figures(found["sides-trained"])  # F1 of three seeds, mean accuracy, mean F1
    assert abs(trained["both sides"][-1] - trained["only the left side"][-1]) < 3
    assert "F1 of words 0.89, of spans 0.50" in found["spans-measured"]
    by_words, by_spans = figures(found["spans-measured"])["the trained tagger"]
    assert by_words == pytest.approx(96.1, abs=0.5)
    assert by_words - 4 < by_spans < by_words
    counted = figures(found["baseline-measured"])
    assert counted["the trained tagger"][1] == pytest.approx(96.1, abs=0.5)
    assert counted["most frequent form"][1] == pytest.approx(84.6, abs=0.1)
    assert counted["all lowercase"][1] == 0


@pytest.mark.slow
def test_vit(handout, tmp_path, monkeypatch):
    found = printed("6_vit.ipynb", handout, tmp_path, monkeypatch)
    positions = figures(found["positions-measured"])
    assert positions["positions set to 0"][0] == positions["positions set to 0"][1]
    assert positions["with its positions"][0] > positions["with its positions"][1] + 50
    cosines = figures(found["positions-drawn"])
    assert cosines["digits anywhere on a canvas"][0] > 0.5
    assert abs(cosines["digits that fill the image"][0]) < 0.1
    good = {name.partition(",")[0]: numbers[-1] for name, numbers in figures(found["good-measured"]).items()}
    assert good["logistic regression"] == pytest.approx(92, abs=2)
    assert good["convolution"] == pytest.approx(98, abs=1)
    assert good["Vision Transformer"] == pytest.approx(98.6, abs=0.3)
    shares = figures(found["canvas-measured"])
    assert all(chance == pytest.approx(25, abs=5) for _, chance in shares.values())
    assert min(trained for trained, _ in shares.values()) > 60
    assert shares["layer 1"][0] > 85


@pytest.mark.slow
def test_training(handout, tmp_path, monkeypatch):
    found = printed("7_training.ipynb", handout, tmp_path, monkeypatch)
    right = figures(found["without-run"])  # three seeds, then their mean
    clipped, exploded = right["one large gradient"], right["the same, no clipping"]
    assert all(one < other - 15 for one, other in zip(exploded, clipped, strict=True))  # without-read: more than 25
    assert max(right["as it should be"][:3]) - min(right["as it should be"][:3]) > 2
    assert float(re.findall(r"at first, ([\d.]+) after 60", found["own-batch-run"])[0]) < 0.2
    assert "by hand" in found["try-4"]
    assert "exactly the same losses" in found["seeds-run"]
    steps, bits = (re.findall(text, found["own-train"])[0] for text in (r"(\d+) steps in", r"tales\): ([\d.]+)"))
    assert int(steps) < 600 or float(bits) < 1.85


@pytest.mark.slow
def test_modern(handout, tmp_path, monkeypatch):
    found = printed("8_modern.ipynb", handout, tmp_path, monkeypatch)
    products = re.findall(r"rotated ([+-][\d.]+), with the wrong row ([+-][\d.]+)", found["rope-measured"])
    assert len({right for right, _ in products}) == 1
    assert len({wrong for _, wrong in products}) == 3
    for _, linear, counted, attention, as_counted in re.findall(
        r"<tr>" + 5 * r"<td[^>]*>([\d,]+)</td>" + "</tr>", found["flops-counted"]
    ):
        assert linear == counted
        assert attention == as_counted
    caches = re.findall(r"<tr><td[^>]*>\d</td><td[^>]*>([\d,]+)</td><td[^>]*>([\d,]+)</td>", found["see-cache"])
    assert [formula for formula, _ in caches] == [measured for _, measured in caches] != []
    assert "128 KiB" in found["groups-table"]
    coarse, fine = (figures(found["half-measured"])[f"angles in {name}"] for name in ("bfloat16", "float32"))
    assert coarse[-1] > 10
    assert max(fine) < 0.01
    assert "squares in float16: mean square inf, RMSNorm [0.0, 0.0, 0.0, 0.0]" in found["half-measured"]
    assert re.search(r"base 10,000: .* 0\.03\nbase 500,000: .* 0\.43", found["rope-decay"])  # rope-decay-read
    trained = figures(found["trained-run"])  # the losses of three seeds, and the mean change
    assert len(trained["all old"]) == 4
    assert trained["RoPE and grouped queries"][-1] < 0


@pytest.mark.slow
def test_heads(handout, tmp_path, monkeypatch):
    found = printed("2_heads.ipynb", handout, tmp_path, monkeypatch)
    assert re.search(r"head 2: .* 0\.38 on average .* at most 0\.86 from ▁the to ▁king", found["see-trained"])
    assert "the same as with an argument: True" in found["where-buffer"]
    kept = dict(re.findall(r"<tr><td[^>]*>(\w+)</td>.*?>(works|RuntimeError)</td></tr>", found["lists-shown"]))
    assert kept == {"list": "RuntimeError", "ModuleList": "works", "ModuleDict": "works"}


@pytest.mark.slow
def test_language_model(handout, tmp_path, monkeypatch):
    found = printed("3_lm.ipynb", handout, tmp_path, monkeypatch)
    assert "1.677 bits per character; 6-grams 1.937" in found["see-bits"]

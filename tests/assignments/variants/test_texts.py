"""Notebooks with the solution: no cell is blocked, and what the texts say is what the cells print."""

import re
from pathlib import Path

import pytest
import torch
from torch import nn

from course.location import ENGINE as ROOT
from course.variants.tales import ngram_bits, read_tales
from tests.support.running_notebooks import (
    EXCUSES,
    Claim,
    check_claims,
    check_outputs,
    outputs,
    run,
    text_of,
    unpacked_handout,
)

FOLDER = ROOT / "solutions" / "variants"
# Numbers that a text quotes: the cell that prints them, what it prints, the cell that quotes them, and how.
CLAIMS: dict[str, list[Claim]] = {
    "1_layers.ipynb": [
        ("gelu-drawn", r"lowest value -0\.170 at x = -0\.75", "gelu-reading", r"to \$-0\.17\$ near \$x = -0\.75\$"),
        ("gelu-drawn", r"largest difference 4\.\de-04", "gelu-reading", r"differ by at most 0\.0005"),
        (
            "see-hidden",
            r"above 0\.1: 3\d% of all; below 0: 5\d%",
            "see-reading",
            r"(?s)More than half .* about a third",
        ),
    ],
    "2_heads.ipynb": [
        ("see-trained", r"head 1: largest weight of a row 0\.24 ", "see-reading", r"0\.24 on average in head 1"),
        ("see-trained", r"head 2: .* 0\.38 on average", "see-reading", r"0\.38 in head 2"),
        ("see-trained", r"head 2: .*\(even: 0\.16\)", "see-reading", r"even spread would give 0\.16"),
        (
            "see-trained",
            r"head 2: .* at most 0\.86 from ▁the to ▁king",
            "see-reading",
            r"`▁the` puts a weight of 0\.86 on `▁king`",
        ),
        ("lists-shown", r"\blist 0 nothing True True RuntimeError", "lists-reading", r"on a GPU the first call fails"),
    ],
    "3_lm.ipynb": [
        ("bits-ngrams", r"5: 1\.963, 6: 1\.937\}", "see-bits-reading", r"6-grams\) reaches 1\.937"),
        ("see-bits", r"1\.677 bits per character; 6-grams 1\.937", "see-bits-reading", r"reach 1\.677 bits"),
        ("see-bits", r"1\.677 bits per character; 6-grams 1\.937", "see-bits-reading", r"about 13 % fewer bits"),
    ],
    "4_generate.ipynb": [
        ("filter-drawn", r"there\"[^\"]* top-k 5 +5\n +top-p 0\.6 +6\n", "filter-reading", r"top-p keeps 6 tokens"),
        ("filter-drawn", r"him for a\"[^\"]* top-k 5 +5\n +top-p 0\.6 +62\n", "filter-reading", r"top-p keeps 62"),
        (
            "filter-drawn",
            r"unchanged +2,000\n +temperature 0\.5 +1,998\n",
            "filter-reading",
            r"(?s)two\s+probabilities become so small",
        ),
    ],
    "5_tagger.ipynb": [
        ("sides-made", r"both sides 100 %", "sides-read", r"gets all words right"),
        ("sides-made", r"only the left side (4|5)\d %", "sides-read", r"gets about half right"),
    ],
    "6_vit.ipynb": [
        (
            "positions-drawn",
            r"fill the image -?0\.0\d* -?0\.0\d",
            "positions-meaning",
            r"no\s+more similar than other patches",
        ),
        (
            "positions-drawn",
            r"on a canvas 0\.7\d* -?0\.0\d",
            "positions-meaning",
            r"neighbours have similar position embeddings",
        ),
    ],
    "8_modern.ipynb": [
        ("rms-check", r"(?s)nn\.RMSNorm 0\.20, .* 4 .*nn\.LayerNorm .* 8 ", "rms-why", r"has half the parameters"),
        ("rope-measured", r"(?s)( rotated -0\.3896.*){3}", "rope-read", r"the three products are equal"),
        ("rope-decay", r"base 10,000: .* 0\.03\n", "rope-decay-read", r"(?s)2,000, 3 % of it\s+is left with .* 10,000"),
        ("rope-decay", r"base 500,000: .* 0\.43\n", "rope-decay-read", r"43 % with a base of 500,000"),
        ("trained-run", r"all four -?\d.*", "summary", r"trained small ones, and measured what the parts"),
    ],
}


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
    check_claims(FOLDER / name, cells, CLAIMS.get(name, []))
    found = {cell.id: "\n".join([*outputs(cell, "stdout"), *outputs(cell, "text/html")]) for cell in cells}
    for id, text in found.items():
        assert not any(excuse in text for excuse in EXCUSES), id
    return found


def figures(table: str) -> dict[str, list[float]]:
    """The numbers of the rows of a table, by the first cell of the row."""
    rows = re.findall(r"<tr><td[^>]*>([^<]*)</td>(.*?)</tr>", table)
    return {name: [float(number) for number in re.findall(r">([+-]?[\d.]+)[ %]*<", rest)] for name, rest in rows}


def quoted(name: str, id: str) -> dict[str, list[float]]:
    """The numbers of the rows of the table in a text, by the first cell of the row."""
    text = text_of(FOLDER / name, id).replace("\N{MINUS SIGN}", "-")
    rows = re.findall(r"(?m)^\| ([^|]+) \|(.*\d.*)\|$", text.partition("|---|")[2])
    return {first: [float(number) for number in re.findall(r"[+-]?\d[\d.]*", rest)] for first, rest in rows}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["1_layers.ipynb", "4_generate.ipynb"])
def test_layers_and_generate(name: str, handout, tmp_path, monkeypatch):
    printed(name, handout, tmp_path, monkeypatch)


def test_a_unit_that_is_always_negative_stays_or_comes_back():
    """With ReLU it gets no gradient; only the layers before it can bring it back."""
    said = text_of(FOLDER / "1_layers.ipynb", "gelu-reading")
    assert re.search(r"it gets no gradient\. It changes only if the\s+layers before it change its inputs", said)
    x = torch.rand(64, 1)
    for before_learns in (False, True):
        shift = torch.zeros(1, requires_grad=before_learns)  # the layer before the two units
        weight, bias = (torch.tensor(pair, requires_grad=True) for pair in ([1.0, -1.0], [1.0, -0.1]))
        learning = [weight, bias, shift] if before_learns else [weight, bias]
        back = False
        for _ in range(100):
            units = (x + shift) * weight + bias  # (64, 2): at first the second unit is negative for all inputs
            back = bool(units[:, 1].max() > 0)
            if back:
                break
            gradients = torch.autograd.grad(units.relu().sum(dim=1).mean(), learning)
            assert gradients[0][0] != 0
            assert gradients[0][1] == gradients[1][1] == 0
            with torch.no_grad():
                for parameter, gradient in zip(learning, gradients, strict=True):
                    parameter -= 0.01 * gradient
        assert back == before_learns


def test_both_norms_need_one_pass():
    """The number, the sum and the sum of the squares of the features are enough (rms-why)."""
    assert "both norms can be computed in one pass" in text_of(FOLDER / "8_modern.ipynb", "rms-why")
    x = torch.randn(5, 12, dtype=torch.float64)
    total, squares = torch.zeros(5, 1), torch.zeros(5, 1)
    for column in x.unbind(dim=1):  # the one pass
        total, squares = total + column[:, None], squares + column[:, None] ** 2
    mean, square = total / 12, squares / 12
    rms, norm = nn.RMSNorm(12, eps=1e-5).double(), nn.LayerNorm(12).double()
    torch.testing.assert_close(x / (square + 1e-5).sqrt(), rms(x))
    torch.testing.assert_close((x - mean) / (square - mean**2 + 1e-5).sqrt(), norm(x))
    assert 2 * sum(p.numel() for p in rms.parameters()) == sum(p.numel() for p in norm.parameters())


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
    said = [float(number) for number in re.findall(r"\d\d\.\d", text_of(FOLDER / "5_tagger.ipynb", "sides-read"))]
    assert said == pytest.approx(trained["both sides"][:3] + trained["only the left side"][:3], abs=1)
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
    clipped, exploded = (right[f"one large gradient, {how}"] for how in ("clipped", "not clipped"))
    assert all(one < other - 15 for one, other in zip(exploded, clipped, strict=True))  # without-read: more than 25
    assert max(right["as it should be"][:3]) - min(right["as it should be"][:3]) > 2
    said = quoted("7_training.ipynb", "without-read")
    assert said.keys() == right.keys()
    for name, shares in said.items():
        assert shares == pytest.approx(right[name][:3], abs=8), name  # "Yours may differ by a few points"
    with_seeds = [one - other for one, other in zip(right["no warm-up"], right["as it should be"], strict=True)][:3]
    assert min(with_seeds) < 0 < max(with_seeds)  # the text: three runs do not decide
    read = text_of(FOLDER / "7_training.ipynb", "without-read")
    (costs,) = re.findall(
        r"costs about (\d+) and (\d+) points with seeds 1 and 2, and \*gains\* about (\d+) with seed 3", read
    )
    changes = [one - other for one, other in zip(said["no warm-up"], said["as it should be"], strict=True)]
    assert changes == [-float(costs[0]), -float(costs[1]), float(costs[2])]
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
    said = quoted("8_modern.ipynb", "trained-read")
    assert {*said, "all old"} == trained.keys()
    for name, changes in said.items():
        measured = [loss - old for loss, old in zip(trained[name][:3], trained["all old"][:3], strict=True)]
        assert changes == pytest.approx(measured, abs=0.05), name


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
    assert "The best n-gram model (6-grams)" in text_of(FOLDER / "3_lm.ipynb", "see-bits-reading")
    assert "At 4 of 14 positions the likeliest is the true one" in found["see-next"]
    assert "the true one at 4 of 14 positions" in text_of(FOLDER / "3_lm.ipynb", "see-attention")
    assert ngram_bits(read_tales("train"), read_tales("val"), 7) > 1.937  # the cell counts up to 6 only
    assert "Counting sequences of six characters gives 1.94" in text_of(FOLDER / "7_training.ipynb", "own-read")

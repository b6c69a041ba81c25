"""The notebooks of transformer, run in the unpacked handout, as students get them, half solved or solved: nothing that
they read is missing there, and what their texts say is what cells print.
"""

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from autograder.manifest import Stage, assignment
from tests.support.running_notebooks import (
    EXCUSES,
    SECONDS,
    STANDINS,
    check_claims,
    check_outputs,
    check_pictures,
    outputs,
    run,
    text_of,
    unpacked_handout,
)

ROOT = Path(__file__).resolve().parents[3]
ASSIGNMENT = assignment("transformer")
SOLUTIONS = ROOT / "solutions" / ASSIGNMENT.name
RELEASED = ROOT / "notebooks" / ASSIGNMENT.name
STAGES = pytest.mark.parametrize("stage", ASSIGNMENT.stages, ids=lambda stage: stage.name)
MORE = pytest.mark.parametrize(
    "name",
    [pytest.param(one, marks=() if one.startswith("0") else pytest.mark.slow) for one in ASSIGNMENT.more_notebooks],
)
# Numbers that a text quotes: the cell that prints them, what it prints, the cell that quotes them, and how.
CLAIMS = {
    "0_text.ipynb": [
        ("pieces-check", r"'▁sleep', 's'\] 1 / 1024", "pieces", r"= 1/1024"),
        ("pieces-check", r"'eps'\] 1 / 2097152", "pieces", r"= 1/2097152"),
        ("embedding-neighbours", r"Hund [^%]*?überlebt 0\.26", "embedding-neighbours-read", r"cosine of 0\.26"),
        ("embedding-neighbours", r"drei [^%]*?▁Drei 0\.27", "embedding-neighbours-read", r"cosine of 0\.27"),
    ],
    "1_mha.ipynb": [
        (
            "lookup-example",
            r"(?s)14\.80.*10\.31.*8\.19.*8\.00 degrees",
            "lookup-read",
            r"(?s)14\.80.*10\.31.*8\.19.*8\.00",
        ),
        ("cost-measured", r"self-attention +from n = 512 to 2048: +\d", "cost-reading", r"14 to 20 times"),
        ("cost-measured", r"n =  128, self-attention +: +2,097,152", "cost-reading", r"2\.1 million"),
        ("cost-measured", r"n =  128, recurrent +: +1,048,576", "cost-reading", r"half as many"),
        ("cost-measured", r"n =   32, self-attention +: +131,072", "cost-reading", r"131 thousand"),
        ("cost-measured", r"n =   32, recurrent +: +262,144", "cost-reading", r"262 thousand"),
    ],
    "2_pe.ipynb": [
        (
            "trained-distance",
            r"head 3: highest at \+2 \(0\.583\); at \+1 0\.574",
            "trained-reading",
            r"(?s)0\.583.*0\.574",
        ),
        ("trained-distance", r"queries 0 to 9: .* by 0\.53", "trained-reading", r"higher by 0\.53"),
        ("trained-distance", r"queries 20 to 29: .* by 0\.23", "trained-reading", r"by 0\.23 for"),
        ("trained-distance", r"queries 30 to 39: .* by 0\.36", "trained-reading", r"it is 0\.36 again"),
        ("pictures-columns", r"59 of 96 clocks never", "pictures-columns", r"at clock 37"),
    ],
    "3_encoder.ipynb": [
        ("postnorm-measure", r"neither +mean gradient 8\.\de-08", "residual-read", r"a million times smaller"),
        ("postnorm-measure", r"norm only +mean gradient 1\.1e-01", "postnorm-measure", r"near 0\.1"),
        ("postnorm-measure", r"residual only +mean gradient 1\.2e\+00", "postnorm-measure", r"alone near 1"),
        ("residual-measure", r"without +mean cosine after 2 layers 1\.00", "depth-note", r"after two layers"),
        ("residual-measure", r"with residual connections mean cosine .* 12 0\.4", "residual-measure", r"about 0\.5"),
        ("depth-measure", r"post-norm .* first layer 0\.52, of the last 0\.39", "postnorm-read", r"(?s)0\.52.*0\.39"),
        ("depth-measure", r"pre-norm .* of the last 0\.20", "depth-measure", r"to 0\.20"),
        ("stack-shown", r"plain list 60 0 ", "stack", r"does not find them"),
    ],
    "4_decoder.ipynb": [
        ("scores-check", r"▁did 0\.55, ▁haven 0\.40, ▁have 0\.02", "scores-read", r"(?s)0\.55.*0\.40.*0\.02"),
        ("scores-check", r"▁package 0\.78, ▁parcel 0\.22", "scores-read", r'prefers "package"'),
    ],
    "5_inference.ipynb": [
        ("beam-shown", r"me a warm coat\.[^%]*?-3\.38", "beam-read", r"reference has \$-3\.38"),
        ("beam-shown", r"gotten me a coat\.[^%]*?-6\.42", "beam-read", r"log-probability of\s+\$-6\.42"),
        ("beam-shown", r"bake bread\.[^%]*?-1\.60", "beam-read", r"at \$-1\.60"),
        ("beam-shown", r"make bread\.[^%]*?-1\.54", "beam-read", r"\$-1\.54"),
        ("beam-shown", r"onions\.[^%]*?-5\.24", "beam-read", r"reference has \$-5\.24"),
        ("beam-shown", r"synicalions\.[^%]*?-7\.59", "beam-read", r"at \$-7\.59"),
        ("beam-shown", r"likeions\.[^%]*?-3\.55", "beam-read", r"with \$-3\.55"),
    ],
    "6_train.ipynb": [
        ("ingredients-check", r"loss 0\.357, smoothed 0\.677", "ingredients", r"(?s)= 0\.357.*0\.677"),
        ("translation-data", r"9,800 pairs", "translation", r"10,000 sentence pairs .* of which 200"),
    ],
}


@pytest.fixture(scope="module")
def handout(tmp_path_factory) -> Path:
    return unpacked_handout(tmp_path_factory.mktemp("handout"))


def check(name: str, cells: list[Any]) -> None:
    """What the texts say is what the cells print."""
    check_claims(SOLUTIONS / name, cells, CLAIMS.get(name, []))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["3_encoder.ipynb", "4_decoder.ipynb", "5_inference.ipynb"])
def test_half_solved_no_cell_is_blocked(name: str, handout, tmp_path, monkeypatch):
    """Stage 2 is missing: a stand-in takes its place, and every cell below does what it does with the solution."""
    own = shutil.copytree(SOLUTIONS, tmp_path / "own", ignore=shutil.ignore_patterns("*.ipynb"))
    shutil.copy(RELEASED / "pe.py", own)
    cells = run(SOLUTIONS, name, handout, tmp_path, monkeypatch, own=own)
    check_outputs(cells)
    check(name, cells)
    printed = "".join(text for cell in cells for text in outputs(cell, "stdout"))
    assert f"{STANDINS}stage 2 (Positional encoding: not written yet)." in printed
    for excuse in EXCUSES:
        assert excuse not in printed


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in ASSIGNMENT.notebooks if name != "6_train.ipynb"])
def test_solved_every_cell_does_what_it_is_for(name: str, handout, tmp_path, monkeypatch):
    cells = run(SOLUTIONS, name, handout, tmp_path, monkeypatch)
    check_outputs(cells)
    check(name, cells)
    printed = "".join(text for cell in cells for text in outputs(cell, "stdout"))
    for excuse in (*EXCUSES, STANDINS):
        assert excuse not in printed


@pytest.mark.parametrize(
    "stage",
    [pytest.param(one, marks=pytest.mark.slow, id=one.name) for one in ASSIGNMENT.stages],  # attention's is not
)
def test_as_released_nothing_fails_and_nothing_is_earned(stage: Stage, handout, tmp_path, monkeypatch):
    cells = run(RELEASED, stage.notebook, handout, tmp_path, monkeypatch)
    (graded,) = check_outputs(cells)
    check(stage.notebook, cells)
    assert outputs(graded, "text/plain")[-1] == "0.0"
    assert "not started" in "".join(outputs(graded, "text/html"))
    assert "Your code raised" not in "".join(text for cell in cells for text in outputs(cell, "stdout"))


@MORE
def test_a_notebook_without_a_stage_runs_and_earns_nothing(name: str, handout, tmp_path, monkeypatch):
    cells = run(RELEASED, name, handout, tmp_path, monkeypatch)
    assert check_outputs(cells) == []
    check(name, cells)


@pytest.mark.slow  # five minutes of a processor
def test_the_students_modules_learn(handout, tmp_path, monkeypatch):
    cells = run(SOLUTIONS, "6_train.ipynb", handout, tmp_path, monkeypatch, seconds=20 * SECONDS)
    check_outputs(cells)
    check("6_train.ipynb", cells)
    by_id = {cell.id: cell for cell in cells}
    printed = "".join(text for cell in cells for text in outputs(cell, "stdout"))
    for excuse in EXCUSES:
        assert excuse not in printed
    (found,) = re.findall(r"(\d+) of 100 words are exactly right", printed)
    assert int(found) >= 95
    exact, losses = {}, {}
    for id in ("ablations-run", "switches-run"):
        for name, loss, words in re.findall(
            r"<tr><td[^>]*>([^<]+)</td><td[^>]*>[\d.]+</td><td[^>]*>([\d.]+)</td><td[^>]*>(\d+) of 100</td>",
            "".join(outputs(by_id[id], "text/html")),
        ):
            exact[name], losses[name] = int(words), float(loss)
    # What the texts say, with room for other processors.
    assert exact["complete"] == exact["all on"] > 85
    assert exact["no residual"] < 10
    assert exact["no positions"] < 60
    assert exact["no causal mask"] < 10
    assert losses["no causal mask"] == min(losses[name] for name in losses if name != "no smoothing")
    assert exact["no Adam"] < 10
    for name in ("no masked loss", "no warm-up", "no smoothing", "no clipping"):
        assert exact[name] > 85, name
    text = text_of(SOLUTIONS / "6_train.ipynb", "switches-read")
    said = re.findall(r"(all on|no [A-Za-z][a-z -]+?)\s(\d+)[,.]", text.partition("Only one")[0].replace("\n", " "))
    assert len(said) == 6
    for name, words in said:
        assert exact[name] == pytest.approx(int(words), abs=6), name
    low, high = map(float, re.findall(r"the loss on new words is ([\d.]+) instead of ([\d.]+),", text)[0])
    assert (losses["no smoothing"], losses["all on"]) == pytest.approx((low, high), abs=0.04)
    (exact_sentences,) = re.findall(r"(\d+) of 200 new sentences are exactly right", printed)
    assert int(exact_sentences) >= 180
    before, after = re.findall(
        r">yours, .*?</td><td[^>]*>([\d.]+)<", "".join(outputs(by_id["translation-run"], "text/html"))
    )
    assert float(before) < 1 < float(after)


def test_two_texts_say_the_same_of_smoothing():
    """6_train quotes the BLEU scores that docs/training.md reports for a dropout of 0.1."""
    text = text_of(SOLUTIONS / "6_train.ipynb", "switches-read")
    ((without, smoothed),) = re.findall(r"a better BLEU score: ([\d.]+) against (\d+\.\d)", text)
    guide = (ROOT / "docs" / "training.md").read_text(encoding="utf-8")
    scores = dict(re.findall(r"(?m)^\| 0\.1 \| ([\d.]+) \|.*, ([\d.]+)\D*$", guide))
    assert (float(scores["0"]), float(scores["0.1"])) == (float(without), float(smoothed))


def test_the_text_counts_the_lines_of_the_stub():
    notebook = (SOLUTIONS / "3_encoder.ipynb").read_text(encoding="utf-8")
    lines = (RELEASED / "encoder.py").read_text(encoding="utf-8").count("\n")
    (said,) = re.findall(r"\(about (\d+) lines in", notebook)
    assert abs(lines - int(said)) <= 10


@pytest.mark.parametrize("name", ASSIGNMENT.notebooks)
def test_pictures_are_there_and_have_words(name: str):
    check_pictures(SOLUTIONS / name)

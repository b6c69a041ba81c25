"""The cells that students try their attention with: what is right passes in other words too, what is wrong is told."""

import json
from pathlib import Path

import pytest

from autograder.manifest import assignment

ROOT = Path(__file__).resolve().parents[3]
SOLUTIONS = ROOT / "solutions" / "transformer"
SOURCE = (SOLUTIONS / "mha.py").read_text(encoding="utf-8")
MASKS = SOURCE[SOURCE.index("        if key_padding_mask is not None:\n") : SOURCE.index("        x = torch.softmax(")]
TOGETHER = """
        forbidden = torch.zeros(1, 1, 1, dtype=torch.long)  # as the docstring says, masks are integers or booleans
        if key_padding_mask is not None:
            forbidden = forbidden | key_padding_mask.unsqueeze(1)
        if attention_mask is not None:
            forbidden = forbidden | attention_mask
        scores = scores.masked_fill(forbidden.unsqueeze(1) != 0, lowest)
"""
ADDED = """
        if key_padding_mask is not None:
            scores = scores + key_padding_mask[:, None, None, :] * -1e9
        if attention_mask is not None:
            scores = scores + attention_mask[:, None, :, :] * -1e9
"""
LINES = ("without", "with a padding", "with a causal", "with both", "with another attention mask")


def try_out(notebook: str, ids: list[str], module: str, folder: Path, monkeypatch, capsys) -> str:
    """What cells print, with this text in mha.py."""
    (folder / "mha.py").write_text(module, encoding="utf-8")
    monkeypatch.chdir(folder)
    cells = {cell["id"]: cell for cell in json.loads((SOLUTIONS / notebook).read_text(encoding="utf-8"))["cells"]}
    names: dict[str, object] = {}
    for id in ids:
        capsys.readouterr()
        exec("".join(cells[id]["source"]), names)
    return str(capsys.readouterr().out)


@pytest.fixture
def attempt(tmp_path, monkeypatch, capsys):
    ids = ["setup", "by-hand-check", "try-by-hand", "try-2"]

    def attempt(masks: str = MASKS, last: str = "try-2") -> str:
        changed = SOURCE.replace(MASKS, masks)
        return try_out("1_mha.ipynb", ids[: ids.index(last) + 1], changed, tmp_path, monkeypatch, capsys)

    return attempt


@pytest.mark.parametrize("masks", [MASKS, TOGETHER])
def test_right_attention_passes_however_it_joins_the_masks(attempt, masks):
    for line, case in zip(attempt(masks).splitlines(), LINES, strict=True):
        assert line.startswith(f"right {case}")


def test_a_mask_that_is_added_is_told_with_its_place(attempt):
    first, told = attempt(ADDED).splitlines()
    assert first == "right without a mask"
    assert told.startswith("Not right yet: with a padding mask: ")
    assert "the first in sentence 1, query 0. Keys that are forbidden there, by any number but 0: [2, 3]." in told


def test_the_example_by_hand_goes_into_the_function(attempt):
    assert attempt(last="try-by-hand") == "by hand (7.55, 3.35), with your code [7.553 3.348 0.    0.   ]\n"


@pytest.mark.parametrize("name", assignment("transformer").notebooks)
def test_masks_hold_integers_or_booleans(name):
    """As the docstrings say: a mask of floats fails in code that is right."""
    for cell in json.loads((SOLUTIONS / name).read_text(encoding="utf-8"))["cells"]:
        for line in "".join(cell["source"]).splitlines():
            if "torch.ones" in line and "triu" in line:
                assert "dtype=torch." in line or ".long()" in line, line

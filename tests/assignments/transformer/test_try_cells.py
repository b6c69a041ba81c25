"""The cells that students try their attention with: what is right passes in other words too, what is wrong is told."""

import json
import math
from pathlib import Path

import numpy
import pytest

from autograder.manifest import assignment

ROOT = Path(__file__).resolve().parents[3]
SOLUTIONS = ROOT / "solutions" / "transformer"
SOURCE = (SOLUTIONS / "mha.py").read_text(encoding="utf-8")


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


def test_the_example_by_hand_goes_into_the_function(tmp_path, monkeypatch, capsys):
    ids = ["setup", "first-head", "try-by-hand"]
    printed = try_out("1_mha.ipynb", ids, SOURCE, tmp_path, monkeypatch, capsys)
    assert printed == "by hand (7.55, 3.35), with your code [7.553 3.348 0.    0.   ]\n"


WRITTEN = {
    "as it comes": (None, "Write both lines"),
    "right": (("keys @ query / math.sqrt(4)", "np.exp(scores) / np.exp(scores).sum()"), "Right: this is attention"),
    "not divided": (("keys @ query", "np.exp(scores) / np.exp(scores).sum()"), "Not yet."),
    "the wrong shape": (("keys * query", "np.exp(scores) / np.exp(scores).sum()"), "Not yet."),
}


@pytest.mark.parametrize("case", WRITTEN)
def test_the_first_lines_get_a_verdict(case, tmp_path, monkeypatch, capsys):
    written, said = WRITTEN[case]
    cells = {cell["id"]: cell for cell in json.loads((SOLUTIONS / "1_mha.ipynb").read_text(encoding="utf-8"))["cells"]}
    source = "".join(cells["first-head"]["source"])
    for name, line in zip(("scores", "weights"), written or (), strict=False):
        source = source.replace(f"{name} = ...", f"{name} = {line}")
    exec(source, {"np": numpy, "math": math})
    assert capsys.readouterr().out.startswith(said)


@pytest.mark.parametrize("name", assignment("transformer").notebooks)
def test_masks_hold_integers_or_booleans(name):
    """As the docstrings say: a mask of floats fails in code that is right."""
    for cell in json.loads((SOLUTIONS / name).read_text(encoding="utf-8"))["cells"]:
        for line in "".join(cell["source"]).splitlines():
            if "torch.ones" in line and "triu" in line:
                assert "dtype=torch." in line or ".long()" in line, line

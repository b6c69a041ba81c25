"""The notebooks, run top to bottom in a fresh kernel: with the solution, and as students get them."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import nbformat
import pytest

from autograder.manifest import Stage, assignment

ROOT = Path(__file__).resolve().parent.parent
ASSIGNMENT = assignment("transformer")
SOLUTIONS = ROOT / "solutions" / ASSIGNMENT.name
RELEASED = ROOT / "notebooks" / ASSIGNMENT.name
STAGES = pytest.mark.parametrize("stage", ASSIGNMENT.stages, ids=lambda stage: stage.name)
SECONDS = 120  # for a cell, on a busy machine


def run(source: Path, stage: Stage, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Run a notebook in a copy of its folder; its code cells with their outputs."""
    from nbclient import NotebookClient

    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    for module in source.glob("*.py"):
        shutil.copy(module, folder)
    notebook = nbformat.read(source / stage.notebook, as_version=4)
    NotebookClient(notebook, timeout=SECONDS, resources={"metadata": {"path": str(folder)}}).execute()
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def outputs(cell: Any, kind: str) -> list[str]:
    """The streams of a name, or the pieces of a MIME type, that a cell gave."""
    streams = [output.text for output in cell.outputs if output.get("name") == kind]
    return streams + [output.data[kind] for output in cell.outputs if kind in output.get("data", {})]


def check_outputs(cells: list[Any]) -> Any:
    """No errors and nothing on stderr. The graded cell."""
    for cell in cells:
        assert not any(output.output_type == "error" for output in cell.outputs), cell.source
        assert outputs(cell, "stderr") == [], cell.source
    (graded,) = [cell for cell in cells if "nbgrader" in cell.metadata]
    return graded


@pytest.mark.slow  # the larger half; the released notebooks run the same cells, with less behind them
@STAGES
def test_with_the_solution_everything_runs_and_is_full(stage: Stage, tmp_path, monkeypatch):
    cells = run(SOLUTIONS, stage, tmp_path, monkeypatch)
    graded = check_outputs(cells)
    assert float(outputs(graded, "text/plain")[-1]) == stage.max_points
    printed = "".join(text for cell in cells for text in outputs(cell, "stdout"))
    for excuse in ("Not started:", "Your code raised", "This needs your code"):
        assert excuse not in printed


@STAGES
def test_as_released_nothing_fails_and_nothing_is_earned(stage: Stage, tmp_path, monkeypatch):
    cells = run(RELEASED, stage, tmp_path, monkeypatch)
    graded = check_outputs(cells)
    assert outputs(graded, "text/plain")[-1] == "0.0"
    assert "not started" in "".join(outputs(graded, "text/html"))
    assert "Your code raised" not in "".join(text for cell in cells for text in outputs(cell, "stdout"))


@STAGES
def test_pictures_are_there_and_have_words(stage: Stage):
    notebook = json.loads((SOLUTIONS / stage.notebook).read_text(encoding="utf-8"))
    text = "\n".join("".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "markdown")
    assert "<img" not in text  # a picture in Markdown is found by the expression below
    for words, file in re.findall(r"!\[([^\]]*)\]\(([^)\s]+)\)", text):
        assert (SOLUTIONS / file).is_file(), file
        assert len(words) > 20, f"{file} needs a description"

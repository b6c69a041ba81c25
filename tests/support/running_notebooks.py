"""Run notebooks as students do, in the unpacked handout, and read what their cells gave."""

import json
import re
import shutil
import zipfile
from pathlib import Path
from typing import Any

import nbformat
import pytest

from autograder.__main__ import main

SECONDS = 120  # for a cell, on a busy machine
EXCUSES = ("Not started:", "Your code raised", "This needs your code", "Not right yet")
STANDINS = "Not all of this is your code: stand-ins replace "

# A number that a text quotes: the cell that prints it, what it prints, the cell that quotes it, and how.
Claim = tuple[str, str, str, str]

# Which of our modules a notebook has imported from elsewhere.
OUTSIDE = """
import sys
ours = [module for name, module in sys.modules.items() if name.partition(".")[0] in ("autograder", "course")]
[module.__file__ for module in ours if not module.__file__.startswith({root!r})]
"""


def unpacked_handout(folder: Path, *options: str) -> Path:
    """The course as students get it: what `python -m autograder handout` packs with these options."""
    archive = folder / "handout.zip"
    assert main(["handout", str(archive), *options]) == 0
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(folder)
    (found,) = (path for path in folder.iterdir() if path.is_dir())
    return found


def run(
    source: Path,
    name: str,
    handout: Path,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    own: Path | None = None,
    seconds: int = SECONDS,
) -> list[Any]:
    """Run a notebook beside a copy of the modules of its folder, or of another one; its code cells with their outputs.

    All that it imports and reads beside the modules is that of the handout.
    """
    from nbclient import NotebookClient

    monkeypatch.setenv("PYTHONPATH", str(handout))  # goes before the project, which pip has put into the path
    for module in (own or source).glob("*.py"):
        shutil.copy(module, folder)
    notebook = nbformat.read(source / name, as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell(OUTSIDE.format(root=str(handout)), id="outside"))
    # On a busy machine the last outputs of a cell may come late; they would be lost without a word.
    resources = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, timeout=seconds, iopub_timeout=seconds, resources=resources).execute()
    assert outputs(notebook.cells.pop(), "text/plain") == ["[]"]
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def outputs(cell: Any, kind: str) -> list[str]:
    """The streams of a name, or the pieces of a MIME type, that a cell gave."""
    streams = [output.text for output in cell.outputs if output.get("name") == kind]
    return streams + [output.data[kind] for output in cell.outputs if kind in output.get("data", {})]


def check_outputs(cells: list[Any]) -> list[Any]:
    """No errors and nothing on stderr. The graded cells."""
    for cell in cells:
        assert not any(output.output_type == "error" for output in cell.outputs), cell.source
        assert outputs(cell, "stderr") == [], cell.source
    return [cell for cell in cells if "nbgrader" in cell.metadata]


def said(cell: Any) -> str:
    """What a cell printed, and the words of what it showed."""
    shown = [re.sub(r"<[^>]*>", " ", text) for text in outputs(cell, "text/html")]
    return re.sub(r" +", " ", "\n".join(shown)) + "\n".join(outputs(cell, "stdout"))


def text_of(notebook: Path, id: str) -> str:
    """The source of a cell."""
    content = json.loads(notebook.read_text(encoding="utf-8"))
    (text,) = ("".join(cell["source"]) for cell in content["cells"] if cell["id"] == id)
    return text


def check_claims(notebook: Path, cells: list[Any], claims: list[Claim]) -> None:
    """What the texts of a notebook say is what its cells print."""
    content = json.loads(notebook.read_text(encoding="utf-8"))
    texts = {cell["id"]: "".join(cell["source"]) for cell in content["cells"]}
    printed = {cell.id: said(cell) for cell in cells}
    for source, pattern, text, quoted in claims:
        assert re.search(pattern, printed[source]), f"{source} printed\n{printed[source]}\nwithout {pattern}"
        assert re.search(quoted, texts[text]), f"{text} does not say {quoted}"


def check_pictures(notebook: Path) -> None:
    """Every picture of the texts is there and has words for those who do not see it."""
    content = json.loads(notebook.read_text(encoding="utf-8"))
    text = "\n".join("".join(cell["source"]) for cell in content["cells"] if cell["cell_type"] == "markdown")
    assert "<img" not in text  # a picture in Markdown is found by the expression below
    for words, file in re.findall(r"!\[([^\]]*)\]\(([^)\s]+)\)", text):
        assert (notebook.parent / file).is_file(), file
        assert len(words) > 20, f"{file} needs a description"

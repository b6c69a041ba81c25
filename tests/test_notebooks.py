"""The notebooks of transformer, run in the unpacked handout, as students get them, half solved or solved: nothing that
they read is missing there, and what their texts say is what cells print.
"""

import json
import re
import shutil
import zipfile
from pathlib import Path
from typing import Any

import nbformat
import pytest

from autograder.__main__ import main
from autograder.manifest import Stage, assignment

ROOT = Path(__file__).resolve().parent.parent
ASSIGNMENT = assignment("transformer")
SOLUTIONS = ROOT / "solutions" / ASSIGNMENT.name
RELEASED = ROOT / "notebooks" / ASSIGNMENT.name
STAGES = pytest.mark.parametrize("stage", ASSIGNMENT.stages, ids=lambda stage: stage.name)
MORE = pytest.mark.parametrize("name", ASSIGNMENT.more_notebooks)
SECONDS = 120  # for a cell, on a busy machine
EXCUSES = ("Not started:", "Your code raised", "This needs your code", "Not right yet")
STANDINS = "Not all of this is your code: stand-ins take the place of "
# Numbers that a text quotes: the cell that prints them, what it prints, the cell that quotes them, and how.
CLAIMS = {
    "0_text.ipynb": [
        ("pieces-check", r"'▁sleep', 's'\] 1 / 1024", "pieces", r"= 1/1024"),
        ("pieces-check", r"'eps'\] 1 / 2097152", "pieces", r"= 1/2097152"),
        ("embedding-neighbours", r"Hund</td>[^%]*?überlebt 0\.26", "embedding-neighbours-read", r"cosine of 0\.26"),
    ],
    "1_mha.ipynb": [
        (
            "lookup-example",
            r"(?s)14\.80.*10\.31.*8\.19.*8\.00 degrees",
            "lookup-reading",
            r"(?s)14\.80.*10\.31.*8\.19.*8\.00",
        ),
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
        ("trained-distance", r"queries 0 to 9: .* by 0\.53", "trained-reading", r"lead by 0\.53"),
        ("trained-distance", r"queries 20 to 29: .* by 0\.23", "trained-reading", r"by 0\.23 for"),
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
        ("stack-shown", r"plain list</td>[^%]*?60</td>[^%]*?>0</td>", "stack", r"does not find them"),
    ],
    "4_decoder.ipynb": [
        ("scores-check", r"▁did 0\.55, ▁haven 0\.40, ▁have 0\.02", "scores-read", r"(?s)0\.55.*0\.40.*0\.02"),
        ("scores-check", r"▁package 0\.78, ▁parcel 0\.22", "scores-read", r'prefers "package"'),
    ],
    "5_inference.ipynb": [
        ("beam-shown", r"me a warm coat\.</td>[^%]*?-3\.38", "beam-read", r"reference has \$-3\.38"),
        ("beam-shown", r"gotten me a coat\.</td>[^%]*?-6\.42", "beam-read", r"with \$-6\.42"),
        ("beam-shown", r"bake bread\.</td>[^%]*?-1\.60", "beam-read", r"with \$-1\.60"),
        ("beam-shown", r"make bread\.</td>[^%]*?-1\.54", "beam-read", r"\$-1\.54"),
        ("beam-shown", r"onions\.</td>[^%]*?-5\.24", "beam-read", r"reference has \$-5\.24"),
        ("beam-shown", r"synicalions\.</td>[^%]*?-7\.59", "beam-read", r"at \$-7\.59"),
        ("beam-shown", r"likeions\.</td>[^%]*?-3\.55", "beam-read", r"with \$-3\.55"),
    ],
    "6_train.ipynb": [
        ("ingredients-check", r"loss 0\.357, smoothed 0\.677", "ingredients", r"(?s)= 0\.357.*0\.677"),
        ("translation-data", r"9,800 pairs", "translation", r"10,000 sentence pairs .* of which 200"),
    ],
}


# Which of our modules a notebook has imported from elsewhere.
OUTSIDE = """
import sys
ours = [module for name, module in sys.modules.items() if name.partition(".")[0] in ("autograder", "course")]
[module.__file__ for module in ours if not module.__file__.startswith({root!r})]
"""


@pytest.fixture(scope="module")
def handout(tmp_path_factory) -> Path:
    """The unpacked zip file that students get."""
    folder = tmp_path_factory.mktemp("handout")
    assert main(["handout", str(folder / "handout.zip")]) == 0
    with zipfile.ZipFile(folder / "handout.zip") as packed:
        packed.extractall(folder)
    (found,) = (path for path in folder.iterdir() if path.is_dir())
    return found


def put_half(folder: Path, missing: str) -> None:
    """The solution's modules, but one of them as students get it."""
    for module in SOLUTIONS.glob("*.py"):
        shutil.copy(RELEASED / module.name if module.stem == missing else module, folder)


def run(
    source: Path,
    name: str,
    handout: Path,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    missing: str = "",
    seconds: int = SECONDS,
) -> list[Any]:
    """Run a notebook in a copy of its folder, or with one module missing; its code cells with their outputs.

    All that it imports and reads beside the modules is that of the handout.
    """
    from nbclient import NotebookClient

    monkeypatch.setenv("PYTHONPATH", str(handout))  # goes before the project, which pip has put into the path
    for module in source.glob("*.py"):
        shutil.copy(module, folder)
    if missing:
        put_half(folder, missing)
    notebook = nbformat.read(source / name, as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell(OUTSIDE.format(root=str(handout)), id="outside"))
    NotebookClient(notebook, timeout=seconds, resources={"metadata": {"path": str(folder)}}).execute()
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


def check_claims(name: str, cells: list[Any]) -> None:
    """What the texts say is what the cells print."""
    notebook = json.loads((SOLUTIONS / name).read_text(encoding="utf-8"))
    texts = {cell["id"]: "".join(cell["source"]) for cell in notebook["cells"]}
    printed = {cell.id: "\n".join([*outputs(cell, "stdout"), *outputs(cell, "text/html")]) for cell in cells}
    for source, pattern, text, quoted in CLAIMS.get(name, []):
        assert re.search(pattern, printed[source]), f"{source} printed\n{printed[source]}\nwithout {pattern}"
        assert re.search(quoted, texts[text]), f"{text} does not say {quoted}"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["3_encoder.ipynb", "4_decoder.ipynb", "5_inference.ipynb"])
def test_half_solved_no_cell_is_blocked(name: str, handout, tmp_path, monkeypatch):
    """Stage 2 is missing: a stand-in takes its place, and every cell below does what it does with the solution."""
    cells = run(SOLUTIONS, name, handout, tmp_path, monkeypatch, missing="pe")
    check_outputs(cells)
    check_claims(name, cells)
    printed = "".join(text for cell in cells for text in outputs(cell, "stdout"))
    assert f"{STANDINS}stage 2 (Positional encoding: not written yet)." in printed
    for excuse in EXCUSES:
        assert excuse not in printed


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in ASSIGNMENT.notebooks if name != "6_train.ipynb"])
def test_solved_every_cell_does_what_it_is_for(name: str, handout, tmp_path, monkeypatch):
    cells = run(SOLUTIONS, name, handout, tmp_path, monkeypatch)
    check_outputs(cells)
    check_claims(name, cells)
    printed = "".join(text for cell in cells for text in outputs(cell, "stdout"))
    for excuse in (*EXCUSES, STANDINS):
        assert excuse not in printed


@STAGES
def test_as_released_nothing_fails_and_nothing_is_earned(stage: Stage, handout, tmp_path, monkeypatch):
    cells = run(RELEASED, stage.notebook, handout, tmp_path, monkeypatch)
    (graded,) = check_outputs(cells)
    check_claims(stage.notebook, cells)
    assert outputs(graded, "text/plain")[-1] == "0.0"
    assert "not started" in "".join(outputs(graded, "text/html"))
    assert "Your code raised" not in "".join(text for cell in cells for text in outputs(cell, "stdout"))


@MORE
def test_a_notebook_without_a_stage_runs_and_earns_nothing(name: str, handout, tmp_path, monkeypatch):
    cells = run(RELEASED, name, handout, tmp_path, monkeypatch)
    assert check_outputs(cells) == []
    check_claims(name, cells)


@pytest.mark.slow  # five minutes of a processor
def test_the_students_modules_learn(handout, tmp_path, monkeypatch):
    cells = run(SOLUTIONS, "6_train.ipynb", handout, tmp_path, monkeypatch, seconds=20 * SECONDS)
    check_outputs(cells)
    check_claims("6_train.ipynb", cells)
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
    before, after = re.findall(
        r">yours, .*?</td><td[^>]*>([\d.]+)<", "".join(outputs(by_id["translation-run"], "text/html"))
    )
    assert float(before) < 1 < float(after)


def test_the_text_counts_the_lines_of_the_stub():
    notebook = (SOLUTIONS / "3_encoder.ipynb").read_text(encoding="utf-8")
    lines = (RELEASED / "encoder.py").read_text(encoding="utf-8").count("\n")
    (said,) = re.findall(r"\(about (\d+) lines in", notebook)
    assert abs(lines - int(said)) <= 10


@pytest.mark.parametrize("name", ASSIGNMENT.notebooks)
def test_pictures_are_there_and_have_words(name: str):
    notebook = json.loads((SOLUTIONS / name).read_text(encoding="utf-8"))
    text = "\n".join("".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "markdown")
    assert "<img" not in text  # a picture in Markdown is found by the expression below
    for words, file in re.findall(r"!\[([^\]]*)\]\(([^)\s]+)\)", text):
        assert (SOLUTIONS / file).is_file(), file
        assert len(words) > 20, f"{file} needs a description"

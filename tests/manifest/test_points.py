"""Points can be changed in the manifest alone: everything else reads them there, or is written by `make release`."""

import json
import re
from dataclasses import replace
from pathlib import Path

from autograder.authoring import points_in_texts
from autograder.authoring.points_in_texts import in_introduction, in_tables, with_right_points
from autograder.manifest import assignment, assignments

ROOT = Path(__file__).resolve().parents[2]
STAGE = replace(assignment("transformer").stages[0], points={"test_a": 12, "test_b": 0.5}, parts={})
TABLE = """
| stage | you write | points |
|---|---|---|
| `mha` | `mha.py`: 2 methods | 30, extra credit |
| `pe` | `mha` | 5 |

| 1 | 2 |
|---|---|
| `mha` | 30 |
"""


def test_the_texts_name_the_points_of_the_manifest():
    wrong = [path.relative_to(ROOT).as_posix() for path, _ in with_right_points(ROOT, assignments().values())]
    assert wrong == [], "python -m autograder release writes the points of the manifest into these"


def test_a_table_gets_the_points_of_its_stage_and_nothing_else_changes():
    expected = TABLE.replace("| 30, extra", "| 12.5, extra")
    assert in_tables(TABLE, {"`mha`": STAGE}) == expected
    linked = TABLE.replace("| `mha` | `mha.py`", "| [1 Attention](../notebooks/transformer/1_mha.ipynb) | `mha.py`")
    assert "| 12.5, extra credit |" in in_tables(linked, {"transformer/1_mha.ipynb": STAGE})


def test_the_introduction_of_a_notebook_gets_them():
    path = ROOT / "solutions" / "transformer" / STAGE.notebook
    before = path.read_text(encoding="utf-8")
    changed = json.loads(in_introduction(before, STAGE))
    (cell,) = (cell for cell in changed["cells"] if cell["id"] == "introduction")
    assert "12.5 points" in "".join(cell["source"])
    assert in_introduction(before, assignment("transformer").stages[0]) == before


def test_the_page_of_assignments_names_the_points_of_every_stage():
    text = (ROOT / "docs" / "assignments.md").read_text(encoding="utf-8")
    stages = {f"`{stage.name}`": replace(stage, points={"x": 1234.5}) for stage in assignment("transformer").stages}
    assert in_tables(text, stages).count("1234.5") == len(stages)


def test_the_heading_says_which_of_two_stages_of_one_name_a_row_belongs_to():
    """Also if the texts of one of the two assignments alone are corrected."""
    other = replace(STAGE, assignment="other", points={"test_a": 3})
    text = f"# Both\n\n## `first`: begin here\n{TABLE}\n## `other`: go on\n{TABLE}"
    changed = in_tables(text, {"other `mha`": other})
    assert changed.count("| 3, extra credit |") == 1
    assert changed.index("| 30, extra credit |") < changed.index("## `other`") < changed.index("| 3, extra credit |")


def test_correcting_one_assignment_leaves_rows_of_another_alone(monkeypatch, tmp_path):
    first = replace(assignment("transformer"), name="first", stages=(STAGE,))
    second = replace(first, name="second", stages=(replace(STAGE, points={"test_a": 3}),))
    monkeypatch.setattr(points_in_texts, "assignments", lambda: {"first": first, "second": second})
    (tmp_path / "README.md").write_text(f"## `first`: begin here\n{TABLE}", encoding="utf-8")
    assert list(with_right_points(tmp_path, [second])) == []
    assert [path.name for path, _ in with_right_points(tmp_path, [first])] == ["README.md"]


def test_the_exercises_of_an_introduction_have_the_points_of_the_stage():
    for chosen in assignments().values():
        for stage in chosen.stages:
            cells = json.loads((chosen.solution / stage.notebook).read_text(encoding="utf-8"))["cells"]
            text = next("".join(cell["source"]) for cell in cells if cell.get("id") == "introduction")
            rows = [line for line in text.splitlines() if line.startswith("|")]
            named = [float(points) for row in rows for points in re.findall(r"\b([\d.]+) points?\b", row)]
            assert not named or sum(named) == stage.max_points, (chosen.name, stage.name, named)

"""Points and forbidden parts in texts: tables of the guides and introductions of notebooks say what the manifest says.

A table has a column "points" or "not allowed"; a row belongs to a stage if its first cell links to the stage's notebook
or is the stage's name. In the introduction of a stage's notebook, "30 points" are those of the stage, and its last
paragraph names what the stage forbids.
"""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from autograder.manifest import Assignment, Stage

GUIDES = ("README.md", "docs/*.md")
NUMBER = r"\d+(?:\.\d+)?"
COLUMNS = ("points", "not allowed")
FORBIDDEN = "**Not allowed in this stage**"


def with_right_points(root: Path, chosen: Iterable[Assignment]) -> Iterator[tuple[Path, str]]:
    """The texts that name other points than the manifest, as they should be.

    Args:
        root: the folder of the course.
    """
    known = list(chosen)
    stages = {f"{one.name}/{stage.notebook}": stage for one in known for stage in one.stages}
    names = [stage.name for stage in stages.values()]
    stages |= {f"`{stage.name}`": stage for stage in stages.values() if names.count(stage.name) == 1}
    for path in sorted(path for pattern in GUIDES for path in root.glob(pattern)):
        text = path.read_text(encoding="utf-8")
        if (right := in_tables(text, stages)) != text:
            yield path, right
    for one in known:
        for stage in one.stages:
            path = root / "solutions" / one.name / stage.notebook
            text = path.read_text(encoding="utf-8") if path.is_file() else ""
            if text and (right := in_introduction(text, stage)) != text:
                yield path, right


def in_tables(text: str, stages: dict[str, Stage]) -> str:
    """A text in Markdown whose tables name the points of stages.

    Args:
        stages: by what the first cell of a row holds.
    """
    lines, columns = text.split("\n"), dict[str, int]()
    for number, line in enumerate(lines):
        cells = line.split("|")
        if len(cells) < 3:
            columns = {}
        elif found := {cell.strip(): place for place, cell in enumerate(cells) if cell.strip() in COLUMNS}:
            columns = found
        elif len(stage := [stage for mark, stage in stages.items() if mark in cells[1]]) == 1:
            if 0 < columns.get("points", 0) < len(cells):
                cells[columns["points"]] = re.sub(
                    rf"^(\s*){NUMBER}", rf"\g<1>{stage[0].max_points:g}", cells[columns["points"]]
                )
            if 0 < columns.get("not allowed", 0) < len(cells):
                cells[columns["not allowed"]] = f" {forbidden(stage[0])} ".replace("  ", " ")
            lines[number] = "|".join(cells)
    return "\n".join(lines)


def forbidden(stage: Stage) -> str:
    """What a stage forbids, as a list in Markdown."""
    return ", ".join(f"`{written.replace(')', '=...)')}`" for written in stage.forbids)


def in_introduction(text: str, stage: Stage) -> str:
    """A notebook as JSON whose introduction names the points of its stage, and what it forbids."""
    notebook = json.loads(text)
    right = f"{stage.max_points:g} points"
    for cell in notebook["cells"]:
        if cell.get("id") == "introduction":
            source = re.sub(rf"\b{NUMBER} points\b", right, "".join(cell["source"]))
            source = source.partition(f"\n\n{FORBIDDEN}")[0]
            if stage.forbids:
                source += f"\n\n{FORBIDDEN}: {forbidden(stage)}, by whatever name. What they compute is what you write."
            if source.splitlines(keepends=True) != cell["source"]:
                cell["source"] = source.splitlines(keepends=True)
                return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
    return text

"""Copy points and forbidden parts from the manifest to the guides' tables and the notebooks' introductions.

A table has a column "points" or "not allowed". A row belongs to a stage if its first cell links to the stage's notebook
or is the stage's name. If several assignments have a stage of this name, the heading above shows which one is meant, as
in "## `variants`: ...". In the introduction of a stage's notebook, "30 points" refers to the stage. If a table in the
introduction has points in several rows, these points refer to exercises instead. The last paragraph lists the parts
that the stage forbids.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from autograder.manifest import Assignment, Stage, assignments

GUIDES = ("README.md", "docs/*.md")
NUMBER = r"\d+(?:\.\d+)?"
COLUMNS = ("points", "not allowed")
FORBIDDEN = "**Not allowed in this stage**"


def with_right_points(root: Path, chosen: Iterable[Assignment]) -> Iterator[tuple[Path, str]]:
    """Yield corrected versions of the texts that differ from the manifest.

    Args:
        root: the folder of the course.
    """
    known = list(chosen)
    stages = {f"{assignment.name}/{stage.notebook}": stage for assignment in known for stage in assignment.stages}
    every = {assignment.name: assignment for assignment in (*known, *assignments().values())}
    names = Counter(stage.name for assignment in every.values() for stage in assignment.stages)
    for assignment in known:
        for stage in assignment.stages:
            stages[f"`{stage.name}`" if names[stage.name] == 1 else f"{assignment.name} `{stage.name}`"] = stage
    for path in sorted(path for pattern in GUIDES for path in root.glob(pattern)):
        text = path.read_text(encoding="utf-8")
        if (right := in_tables(text, stages)) != text:
            yield path, right
    for assignment in known:
        for stage in assignment.stages:
            path = root / "solutions" / assignment.name / stage.notebook
            text = path.read_text(encoding="utf-8") if path.is_file() else ""
            if text and (right := in_introduction(text, stage)) != text:
                yield path, right


def in_tables(text: str, stages: dict[str, Stage]) -> str:
    """Update the stages' points in the tables of a Markdown text.

    Args:
        stages: the key is the assignment (from the last heading), a space, and the text that identifies a row.
    """
    lines, columns, section = text.split("\n"), dict[str, int](), ""
    for number, line in enumerate(lines):
        section = heading[1] if (heading := re.match(r"#+ `(\w+)`", line)) else section
        cells = line.split("|")
        if len(cells) < 3:
            columns = {}
        elif headings := {cell.strip(): place for place, cell in enumerate(cells) if cell.strip() in COLUMNS}:
            columns = headings
        elif len(stage := [stage for mark, stage in stages.items() if mark in f"{section} {cells[1].strip()}"]) == 1:
            if 0 < columns.get("points", 0) < len(cells):
                cells[columns["points"]] = re.sub(
                    rf"^(\s*){NUMBER}", rf"\g<1>{stage[0].max_points:g}", cells[columns["points"]]
                )
            if 0 < columns.get("not allowed", 0) < len(cells):
                cells[columns["not allowed"]] = f" {forbidden(stage[0])} ".replace("  ", " ")
            lines[number] = "|".join(cells)
    return "\n".join(lines)


def forbidden(stage: Stage) -> str:
    """Return the parts that a stage forbids, as a Markdown list."""
    return ", ".join(f"`{written.replace(')', '=...)')}`" for written in stage.forbids)


def in_introduction(text: str, stage: Stage) -> str:
    """Update the points and the forbidden parts of a stage in the introduction of its notebook (JSON)."""
    notebook = json.loads(text)
    right = f"{stage.max_points:g} points"
    for cell in notebook["cells"]:
        if cell.get("id") == "introduction":
            lines = cell["source"]
            rows = [line for line in lines if line.startswith("|") and re.search(rf"\b{NUMBER} points\b", line)]
            exercises = rows if len(rows) > 1 else []  # each has points of its own
            source = "".join(
                line if line in exercises else re.sub(rf"\b{NUMBER} points\b", right, line) for line in lines
            )
            source = source.partition(f"\n\n{FORBIDDEN}")[0]
            if stage.forbids:
                source += f"\n\n{FORBIDDEN}: {forbidden(stage)}, under any name. You write this part yourself."
            if source.splitlines(keepends=True) != cell["source"]:
                cell["source"] = source.splitlines(keepends=True)
                return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
    return text

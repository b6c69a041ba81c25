"""The start page `0_start.ipynb` (tasks, times, progress) and the links between notebooks."""

import json
import re
from collections.abc import Mapping
from typing import Any

from autograder.manifest import Assignment, first_assignment

NAME = "0_start.ipynb"
MINUTES = re.compile(r"^\| [A-Z](, optional)? \| .* \| (\d+) minutes \|$", re.MULTILINE)
HOW = """\
## How you work

1. Open the notebooks in the order of the table. Each explains its topic, lets you experiment, and says what to write in
   which file.
2. In that file, replace each `raise NotImplementedError` with your code, and save.
3. Grade it with `check("{stage}")` in the notebook, or with `python grade.py {stage}{which}` in a terminal (on a shared
   server `autograde {stage}`). You can do this as often as you like, and you never need to restart the kernel.

At the end, `python grade.py --zip{which}` packs the files that you hand in. The
[student guide](../../docs/student-guide.md) explains how to read a verdict and what to do when you are stuck.

## Your progress

Run the next cell. It grades your saved code in all stages, which takes a moment, and highlights the finished stages."""


def start_notebook(chosen: Assignment, notebooks: Mapping[str, bytes]) -> bytes:
    """Return the content of the start notebook's file.

    Args:
        notebooks: the notebooks of the assignment by name; their introductions contain the times.
    """
    rows = []
    for name in chosen.notebooks:
        introduction = "".join(json.loads(notebooks[name])["cells"][0]["source"])
        stages = [stage for stage in chosen.stages if stage.notebook == name]
        written = ", ".join(dict.fromkeys(f"`{module}.py`" for stage in stages for module in stage.modules))
        worth = f"{sum(stage.max_points for stage in stages):g}" if stages else ""
        title, time = title_of(notebooks[name]), _time(introduction)
        rows.append(f"| [{title}]({name}) | {written or 'nothing'} | {worth} | {time} |")
    table = ["| notebook | you write in | points | time |", "|---|---|---|---|", *rows]
    # Without a name, the commands use the first assignment, in the course's folder.
    which = "" if chosen.name == first_assignment().name else f" --assignment {chosen.name}"
    how = HOW.replace("{stage}", chosen.stages[0].name).replace("{which}", which)
    goal = f"\n\n## The goal\n\n{chosen.goal}" if chosen.goal else ""
    demo = [f'from course import try_model\n\ntry_model("{model}")' for model in chosen.checkpoints[:1]]
    cells = [
        _cell("start", "markdown", f"# {chosen.title}: start here{goal}"),
        *(_cell("try", "code", code) for code in demo),
        _cell("way", "markdown", "## The notebooks\n\n" + "\n".join(table)),
        _cell("how", "markdown", how),
        _cell("far", "code", "from course import overview\n\noverview()"),
    ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return (json.dumps(notebook, indent=1, ensure_ascii=False) + "\n").encode()


def title_of(notebook: bytes) -> str:
    """Return the first heading of a notebook."""
    return "".join(json.loads(notebook)["cells"][0]["source"]).splitlines()[0].lstrip("# ")


def way_on(chosen: Assignment, name: str, titles: Mapping[str, str]) -> str:
    """Return a notebook's last lines, in Markdown: links to the previous notebook, the start page and the next one.

    Args:
        titles: the notebooks' titles by name.
    """
    place = chosen.notebooks.index(name)
    before = [f"[← {titles[notebook]}]({notebook})" for notebook in chosen.notebooks[max(0, place - 1) : place]]
    after = [f"[{titles[notebook]} →]({notebook})" for notebook in chosen.notebooks[place + 1 : place + 2]]
    return "---\n\n" + " | ".join([*before, f"[Start]({NAME})", *after])


def _time(introduction: str) -> str:
    """Add up the times that a notebook's introduction gives for its parts, leaving out optional parts."""
    minutes = sum(int(found[2]) for found in MINUTES.finditer(introduction) if not found[1])
    quarters = -(-minutes // 15)  # rounded up to a quarter of an hour, as in the student guide
    if not minutes:
        return ""
    if minutes < 60:
        return f"{minutes} min"
    return f"{quarters // 4}{('', '¼', '½', '¾')[quarters % 4]} h"


def _cell(name: str, kind: str, text: str) -> dict[str, Any]:
    cell = {"cell_type": kind, "id": name, "metadata": {}, "source": text.splitlines(keepends=True)}
    return cell | ({"execution_count": None, "outputs": []} if kind == "code" else {})

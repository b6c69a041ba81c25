"""Whatever a student could do to a notebook to get points: edits of its JSON, chosen at random from a grammar.

The attack of every edit is the same: a graded cell that runs other code, does not run, or shows 30.0 as its result.
"""

import copy
import json
import random
from collections.abc import Callable
from typing import Any

import nbformat

ATTACK = "30.0"
TAGS = ["skip-execution", "raises-exception", "remove-cell", "remove_cell", "hide-input", "parameters", 7]
KERNELS: list[Any] = [
    {"name": "nosuch", "display_name": "No such kernel"},
    {"name": "bash", "display_name": "Bash", "language": "bash"},
    {"name": "../../python3"},
    {},
    "python3",
    None,
]
CODE = (
    ATTACK,
    "",
    "   \n",
    "import os\nos._exit(1)",
    "raise SystemExit",
    "import course\ncourse.check = lambda stage: 30.0",
    "import sys\nsys.modules['course'] = None",
    "get_ipython().ast_node_interactivity = 'none'",
    "get_ipython().run_cell = lambda *a, **k: None",
    "%%javascript\n1",
    "exit()",
    "while True:\n    pass",
    "import os, signal\nos.kill(os.getppid(), signal.SIGTERM)",
)
RESULT = {"output_type": "execute_result", "execution_count": 1, "metadata": {}, "data": {"text/plain": ATTACK}}
OUTPUTS: list[Any] = [
    [RESULT],
    [RESULT, RESULT],
    [{**RESULT, "output_type": "display_data"}],
    [{"output_type": "stream", "name": "stdout", "text": ATTACK}],
    [{"output_type": "error", "ename": "UserError", "evalue": "", "traceback": []}],
    [7],
    "30.0",
]
JUNK: list[Any] = [None, 7, "", [], ["grade"], {}, {"grade": True}, "\ud800", {"a": {"b": [1]}}]
FORGED: list[tuple[str, Any]] = [
    *(("grade", False), ("solution", True), ("task", True), ("locked", False), ("points", 0), ("points", 1e9)),
    *(("points", "many"), ("grade_id", "another"), ("grade_id", 7), ("grade_id", ""), ("cell_type", "markdown")),
    *(("schema_version", 0), ("schema_version", 1), ("schema_version", 99), ("checksum", "0"), ("grade", "yes")),
]

Edit = Callable[[random.Random, Any, list[Any]], None]


def edit_tags(random: random.Random, notebook: Any, cells: list[Any]) -> None:
    cell = random.choice(cells)
    cell["metadata"]["tags"] = random.choice([random.sample(TAGS, random.randint(1, 3)), "skip-execution", 7])


def edit_metadata(random: random.Random, notebook: Any, cells: list[Any]) -> None:
    name = random.choice(["nbgrader", "collapsed", "execution", "jupyter", "deletable", "trusted", "vscode"])
    random.choice(cells)["metadata"][name] = random.choice(JUNK)


def forge(random: random.Random, notebook: Any, cells: list[Any]) -> None:
    graded = [cell for cell in cells if isinstance(cell["metadata"].get("nbgrader"), dict)]
    if graded:
        name, value = random.choice(FORGED)
        random.choice(graded)["metadata"]["nbgrader"][name] = value


def drop_metadata(random: random.Random, notebook: Any, cells: list[Any]) -> None:
    random.choice(cells)["metadata"] = random.choice([{}, {}, None])


def edit_source(random: random.Random, notebook: Any, cells: list[Any]) -> None:
    random.choice(cells)["source"] = random.choice([*CODE, *([line] for line in CODE), *JUNK])


def edit_outputs(random: random.Random, notebook: Any, cells: list[Any]) -> None:
    random.choice(cells).update(outputs=copy.deepcopy(random.choice(OUTPUTS)), execution_count=random.choice([None, 1]))


def edit_kind(random: random.Random, notebook: Any, cells: list[Any]) -> None:
    cell = random.choice(cells)
    cell["cell_type"] = random.choice(["markdown", "raw", "code", "heading", 7])
    if random.random() < 0.7:  # as JupyterLab does it
        for name in ("outputs", "execution_count"):
            cell.pop(name, None)
        if cell["cell_type"] == "code":
            cell |= {"outputs": [], "execution_count": None}


def edit_id(random: random.Random, notebook: Any, cells: list[Any]) -> None:
    random.choice(cells)["id"] = random.choice(["grade", "setup", "a b", "", 7, "x" * 100])


def attach(random: random.Random, notebook: Any, cells: list[Any]) -> None:
    random.choice(cells)["attachments"] = random.choice([{"a.png": {"image/png": "AAAA"}}, *JUNK])


def repeat(random: random.Random, notebook: Any, cells: list[Any]) -> None:
    extra = copy.deepcopy(random.choice(cells))
    extra["source"] = random.choice([extra["source"], *CODE])
    notebook["cells"].insert(random.randint(0, len(notebook["cells"])), extra)


def add(random: random.Random, notebook: Any, cells: list[Any]) -> None:
    cell: dict[str, Any] = {
        "cell_type": "code",
        "metadata": {},
        "outputs": [],
        "execution_count": None,
        "source": random.choice(CODE),
    }
    notebook["cells"].insert(random.randint(0, len(notebook["cells"])), {**cell, "id": f"x{random.random()}"[-8:]})


def move(random: random.Random, notebook: Any, cells: list[Any]) -> None:
    cell = random.choice(cells)
    notebook["cells"] = [other for other in notebook["cells"] if other is not cell]
    notebook["cells"].insert(random.randint(0, len(notebook["cells"])), cell)


def remove(random: random.Random, notebook: Any, cells: list[Any]) -> None:
    cell = random.choice(cells)
    notebook["cells"] = [other for other in notebook["cells"] if other is not cell]


def reorder(random: random.Random, notebook: Any, cells: list[Any]) -> None:
    how: Any = random.choice([random.shuffle, list.reverse, list.clear])
    how(notebook["cells"])


def edit_kernel(random: random.Random, notebook: Any, cells: list[Any]) -> None:
    notebook["metadata"]["kernelspec"] = random.choice(KERNELS)


def edit_notebook(random: random.Random, notebook: Any, cells: list[Any]) -> None:
    names = ["language_info", "language", "widgets", "title", "celltoolbar", "kernel_info", "nbgrader", "kernelspec"]
    notebook["metadata"][random.choice(names)] = random.choice([*KERNELS, *JUNK])


def edit_version(random: random.Random, notebook: Any, cells: list[Any]) -> None:
    name, value = random.choice([("nbformat", 3), ("nbformat", 5), ("nbformat", 1), ("nbformat_minor", 0)])
    notebook[name] = value


def break_off(random: random.Random, notebook: Any, cells: list[Any]) -> None:
    notebook[random.choice(["cells", "metadata", "nbformat"])] = random.choice(JUNK)


# Half of all edits hit a graded cell. Those that break the notebook come last, since others need it whole.
EDITS: tuple[Edit, ...] = (
    *(edit_tags, edit_metadata, forge, drop_metadata, edit_source, edit_outputs, edit_kind, edit_id, attach, repeat),
    *(add, move, remove, reorder, edit_kernel, edit_notebook, edit_version),
)


def edited(release: Any, random: random.Random, number: int = 3) -> str:
    """A released notebook after up to so many random edits, as the text of the file."""
    notebook = json.loads(json.dumps(release))
    for edit in random.choices(EDITS, k=random.randint(1, number)):
        everything = [cell for cell in notebook["cells"] if isinstance(cell.get("metadata"), dict)]
        graded = [cell for cell in everything if "nbgrader" in cell["metadata"]]
        cells = graded if graded and random.random() < 0.5 else everything
        if cells:
            edit(random, notebook, cells)
    if random.random() < 0.05:
        notebook = as_older(notebook, random)
    if random.random() < 0.05:
        break_off(random, notebook, [])
    text = json.dumps(notebook)
    if random.random() < 0.03:
        text = random.choice([text[: len(text) // 2], "", "[]", "\ufeff" + text, "[" * 100_000, text + "}"])
    return text


def as_older(notebook: Any, random: random.Random) -> Any:
    """The notebook in an older format of Jupyter, if it can be written in one."""
    try:
        return nbformat.convert(nbformat.from_dict(notebook), random.choice([2, 3]))
    except Exception:  # nbformat raises whatever goes wrong in it
        return notebook

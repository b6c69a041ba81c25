"""The notebooks run from top to bottom in a fresh kernel, both as released and with the solution."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from autograder.authoring.audit.subject import Subject
from autograder.manifest import Assignment, Stage
from course.location import ENGINE, VARIABLE, course_folder

PROMISE = "notebooks run, without code and with it"
QUICK = 0
SECONDS = 2400  # for a training cell on a busy machine
EXCUSES = ("Not started:", "Not right yet:", "Your code raised", "This needs your code", "Not all of this is your code")
RELEASED, SOLVED = "as released", "with the solution"


def items(subject: Subject) -> Iterable[str]:
    return (f"{name}, {how}" for name in subject.assignment.notebooks for how in (RELEASED, SOLVED))


def problems(subject: Subject, item: str) -> Iterator[str]:
    name, _, how = item.partition(", ")
    chosen = subject.assignment
    source = chosen.solution if how == SOLVED else chosen.released
    stage = next((stage for stage in chosen.stages if stage.notebook == name), None)
    try:
        cells = run(source / name, source, chosen)
    except Exception as error:  # whatever a notebook can raise
        yield f"it does not run to the end: {type(error).__name__}: {str(error).strip()[-500:]}"
        return
    for cell in cells:
        if errors := outputs(cell, "stderr"):
            yield f"cell {cell.id} writes to stderr: {errors[0].strip()[:200]}"
    printed = "".join(text for cell in cells for text in outputs(cell, "stdout"))
    if how == SOLVED:
        for excuse in EXCUSES:
            if excuse in printed:
                yield f"it prints {excuse!r} although everything is written"
    elif "Your code raised" in printed:
        yield "it prints 'Your code raised' although nothing is written"
    if stage is not None:
        yield from _verdict([cell for cell in cells if "nbgrader" in cell.metadata], stage, how)


def _verdict(graded: list[Any], stage: Stage, how: str) -> Iterator[str]:
    points = outputs(graded[-1], "text/plain")[-1:] if graded else []
    right = stage.max_points if how == SOLVED else 0.0
    if not points or float(points[0]) != right:
        yield f"the graded cell returns {points[0] if points else 'nothing'} instead of {right:g} points"
    elif how == RELEASED and "not started" not in "".join(outputs(graded[-1], "text/html")):
        yield "the verdict does not say that the stage is not started"


def run(notebook: Path, modules: Path, chosen: Assignment) -> list[Any]:
    """Run a notebook in a copy of its folder; return its code cells with their outputs."""
    import nbformat
    from nbclient import NotebookClient

    content = nbformat.read(notebook, as_version=4)
    # The project's own modules are not on the path, so that the copies are imported.
    environment = {**os.environ, "PYTHONPATH": str(ENGINE), VARIABLE: str(course_folder())}
    with tempfile.TemporaryDirectory() as folder:
        for module in chosen.modules:
            shutil.copy(modules / f"{module}.py", folder)
        # On a busy machine the last outputs of a cell may arrive late; they would be lost silently.
        resources = {"metadata": {"path": folder}}
        client = NotebookClient(content, timeout=SECONDS, iopub_timeout=SECONDS, resources=resources)
        client.execute(env=environment, stderr=subprocess.DEVNULL)  # hides warnings about the connection
    return [cell for cell in content.cells if cell.cell_type == "code"]


def outputs(cell: Any, kind: str) -> list[str]:
    """Return a cell's outputs whose stream or MIME type is `kind`."""
    streams = [output.text for output in cell.outputs if output.get("name") == kind]
    return streams + [output.data[kind] for output in cell.outputs if kind in output.get("data", {})]

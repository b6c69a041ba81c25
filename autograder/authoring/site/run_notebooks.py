"""Run the released notebooks with the solution beside them, for the site, and keep what they gave.

What a cell gives may show what the solution computes, but never its code: the notebook is the one that students get.
"""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from autograder.authoring.packing.handout import contents
from autograder.authoring.release import RELEASE, TRIVIAL, secret_lines
from autograder.manifest import ROOT, Assignment
from course.errors import UserError

SECONDS = 2400  # for a cell that trains, on a busy machine
WIDGET = "application/vnd.jupyter.widget-view+json"


def executed(
    chosen: Iterable[Assignment], cache: Path, jobs: int, only: str = ""
) -> Iterator[tuple[Assignment, str, Any]]:
    """The notebooks of assignments with their outputs, in order; those that are not in the cache are run.

    Args:
        cache: a folder; a file in it is named after everything that the outputs depend on.
        jobs: how many are run at a time.
        only: those whose path holds this.

    Raises:
        UserError: if a notebook cannot be run to its end.
    """
    wanted = [
        (one, name, cache / f"{one.name}-{Path(name).stem}-{digest}.ipynb")
        for one in chosen
        for digest in (digest_of(one),)
        for name in one.notebooks
        if only in f"{one.name}/{name}"
    ]
    cache.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(_cached, wanted)


def digest_of(one: Assignment) -> str:
    """A digest of all that the notebooks of an assignment can read: what is in the handout, and the solution."""
    files = {name: data for name, data in contents(ROOT, [one]).items() if not name.startswith("docs/")}
    files |= {f"solution/{module}": (one.solution / f"{module}.py").read_bytes() for module in one.modules}
    digest = hashlib.sha256()
    for name, data in sorted(files.items()):
        digest.update(name.encode() + hashlib.sha256(data).digest())
    return digest.hexdigest()[:16]


def _cached(wanted: tuple[Assignment, str, Path]) -> tuple[Assignment, str, Any]:
    """A notebook with its outputs, from the file if it is there."""
    import nbformat

    one, name, kept = wanted
    if not kept.exists():
        print(f"running {one.name}/{name} ...", flush=True)
        notebook = _run(ROOT / RELEASE / one.name / name, one)
        for old in kept.parent.glob(f"{one.name}-{Path(name).stem}-*.ipynb"):
            old.unlink()
        partial = kept.with_suffix(".partial")
        nbformat.write(notebook, partial)
        partial.replace(kept)
    return one, name, nbformat.read(kept, as_version=4)


def _run(source: Path, one: Assignment) -> Any:
    """A notebook with its outputs, run in a folder of its own, which holds the solution's modules."""
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError

    notebook = nbformat.read(source, as_version=4)
    # One thread a notebook: several run at a time, and the tensors are small. Colours of terminals are no HTML.
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "NO_COLOR": "1"}
    with tempfile.TemporaryDirectory() as folder:
        for module in one.modules:
            shutil.copy(one.solution / f"{module}.py", folder)
        client = NotebookClient(
            notebook,
            timeout=SECONDS,
            resources={"metadata": {"path": folder}},
            extra_arguments=["--IPKernelApp.log_level=40"],  # no warning that others may listen
        )
        try:
            client.execute(env=environment)
        except CellExecutionError as error:
            raise UserError(f"{one.name}/{source.name} does not run with the solution:\n{error}") from error
    secrets = {line for line in secret_lines(one.solution, one) if not TRIVIAL.fullmatch(line)}
    for cell in notebook.cells:
        if "outputs" in cell:
            shown = (output for output in cell.outputs if still_widget(output, notebook))
            cell.outputs = [without_solution(output, secrets) for output in shown]
    notebook.metadata.pop("widgets", None)
    return notebook


def without_solution(output: Any, secrets: Iterable[str]) -> Any:
    """An output, or words in its place if the cell has shown what stands in a module."""
    import nbformat

    data = [text for text in output.get("data", {}).values() if isinstance(text, str)]
    texts = "\n".join([output.get("text", ""), *data])
    if any(line in texts for line in secrets):
        return nbformat.v4.new_output("stream", name="stdout", text="(Here you see what you have written.)\n")
    return output


def still_widget(output: Any, notebook: Any) -> bool:
    """Put what a widget shows in the place of the widget, which needs a kernel: the values, and its HTML.

    Returns:
        whether anything is left to show.
    """
    data = output.get("data", {})
    if WIDGET not in data:
        return True
    states = notebook.metadata.get("widgets", {}).get("application/vnd.jupyter.widget-state+json", {}).get("state", {})

    def shown(model: str) -> str:
        state = states.get(model, {}).get("state", {})
        if state.get("_model_name") == "HTMLModel":
            return str(state["value"])
        if "children" in state:
            return "".join(shown(str(child).removeprefix("IPY_MODEL_")) for child in state["children"])
        value = state.get("value")
        return f"<p>{state.get('description', '')}: {value:g}</p>" if isinstance(value, (int, float)) else ""

    words = shown(data.pop(WIDGET)["model_id"])
    data["text/html"] = f"{words}<p>In JupyterLab these numbers can be moved.</p>"
    return bool(words)

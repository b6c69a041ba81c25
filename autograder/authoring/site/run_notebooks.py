"""Run the released notebooks for the site, with the solution's modules, and cache their outputs.

Outputs may show the solution's results, but never its code, because the notebooks are the students' versions.
"""

import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from autograder.authoring.packing.handout import contents
from autograder.authoring.release import TRIVIAL, secret_lines
from autograder.manifest import Assignment
from course.errors import UserError
from course.location import course_folder
from course.update import RECORD

SECONDS = 2400  # for a training cell on a busy machine
EMPTY = re.compile(r"<pre[^>]*>\s*</pre>\s*")
WIDGET = "application/vnd.jupyter.widget-view+json"


def executed(
    chosen: Iterable[Assignment], cache: Path, jobs: int, only: str = ""
) -> Iterator[tuple[Assignment, str, Any]]:
    """Yield the notebooks of assignments with their outputs, in order; notebooks that are not cached are run.

    Args:
        cache: a folder; the file names contain a digest of everything that the outputs depend on.
        jobs: number of notebooks run in parallel.
        only: include only notebooks whose path contains this.

    Raises:
        UserError: if a notebook fails.
    """
    wanted = [
        (assignment, name, cache / f"{assignment.name}-{Path(name).stem}-{digest}.ipynb")
        for assignment in chosen
        for files in (digest_of_files(assignment),)
        for name in assignment.notebooks
        if only in f"{assignment.name}/{name}"
        for digest in (digest_of(files, assignment.released / name),)
    ]
    cache.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(_cached, wanted)


def digest_of_files(assignment: Assignment) -> str:
    """Return a digest of the files that notebooks can read: the handout without its texts, and the solution."""
    files = contents([assignment])
    files = {path: data for path, data in files.items() if not path.startswith("docs/") and not path.endswith(".ipynb")}
    del files[RECORD]  # digests of the others, texts included
    for module in assignment.modules:
        files[f"solution/{module}"] = (assignment.solution / f"{module}.py").read_bytes()
    digest = hashlib.sha256()
    for path, data in sorted(files.items()):
        digest.update(path.encode() + hashlib.sha256(data).digest())
    return digest.hexdigest()


def digest_of(files: str, notebook: Path) -> str:
    """Return a digest of a notebook's code cells and the files that they can read."""
    cells = [[cell.id, cell.source] for cell in _read(notebook).cells if cell.cell_type == "code"]
    return hashlib.sha256(json.dumps([files, cells]).encode()).hexdigest()[:16]


def _read(notebook: Path) -> Any:
    import nbformat

    return nbformat.read(notebook, as_version=4)


def _cached(wanted: tuple[Assignment, str, Path]) -> tuple[Assignment, str, Any]:
    """Return a notebook of today's release with its outputs, which come from the cache if possible."""
    import nbformat

    assignment, name, kept = wanted
    if not kept.exists():
        print(f"running {assignment.name}/{name} ...", flush=True)
        run = _run(assignment.released / name, assignment)
        for old in kept.parent.glob(f"{assignment.name}-{Path(name).stem}-*.ipynb"):
            old.unlink()
        partial = kept.with_suffix(".partial")
        nbformat.write(run, partial)
        partial.replace(kept)
    return assignment, name, with_outputs(_read(assignment.released / name), _read(kept))


def with_outputs(notebook: Any, run: Any) -> Any:
    """Return a notebook with the outputs of an earlier run of the same code cells; its text may have changed since."""
    done = {cell.id: cell for cell in run.cells if cell.cell_type == "code"}
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = readable(done[cell.id].outputs), done[cell.id].execution_count
    notebook.metadata = run.metadata
    return notebook


def readable(outputs: Iterable[Any]) -> list[Any]:
    """Join what was printed in pieces, in its order, and drop finished progress bars, which are empty boxes."""
    shown: list[Any] = []
    for output in outputs:
        if EMPTY.fullmatch(output.get("data", {}).get("text/html", "")):
            continue
        if shown and output.output_type == "stream" and shown[-1].get("name") == output.name:
            shown[-1].text += output.text
        else:
            shown.append(output)
    return shown


def _run(source: Path, assignment: Assignment) -> Any:
    """Run a notebook in a folder with the solution's modules; return it with its outputs."""
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError

    notebook = nbformat.read(source, as_version=4)
    # One thread per notebook: several run in parallel, and the tensors are small. HTML has no terminal colours.
    environment = {**os.environ, "PYTHONPATH": str(course_folder()), "OMP_NUM_THREADS": "1", "NO_COLOR": "1"}
    with tempfile.TemporaryDirectory() as folder:
        for module in assignment.modules:
            shutil.copy(assignment.solution / f"{module}.py", folder)
        client = NotebookClient(
            notebook,
            timeout=SECONDS,
            iopub_timeout=SECONDS,  # on a busy machine the last outputs of a cell may arrive late
            resources={"metadata": {"path": folder}},
            extra_arguments=["--IPKernelApp.log_level=40"],  # hides the warning that others may connect
        )
        try:
            client.execute(env=environment)
        except CellExecutionError as error:
            raise UserError(f"{assignment.name}/{source.name} does not run with the solution:\n{error}") from error
    secrets = {line for line in secret_lines(assignment.solution, assignment) if not TRIVIAL.fullmatch(line)}
    for cell in notebook.cells:
        if "outputs" in cell:
            shown = (output for output in cell.outputs if still_widget(output, notebook))
            cell.outputs = [without_solution(output, secrets) for output in shown]
    notebook.metadata.pop("widgets", None)
    return notebook


def without_solution(output: Any, secrets: Iterable[str]) -> Any:
    """Return an output, or a placeholder if it shows a line of the solution."""
    import nbformat

    data = [text for text in output.get("data", {}).values() if isinstance(text, str)]
    texts = "\n".join([output.get("text", ""), *data])
    if any(line in texts for line in secrets):
        return nbformat.v4.new_output(
            "stream", name="stdout", text="(Not shown here: this output quotes the solution.)\n"
        )
    return output


def still_widget(output: Any, notebook: Any) -> bool:
    """Replace a widget, which needs a kernel, with static content: its values and its HTML.

    Returns:
        Whether anything is left to show.
    """
    data = output.get("data", {})
    if WIDGET not in data:
        return True
    if "text/html" in data:  # what the widget itself shows without a kernel
        del data[WIDGET]
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
    data["text/html"] = f"{words}<p>In JupyterLab you can change these numbers.</p>"
    return bool(words)

"""What the course adds to nbgrader: preprocessors for the release and for submissions (see nbgrader_config.py).

They are preprocessors and not hooks because nbgrader goes on after the exception of a hook, while that of a
preprocessor ends the command and removes what it has written.
"""

import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import nbformat
from nbconvert.exporters import NotebookExporter
from nbgrader import utils
from nbgrader.api import Gradebook
from nbgrader.preprocessors import NbGraderPreprocessor

from autograder.authoring.packing.start_notebook import NAME, start_notebook, title_of, way_on
from autograder.authoring.release import make_stubs, notebook_names
from autograder.manifest import assignment
from course.errors import UserError

SKIP = "skip-execution"  # nbclient does not execute cells with this tag
MARKUP = re.compile(r"<(?=[A-Za-z/!?])")
# nbgrader compares the time stamp to find out whether a submission is newer than its grade, and finds the way of the
# feedback through the exchange by the secret.
OF_NBGRADER = {"timestamp.txt", "submission_secret.txt"}
UNREADABLE = "*The notebook that was handed in cannot be read. What is graded is the modules.*"


class StripModules(NbGraderPreprocessor):  # type: ignore[misc]
    """Releases each notebook, with the points of the manifest, the stubs of the modules and the page to start from."""

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Drop what nbgrader has copied, and hand the stubs to the writer of the notebook."""
        ids, course = resources["nbgrader"], self.parent.parent.coursedir
        known = assignment(ids["assignment"])
        if f"{ids['notebook']}.ipynb" not in notebook_names(known):
            raise UserError(f"{ids['notebook']}.ipynb belongs to no stage; declare it in the manifest or move it away")
        stage = next((stage for stage in known.stages if stage.notebook == f"{ids['notebook']}.ipynb"), None)
        for cell in nb.cells:
            if stage is not None and utils.is_grade(cell):
                cell.metadata.nbgrader["points"] = stage.max_points  # the manifest says them, and nothing else
        release = course.format_path(course.release_directory, ".", known.name)
        drop_other_files(Path(release), notebook_names(known))
        source = course.format_path(course.source_directory, ".", known.name)
        stubs = make_stubs(Path(source), known)
        notebooks = {name: Path(source, name).read_bytes() for name in known.notebooks}
        titles = {name: title_of(data) for name, data in notebooks.items()}
        words = way_on(known, f"{ids['notebook']}.ipynb", titles)
        nb.cells.append(nbformat.v4.new_markdown_cell(words, id="way-on"))
        # nbconvert writes these beside the notebook once all preprocessors have succeeded.
        beside = {name: text.encode() for name, text in stubs.items()} | {NAME: start_notebook(known, notebooks)}
        resources.setdefault("outputs", {}).update(beside)
        return nb, resources


class AnyNotebook(NotebookExporter):
    """Reads submitted notebooks; instead of a broken one, an empty one, to which nbgrader adds the grade cells."""

    def from_file(self, file_stream: Any, resources: Any = None, **options: Any) -> tuple[Any, Any]:
        """Read a notebook that was handed in, whatever it is."""
        try:
            notebook = nbformat.read(file_stream, as_version=4)
            nbformat.validate(notebook)
        except Exception as error:  # nbformat raises whatever goes wrong in it
            self.log.warning("The notebook cannot be read, an empty one takes its place: %s", error)
            notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(UNREADABLE)])
        return self.from_notebook_node(notebook, resources=resources, **options)  # type: ignore[no-untyped-call]


class IsolateGrading(NbGraderPreprocessor):  # type: ignore[misc]
    """Keeps a submission from reaching the process that grades it, by files or by cells of its notebooks."""

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Remove the files that nobody asked for (numpy.py would be imported as NumPy); run the grade cells only."""
        ids, course = resources["nbgrader"], self.parent.parent.coursedir
        known = assignment(ids["assignment"])
        folder = course.format_path(course.autograded_directory, ids["student"], known.name)
        modules = {f"{module}.py" for module in known.modules}
        drop_other_files(Path(folder), notebook_names(known) | modules | OF_NBGRADER)
        submitted = Path(course.format_path(course.submitted_directory, ids["student"], known.name))
        for file in modules:
            if is_linked(submitted / file, Path(course.root)):  # nbgrader has copied what the link leads to
                (Path(folder) / file).unlink(missing_ok=True)
        if is_linked(submitted / f"{ids['notebook']}.ipynb", Path(course.root)):
            nb.cells = [nbformat.v4.new_markdown_cell(UNREADABLE)]
        release = Path(course.format_path(course.release_directory, ".", known.name), f"{ids['notebook']}.ipynb")
        without_markup(nb, release)
        with Gradebook(course.db_url, course.course_id) as gradebook:
            released = identities(gradebook.find_notebook(ids["notebook"], known.name))
        for cell in reversed(nb.cells):
            # Metadata may be damaged or forged. Of repeated cells the last one counts.
            given = cell.metadata.pop("nbgrader", None)
            grade_id = given.get("grade_id") if isinstance(given, dict) else None
            if isinstance(grade_id, str) and grade_id in released:
                cell.metadata["nbgrader"] = released.pop(grade_id)
            # Any other cell could change what the grade cells call.
            if cell.cell_type == "code" and not utils.is_grade(cell):
                cell.metadata["tags"] = [*cell.metadata.get("tags", []), SKIP]
        return nb, resources


def is_linked(path: Path, root: Path) -> bool:
    """Whether a file that was handed in is a symbolic link, or lies in one: it leads to what was not handed in."""
    return any(step.is_symlink() for step in (path, *path.parents) if step.is_relative_to(root) and step != root)


def without_markup(nb: Any, release: Path) -> None:
    """Show the markup of a student as it stands: a script in it would run where instructors and students read it.

    Args:
        release: the notebook as it was released, whose own cells keep their markup.
    """
    try:
        ours = {cell.source for cell in nbformat.read(release, as_version=4).cells}
    except Exception:  # nbformat raises whatever goes wrong in it
        ours = set()
    for cell in nb.cells:
        if cell.cell_type == "raw":
            cell.cell_type = "markdown"
        if cell.cell_type == "markdown" and cell.source not in ours:
            cell.source = MARKUP.sub("&lt;", cell.source)


def identities(notebook: Any) -> dict[str, nbformat.NotebookNode]:
    """nbgrader's metadata of the cells of a notebook as it was released."""
    points = {cell.name: cell.max_score for cell in (*notebook.grade_cells, *notebook.task_cells)}
    kinds = {kind: {cell.name for cell in getattr(notebook, f"{kind}_cells")} for kind in ("grade", "solution", "task")}
    found = {}
    for cell in notebook.source_cells:
        fields: dict[str, Any] = {kind: cell.name in names for kind, names in kinds.items()}
        fields |= {"grade_id": cell.name, "locked": cell.locked, "cell_type": cell.cell_type, "schema_version": 3}
        fields |= {"points": points[cell.name]} if cell.name in points else {}
        found[cell.name] = nbformat.NotebookNode(fields)
    return found


class RefuseFaults(NbGraderPreprocessor):  # type: ignore[misc]
    """Lets nbgrader report a failure of the grader, for which it would give 0 points otherwise."""

    def preprocess_cell(self, cell: Any, resources: Any, index: int) -> tuple[Any, Any]:
        """Fail for a grade cell that ended in an error.

        Raises:
            RuntimeError: if it did. The student's own errors are part of the verdict and never end a cell.
        """
        for output in cell.get("outputs", []) if utils.is_grade(cell) else []:
            # A folder without a module is the student's mistake.
            if output.output_type == "error" and output.ename != UserError.__name__:
                raise RuntimeError(f"not graded, for the grader failed: {output.ename}: {output.evalue}")
        return cell, resources


def drop_other_files(folder: Path, kept: set[str]) -> None:
    """Remove everything from a folder but files of the given names."""
    for path in folder.iterdir() if folder.is_dir() else ():
        if path.is_dir() and not path.is_symlink():
            utils.rmtree(str(path))
        elif path.name not in kept:
            utils.remove(str(path))


def skipped(submitted: Path, assignment: str) -> list[str]:
    """Those in the folder of submissions whom `nbgrader autograde` passes over without a word, and why."""
    reasons = []
    for path in sorted(submitted.iterdir()) if submitted.is_dir() else ():
        if path.name.startswith("."):
            continue
        own = path / assignment
        if path.is_file():
            reasons.append(f"{path.name}: nbgrader opens no archives (put it into downloaded/, then zip_collect)")
        elif any(path.glob("*.py")) and not own.is_dir():
            reasons.append(f"{path.name}: the files must lie in {path.name}/{assignment}")
        elif own.is_dir() and not any(own.glob("*.ipynb")):
            reasons.append(f"{path.name}: handed in no notebook")
    return reasons


def warn_of_skipped(arguments: list[str], submitted: Path, names: Iterable[str]) -> None:
    """Say on stderr whom the command `nbgrader autograde NAME` will not grade."""
    for name in names if "autograde" in arguments else ():
        if name in arguments and (reasons := skipped(submitted, name)):
            print(f"nbgrader autograde does not grade {len(reasons)} of those in {submitted}:", file=sys.stderr)
            print("".join(f"  {reason}\n" for reason in reasons), end="", file=sys.stderr)
            print("python -m autograder batch --gradebook grades them all, from the modules.", file=sys.stderr)

"""Extensions to nbgrader: preprocessors for the release and for submissions (see nbgrader_config.py).

They are preprocessors, not hooks: nbgrader continues after an exception in a hook, but an exception in a preprocessor
ends the command and removes its output.
"""

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
from autograder.authoring.release import notebook_names
from autograder.authoring.stubs import make_stubs
from autograder.authoring.submitted_notebook import UNREADABLE, read_cells, rebuilt
from autograder.manifest import assignment
from course.errors import UserError

# nbgrader uses the timestamp to decide whether a submission is newer than its grade, and the secret to return the
# feedback through the exchange.
OF_NBGRADER = {"timestamp.txt", "submission_secret.txt"}


class StripModules(NbGraderPreprocessor):  # type: ignore[misc]
    """Releases each notebook with the points from the manifest, the module stubs, and the start page."""

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Remove the other files that nbgrader copied, and pass the stubs to the notebook writer."""
        ids, course = resources["nbgrader"], self.parent.parent.coursedir
        known = assignment(ids["assignment"])
        if f"{ids['notebook']}.ipynb" not in notebook_names(known):
            raise UserError(f"{ids['notebook']}.ipynb belongs to no stage; declare it in the manifest or move it away")
        stage = next((stage for stage in known.stages if stage.notebook == f"{ids['notebook']}.ipynb"), None)
        for cell in nb.cells:
            if stage is not None and utils.is_grade(cell):
                cell.metadata.nbgrader["points"] = stage.max_points  # points come from the manifest only
        release = course.format_path(course.release_directory, ".", known.name)
        drop_other_files(Path(release), notebook_names(known))
        source = course.format_path(course.source_directory, ".", known.name)
        stubs = make_stubs(Path(source), known)
        notebooks = {name: Path(source, name).read_bytes() for name in known.notebooks}
        titles = {name: title_of(data) for name, data in notebooks.items()}
        words = way_on(known, f"{ids['notebook']}.ipynb", titles)
        nb.cells.append(nbformat.v4.new_markdown_cell(words, id="way-on"))
        # nbconvert writes these next to the notebook once all preprocessors have succeeded.
        beside = {name: text.encode() for name, text in stubs.items()} | {NAME: start_notebook(known, notebooks)}
        resources.setdefault("outputs", {}).update(beside)
        return nb, resources


class AnyNotebook(NotebookExporter):
    """Reads the released notebook instead of a submitted one, and inserts the student's cells as text."""

    def from_file(self, file_stream: Any, resources: Any = None, **options: Any) -> tuple[Any, Any]:
        """Read any submitted notebook. A notebook that has already been rebuilt is read unchanged."""
        ids, course = resources["nbgrader"], self.parent.coursedir  # type: ignore[union-attr]
        path = Path(file_stream.name)
        if path.parent == Path(course.format_path(course.autograded_directory, ids["student"], ids["assignment"])):
            return super().from_file(file_stream, resources=resources, **options)
        try:
            if is_linked(path, Path(course.root)):
                raise ValueError("it is a symbolic link")
            cells = read_cells(file_stream)
        except Exception as error:  # nbformat lets any exception escape
            self.log.warning("The notebook cannot be read; only the released cells are left: %s", error)
            cells = [nbformat.v4.new_markdown_cell(UNREADABLE)]
        release = Path(course.format_path(course.release_directory, ".", ids["assignment"]), path.name)
        if not release.is_file():
            raise UserError(f"there is no {release}: nbgrader generate_assignment {ids['assignment']} writes it")
        notebook = rebuilt(nbformat.read(release, as_version=4), cells)
        return self.from_notebook_node(notebook, resources=resources, **options)  # type: ignore[no-untyped-call]


class IsolateGrading(NbGraderPreprocessor):  # type: ignore[misc]
    """Keeps a submission's files away from the grading process, and resets the points of earlier submissions."""

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Remove all unknown files (numpy.py would be imported as NumPy)."""
        ids, converter = resources["nbgrader"], self.parent.parent
        course, known = converter.coursedir, assignment(ids["assignment"])
        folder = course.format_path(course.autograded_directory, ids["student"], known.name)
        modules = {f"{module}.py" for module in known.modules}
        drop_other_files(Path(folder), notebook_names(known) | modules | OF_NBGRADER)
        submitted = Path(course.format_path(course.submitted_directory, ids["student"], known.name))
        for file in modules:
            if is_linked(submitted / file, Path(course.root)):  # nbgrader has copied the target of the link
                (Path(folder) / file).unlink(missing_ok=True)
        names = [Path(path).stem for path in converter.notebooks]
        forget_points(course, ids, names[names.index(ids["notebook"]) :])
        return nb, resources


def forget_points(course: Any, ids: dict[str, str], notebooks: Iterable[str]) -> None:
    """Delete an earlier submission's automatic points, which would remain if this submission could not be graded."""
    with Gradebook(course.db_url, course.course_id) as gradebook:
        for name in notebooks:
            for grade in gradebook.find_submission_notebook(name, ids["assignment"], ids["student"]).grades:
                grade.auto_score, grade.needs_manual_grade = None, True
        gradebook.db.commit()


def is_linked(path: Path, root: Path) -> bool:
    """Whether a submitted path contains a symbolic link, whose target may not have been handed in."""
    return any(step.is_symlink() for step in (path, *path.parents) if step.is_relative_to(root) and step != root)


class RefuseFaults(NbGraderPreprocessor):  # type: ignore[misc]
    """Makes nbgrader report a grade cell that did not return points, instead of giving it full or no points."""

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Fail unless every grade cell in the gradebook has run and returned points.

        Raises:
            RuntimeError: if a cell has not. The student's own errors are in the verdict and never make a cell fail.
        """
        ids, course = resources["nbgrader"], self.parent.parent.coursedir
        cells = {cell.metadata.nbgrader.grade_id: cell for cell in nb.cells if utils.is_grade(cell)}
        with Gradebook(course.db_url, course.course_id) as gradebook:
            notebook = gradebook.find_notebook(ids["notebook"], ids["assignment"])
            run = {cell.name for cell in notebook.grade_cells} - {cell.name for cell in notebook.solution_cells}
        folder = Path(course.format_path(course.autograded_directory, ids["student"], ids["assignment"]))
        no_module = not any((folder / f"{module}.py").exists() for module in assignment(ids["assignment"]).modules)
        for name in sorted(run):
            if why := without_points(cells.get(name), no_module):
                raise RuntimeError(f"not graded, because the grader failed in the cell {name}: {why}")
        return nb, resources


def without_points(cell: Any, no_module: bool) -> str:
    """Return the reason why a grade cell did not return points, or "" if it did.

    Args:
        cell: the executed cell.
        no_module: whether the student submitted no module at all; an error and 0 points are then correct.
    """
    outputs = [] if cell is None or cell.cell_type != "code" else cell.outputs
    for output in outputs:
        if output.output_type == "error":
            theirs = no_module and output.ename == UserError.__name__
            return "" if theirs else f"{output.ename}: {output.evalue}"
        if output.output_type == "stream" and output.name == "stderr":  # nbgrader would give 0 points
            return f"it wrote {output.text!r}"
    results = [output.data.get("text/plain") for output in outputs if output.output_type == "execute_result"]
    try:
        (points,) = map(float, results)
    except (TypeError, ValueError):
        return f"it returned {', '.join(map(str, results)) or 'nothing'} instead of points"
    most = float(cell.metadata.nbgrader.points)
    return "" if 0 <= points <= most else f"it returned {points} instead of points from 0 to {most}"


def drop_other_files(folder: Path, kept: set[str]) -> None:
    """Remove everything from a folder except files with the given names."""
    for path in folder.iterdir() if folder.is_dir() else ():
        if path.is_dir() and not path.is_symlink():
            utils.rmtree(str(path))
        elif path.name not in kept:
            utils.remove(str(path))


def skipped(submitted: Path, assignment: str) -> list[str]:
    """Return the students whom `nbgrader autograde` skips silently, each with the reason."""
    reasons = []
    for path in sorted(submitted.iterdir()) if submitted.is_dir() else ():
        if path.name.startswith("."):
            continue
        folder = path / assignment
        if path.is_file():
            reasons.append(f"{path.name}: nbgrader opens no archives (put it into downloaded/, then run zip_collect)")
        elif any(path.glob("*.py")) and not folder.is_dir():
            reasons.append(f"{path.name}: the files must be in {path.name}/{assignment}")
        elif folder.is_dir() and not any(folder.glob("*.ipynb")):
            reasons.append(f"{path.name}: handed in no notebook")
    return reasons


def warn_of_skipped(arguments: list[str], submitted: Path, names: Iterable[str]) -> None:
    """Warn on stderr about students whom the command `nbgrader autograde NAME` will not grade."""
    for name in names if "autograde" in arguments else ():
        if name in arguments and (reasons := skipped(submitted, name)):
            print(f"nbgrader autograde does not grade {len(reasons)} students in {submitted}:", file=sys.stderr)
            print("".join(f"  {reason}\n" for reason in reasons), end="", file=sys.stderr)
            print("python -m autograder batch --gradebook grades them all, from the modules.", file=sys.stderr)

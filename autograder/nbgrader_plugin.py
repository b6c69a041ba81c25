"""What the course adds to nbgrader: a preprocessor for the release and one for submissions (see nbgrader_config.py).

They are preprocessors and not hooks because nbgrader goes on after the exception of a hook, while that of a
preprocessor ends the command and removes what it has written.
"""

from pathlib import Path
from typing import Any

from nbgrader import utils
from nbgrader.api import Gradebook
from nbgrader.preprocessors import NbGraderPreprocessor

from autograder.manifest import assignment
from autograder.release import make_stubs, notebook_names
from course.errors import UserError

SKIP = "skip-execution"  # nbclient does not execute cells with this tag


class StripModules(NbGraderPreprocessor):  # type: ignore[misc]
    """Releases the stubs of the modules together with each notebook, and nothing else."""

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Drop what nbgrader has copied, and hand the stubs to the writer of the notebook."""
        ids, course = resources["nbgrader"], self.parent.parent.coursedir
        known = assignment(ids["assignment"])
        if f"{ids['notebook']}.ipynb" not in notebook_names(known):
            raise UserError(f"{ids['notebook']}.ipynb belongs to no stage; declare it in the manifest or move it away")
        release = course.format_path(course.release_directory, ".", known.name)
        drop_other_files(Path(release), notebook_names(known))
        source = course.format_path(course.source_directory, ".", known.name)
        stubs = make_stubs(Path(source), known)
        # nbconvert writes these beside the notebook once all preprocessors have succeeded.
        resources.setdefault("outputs", {}).update({name: text.encode() for name, text in stubs.items()})
        return nb, resources


class IsolateGrading(NbGraderPreprocessor):  # type: ignore[misc]
    """Keeps a submission from reaching the process that grades it, by files or by cells of its notebooks."""

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Remove the files that nobody asked for (numpy.py would be imported as NumPy); run the grade cells only."""
        ids, course = resources["nbgrader"], self.parent.parent.coursedir
        known = assignment(ids["assignment"])
        folder = course.format_path(course.autograded_directory, ids["student"], known.name)
        modules = {f"{module}.py" for module in known.modules}
        # nbgrader compares the time stamp to find out whether a submission is newer than its grade.
        drop_other_files(Path(folder), notebook_names(known) | modules | {"timestamp.txt"})
        with Gradebook(course.db_url, course.course_id) as gradebook:
            released = {cell.name for cell in gradebook.find_notebook(ids["notebook"], known.name).source_cells}
        for cell in nb.cells:
            # A repeated cell has lost its identity to DeduplicateIds; one that was not released never had any.
            if cell.metadata.get("nbgrader", {}).get("grade_id") not in released:
                cell.metadata.pop("nbgrader", None)
            # Any other cell could change what the grade cells call.
            if cell.cell_type == "code" and not utils.is_grade(cell):
                cell.metadata["tags"] = [*cell.metadata.get("tags", []), SKIP]
        return nb, resources


def drop_other_files(folder: Path, kept: set[str]) -> None:
    """Remove everything from a folder but files of the given names."""
    for path in folder.iterdir() if folder.is_dir() else ():
        if path.is_dir() and not path.is_symlink():
            utils.rmtree(str(path))
        elif path.name not in kept:
            utils.remove(str(path))

"""For the notebooks: grade a stage (`check`), try the modules out (`load`, `exploring`), use the trained model.

Nothing of the student's code stays in the notebook's kernel: `check` grades the files as they are saved, in a process
of its own, and `load` reads them anew each time. So there is never a reason to restart the kernel.
"""

import contextlib
import io
import os
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from course.errors import UserError
from course.modules import ROOT, describe, load_module, load_modules, place_of

if TYPE_CHECKING:
    from autograder.manifest import Stage
    from autograder.results import Report
    from course.checkpoint import Checkpoint
    from course.verdict import Desk


def check(stage: str, folder: str | Path = ".", assignment: str = "transformer") -> float:
    """Grade one stage in a worker process and show the verdict: a table in a notebook, plain text elsewhere.

    Args:
        stage: the name of the stage, for instance "mha".
        folder: where the modules are.
        assignment: the assignment that the stage belongs to.

    Returns:
        The points, as a plain float: nbgrader takes the value of a cell as its points.

    Raises:
        UserError: if there is no such stage, or the folder holds none of the modules.
        RuntimeError: if the grader itself fails; that says nothing about the modules.
    """
    # nbgrader gives no points to a cell that writes anything to stderr, be it a warning.
    with contextlib.redirect_stderr(io.StringIO()):
        desk = _desk(assignment)
        chosen = desk.assignment.stage(stage)
        report = desk.check(chosen, Path(folder))
    if in_notebook():
        show_in_notebook(desk, chosen, report, Path(folder))
    else:
        from rich.console import Console

        from autograder.console import print_stage

        console = Console(highlight=False, emoji=False, markup=False, width=100, force_jupyter=False)
        print_stage(console, report.stages[0])
    if report.faulty:
        raise RuntimeError(f"the grader failed: {report.tests[0].message}")
    return float(min(max(report.points, 0.0), report.max_points))


def show_in_notebook(desk: "Desk", stage: "Stage", report: "Report", folder: Path) -> None:
    """Show the verdict at once; then find out how the other stages stand, and show that above it."""
    from IPython.display import display

    shown = display(desk.show(stage, report, folder), display_id=True)  # type: ignore[no-untyped-call]
    if "NBGRADER_EXECUTION" in os.environ:  # nbgrader wants the points of this stage only
        return
    # What fails here costs the strip above the verdict, not the verdict.
    with contextlib.redirect_stderr(io.StringIO()), contextlib.suppress(Exception):
        if desk.catch_up(folder):
            shown.update(desk.show(stage, report, folder))


def load(module: str, folder: str | Path = ".") -> ModuleType:
    """The student's module as it is saved now, read anew with all modules that it imports.

    Args:
        module: "mha", "pe", "encoder", "decoder" or "transformer".
        folder: where the modules are.

    Raises:
        UserError: if it cannot be imported; the message says why, and in which line.
    """
    return load_module(module, Path(folder))


@contextlib.contextmanager
def exploring() -> Iterator[None]:
    """Run cells that call the student's code: what is not written yet, fails, or is wrong becomes a sentence.

    `with exploring(): ...` skips the rest of its body in that case, and the cells below can still be run. What is wrong
    is what an `assert` of the cell says. Any other error of the cell itself is raised as usual.
    """
    try:
        yield
    except UserError as error:
        print(f"This needs your code, which cannot be used yet: {error}")
    except Exception as error:
        place = place_of(error)
        if place is None and isinstance(error, AssertionError) and error.args:
            print(f"Not right yet: {error}.")
            return
        if place is None or Path(place.filename).is_relative_to(ROOT / "autograder"):
            raise
        if isinstance(error, NotImplementedError) and (place.line or "").startswith("raise"):
            print(f"Not started: {error}. Run this cell again when it is.")
        else:
            print(f"Your code raised an exception: {describe(error)}")


def trained(own: bool = False, folder: str | Path = ".") -> "Checkpoint":
    """The trained German-English model with its tokenizers.

    Args:
        own: in the student's modules of `folder`; otherwise in ready-made ones that stand on torch's own layers and
            know everything but `inference`.
    """
    from course.checkpoint import load_checkpoint

    return load_checkpoint(modules=load_modules(Path(folder) if own else ROOT / "autograder" / "standins"))


def in_notebook() -> bool:
    """Whether this runs in the kernel of a notebook, which can show HTML."""
    try:
        from IPython import get_ipython
    except ImportError:
        return False
    shell: Any = get_ipython()
    return hasattr(shell, "kernel")


_OPEN: dict[str, "Desk"] = {}  # by assignment


def _desk(assignment: str = "transformer") -> "Desk":
    if assignment not in _OPEN:
        from course.verdict import Desk

        _OPEN[assignment] = Desk(assignment)
    return _OPEN[assignment]

"""For the notebooks: grade a stage (`check`), and show where a wrong tensor differs (`show_errors`).

Nothing of the student's code stays in the notebook's kernel: `check` grades the files as they are saved, in a process
of its own, and `load` reads them anew each time. So there is never a reason to restart the kernel.
"""

import contextlib
import io
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from autograder.grading.results import Report
    from autograder.manifest import Assignment, Stage
    from course.figure_with_alt_text import AltFigure
    from course.notebook.display import Table
    from course.notebook.verdict import Desk


def check(stage: str, folder: str | Path = ".", assignment: str | None = None) -> float:
    """Grade one stage in a worker process and show the verdict: a table in a notebook, plain text elsewhere.

    Args:
        stage: the name of the stage, for instance "mha".
        folder: where the modules are.
        assignment: the assignment that the stage belongs to; by default the one whose modules are in the folder.

    Returns:
        The points, as a plain float: nbgrader takes the value of a cell as its points.

    Raises:
        UserError: if there is no such stage, or the folder holds none of the modules.
        RuntimeError: if the grader itself fails; that says nothing about the modules.
    """
    # nbgrader gives no points to a cell that writes anything to stderr, be it a warning.
    with contextlib.redirect_stderr(io.StringIO()):
        desk = _desk(assignment, Path(folder))
        chosen = desk.assignment.stage(stage)
        shown = _announce(chosen) if in_notebook() else None
        report = desk.check(chosen, Path(folder))
    if in_notebook():
        show_in_notebook(desk, chosen, report, Path(folder), shown)
    else:
        from rich.console import Console

        from autograder.reports.console import print_stage

        console = Console(highlight=False, emoji=False, markup=False, width=100, force_jupyter=False)
        print_stage(console, report.stages[0])
    if report.faulty:
        raise RuntimeError(f"the grader failed: {report.tests[0].message}")
    return float(min(max(report.points, 0.0), report.max_points))


def _announce(stage: "Stage") -> Any:
    """Say that grading goes on, which takes long where a loop does not end; the verdict takes its place."""
    from IPython.display import display

    if "NBGRADER_EXECUTION" in os.environ:
        return None
    words = {"text/plain": f"Grading stage {stage.number} ..."}
    return display(words, raw=True, display_id=True)  # type: ignore[no-untyped-call]


def show_in_notebook(desk: "Desk", stage: "Stage", report: "Report", folder: Path, shown: Any) -> None:
    """Show the verdict at once; then find out how the other stages stand, and show that above it.

    Args:
        shown: the place of the announcement, or None.
    """
    from IPython.display import display

    verdict = desk.show(stage, report, folder)
    if shown is None:
        shown = display(verdict, display_id=True)  # type: ignore[no-untyped-call]
    else:
        shown.update(verdict)
    if "NBGRADER_EXECUTION" in os.environ:  # nbgrader wants the points of this stage only
        return
    # What fails here costs the strip above the verdict, not the verdict.
    with contextlib.redirect_stderr(io.StringIO()), contextlib.suppress(Exception):
        if desk.catch_up(folder):
            shown.update(desk.show(stage, report, folder))


def overview(folder: str | Path = ".", assignment: str | None = None) -> "Table":
    """How all stages stand as they are saved: the notebook of each, the modules that are written, the points.

    Args:
        folder: where the modules are.
        assignment: its name; by default the one whose modules are in the folder.

    Raises:
        UserError: if the folder holds none of the modules.
    """
    from autograder.reports.short_verdict import points
    from course.notebook.display import Link, Table

    with contextlib.redirect_stderr(io.StringIO()):
        desk = _desk(assignment, Path(folder))
        desk.catch_up(Path(folder))
        standings = desk.progress(Path(folder))
    rows = []
    for one in standings:
        modules = ", ".join(f"{module}.py" for module in one.stage.modules)
        rows.append([f"{one.stage.number} {one.stage.title}", Link(one.stage.notebook), modules, one.words])
    reached, most = sum(one.points or 0 for one in standings), sum(one.stage.max_points for one in standings)
    rows.append(["all", "", "", f"{points(reached)} of {points(most)}"])
    return Table(["stage", "notebook", "you write in", "points"], rows)


def show_errors(stage: str | None = None) -> "AltFigure | None":
    """Where the last `check` found wrong numbers: |got - expected| of the first wrong tensor of its visible tests.

    Args:
        stage: its name; by default the stage that was checked last.

    Returns:
        the figure, or None (and a sentence) if there is nothing to draw.
    """
    from course.notebook.error_maps import error_figure

    desk = next(reversed(_OPEN.values()), None)
    chosen = None if desk is None else desk.last if stage is None else desk.assignment.stage(stage)
    if desk is None or chosen is None:
        print("Nothing was checked yet in this notebook.")
        return None
    found = desk.mistake(chosen)
    if found is None:
        print(f"The last check of stage {chosen.number} found no tensor of the right shape with wrong numbers.")
        return None
    return error_figure(found[1])


def in_notebook() -> bool:
    """Whether this runs in the kernel of a notebook, which can show HTML."""
    try:
        from IPython import get_ipython
    except ImportError:
        return False
    shell: Any = get_ipython()
    return hasattr(shell, "kernel")


_OPEN: dict[str, "Desk"] = {}  # by assignment; the one used last is the last


def _desk(name: str | None, folder: Path) -> "Desk":
    from autograder.submissions.which_assignment import which_assignment

    return desk_of(which_assignment(name, folder))


def desk_of(assignment: "Assignment") -> "Desk":
    """The desk of an assignment in this kernel."""
    from course.notebook.verdict import Desk

    desk = _OPEN.pop(assignment.name) if assignment.name in _OPEN else Desk(assignment)
    _OPEN[assignment.name] = desk
    return desk

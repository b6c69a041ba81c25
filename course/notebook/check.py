"""For the notebooks: grade a stage (`check`), and show which elements of a tensor are wrong (`show_errors`).

No student code stays in the notebook's kernel: `check` grades the saved files in a separate process, and `load` reads
them again each time. So the kernel never needs to be restarted.
"""

import contextlib
import io
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from course.notebook.steps import graded_parts, narrowed

if TYPE_CHECKING:
    from autograder.grading.results import Report
    from autograder.manifest import Assignment, Stage
    from course.figure_with_alt_text import AltFigure
    from course.notebook.display import Table
    from course.notebook.verdict import Desk


def check(stage: str, step: str = "", folder: str | Path = ".", assignment: str | None = None) -> "Points | None":
    """Grade one stage in a worker process and show the verdict: a table in a notebook, plain text elsewhere.

    Args:
        stage: the name of the stage, for instance "mha".
        step: show only the results for this function, test or part of a test; see `course.notebook.steps`.
        folder: the folder of the modules.
        assignment: the assignment of the stage; by default the one whose modules are in the folder.

    Returns:
        The points, a float: nbgrader uses the value of a cell as its points. None for a step.

    Raises:
        UserError: if there is no such stage or step, or the folder contains none of the modules.
        RuntimeError: if the grader itself fails, which says nothing about the modules.
    """
    # nbgrader gives no points for a cell that writes anything to stderr, not even a warning.
    with contextlib.redirect_stderr(io.StringIO()):
        desk = _desk(assignment, Path(folder))
        chosen = desk.assignment.stage(stage)
        if step:
            graded_parts(chosen, step)  # a wrong name raises an error immediately
            if "NBGRADER_EXECUTION" in os.environ:  # the graded cell shows all of this again
                return None
        shown = _announce(chosen) if in_notebook() else None
        report = desk.check(chosen, Path(folder))
    if step:
        report = narrowed(report, chosen, step)
    if in_notebook():
        show_in_notebook(desk, chosen, report, Path(folder), shown, step)
    else:
        from rich.console import Console

        from autograder.reports.console import print_stage

        console = Console(highlight=False, emoji=False, markup=False, width=100, force_jupyter=False)
        print_stage(console, report.stages[0])
    if report.faulty:
        raise RuntimeError(f"the grader failed: {report.tests[0].message}")
    if step:
        return None
    return Points(min(max(report.points, 0.0), report.max_points), chosen, desk.assignment)


class Points(float):
    """The points of a stage. nbgrader reads the number; a notebook shows the next step instead."""

    next: str = ""  # HTML

    def __new__(cls, points: float, stage: "Stage", assignment: "Assignment") -> "Points":
        made = super().__new__(cls, points)
        if points == stage.max_points:
            after = assignment.notebooks[assignment.notebooks.index(stage.notebook) + 1 :]
            made.next = "<p>Full marks. Run the cells below to see what you built"
            made.next += f', then go on with <a href="{after[0]}">{after[0]}</a>.</p>' if after else ".</p>"
        return made

    def _repr_html_(self) -> str:
        return self.next


def _announce(stage: "Stage") -> Any:
    """Show that grading is in progress, because a timeout can take a while; the verdict replaces this text."""
    from IPython.display import display

    if "NBGRADER_EXECUTION" in os.environ:
        return None
    words = {"text/plain": f"Grading stage {stage.number} ..."}
    return display(words, raw=True, display_id=True)  # type: ignore[no-untyped-call]


def show_in_notebook(desk: "Desk", stage: "Stage", report: "Report", folder: Path, shown: Any, step: str = "") -> None:
    """Show the verdict immediately; then grade the other stages and show their progress above it.

    Args:
        shown: the handle of the announcement, or None.
        step: the step that the report is about; if given, the progress of the stages is not shown.
    """
    from IPython.display import display

    verdict = desk.show(stage, report, folder, step)
    if shown is None:
        shown = display(verdict, display_id=True)  # type: ignore[no-untyped-call]
    else:
        shown.update(verdict)
    if step or "NBGRADER_EXECUTION" in os.environ:  # nbgrader needs only the points of this stage
        return
    # An error here costs only the progress strip, not the verdict.
    with contextlib.redirect_stderr(io.StringIO()), contextlib.suppress(Exception):
        if desk.catch_up(folder):
            shown.update(desk.show(stage, report, folder))


def overview(folder: str | Path = ".", assignment: str | None = None) -> "Table":
    """Grade all saved modules; for each stage, show a link to its notebook, the modules to write, and the points.

    Args:
        folder: the folder of the modules.
        assignment: its name; by default the one whose modules are in the folder.

    Raises:
        UserError: if the folder contains none of the modules.
    """
    from autograder.reports.short_verdict import points
    from course.figures.progress import stage_picture
    from course.notebook.display import Link, Overview, working

    with working("Grading your modules ..."), contextlib.redirect_stderr(io.StringIO()):
        desk = _desk(assignment, Path(folder))
        desk.catch_up(Path(folder))
        standings = desk.progress(Path(folder))
    rows = []
    for standing in standings:
        modules = ", ".join(f"{module}.py" for module in standing.stage.modules)
        title = Link(standing.stage.notebook, f"{standing.stage.number} {standing.stage.title}")
        rows.append([title, modules, standing.words])
    reached, most = (
        sum(standing.points or 0 for standing in standings),
        sum(standing.stage.max_points for standing in standings),
    )
    rows.append(["all", "", f"{points(reached)} of {points(most)}"])
    titles = {standing.stage.name: standing.stage.title for standing in standings}
    done = {standing.stage.name for standing in standings if standing.state == "full"}
    picture = stage_picture(desk.assignment.name, titles, done)
    return Overview(picture, ["stage", "you write in", "points"], rows)


def show_errors(stage: str | None = None) -> "AltFigure | None":
    """Draw |got - expected| for the first wrong tensor in the last `check` (visible tests).

    Args:
        stage: its name; by default the stage that was checked last.

    Returns:
        The figure, or None (with a printed explanation) if there is nothing to draw.
    """
    from course.notebook.error_maps import error_figure

    desk = next(reversed(_OPEN.values()), None)
    chosen = None if desk is None else desk.last if stage is None else desk.assignment.stage(stage)
    if desk is None or chosen is None:
        print("Nothing has been checked in this notebook yet.")
        return None
    mistake = desk.mistake(chosen)
    if mistake is None:
        print(f"The last check of stage {chosen.number} found no tensor with the correct shape but wrong numbers.")
        return None
    return error_figure(mistake[1])


def in_notebook() -> bool:
    """Whether this code runs in a notebook kernel, which can show HTML."""
    try:
        from IPython import get_ipython
    except ImportError:
        return False
    shell: Any = get_ipython()
    return hasattr(shell, "kernel")


_OPEN: dict[str, "Desk"] = {}  # by assignment; the last entry was used last


def _desk(name: str | None, folder: Path) -> "Desk":
    from autograder.submissions.which_assignment import which_assignment

    return desk_of(which_assignment(name, folder))


def desk_of(assignment: "Assignment") -> "Desk":
    """Return this kernel's `Desk` for an assignment."""
    from course.notebook.verdict import Desk

    desk = _OPEN.pop(assignment.name) if assignment.name in _OPEN else Desk(assignment)
    _OPEN[assignment.name] = desk
    return desk

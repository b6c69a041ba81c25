"""Whether what a stage builds on can be relied on: written, and passing its visible tests."""

import contextlib
import io
from pathlib import Path

from autograder.manifest import Assignment, Stage
from autograder.submissions.read_submission import Submission, read_submission


def standings(assignment: Assignment, name: str, folder: Path) -> list[tuple[Stage, str]]:
    """For each stage that a stage builds on: what is wanting, or "" if it is right.

    What is written is graded, once for each version of the files, by the process that `check` uses.
    """
    from course.notebook.check import desk_of

    submission = read_submission(folder, assignment)
    found = []
    for stage in map(assignment.stage, assignment.stage(name).builds_on):
        if _unwritten(stage, submission):
            found.append((stage, "not written yet"))
            continue
        with contextlib.redirect_stderr(io.StringIO()):
            right = desk_of(assignment).is_right(stage, folder)
        found.append((stage, "" if right else "not right yet"))
    return found


def _unwritten(stage: Stage, submission: Submission) -> bool:
    """Whether one of the stage's modules is missing or still has the line that its stub raises."""
    mark = f'NotImplementedError("Stage {stage.number}: '
    return any(mark in submission.sources.get(module, mark) for module in stage.modules)

"""Check which prerequisites of a stage are written and pass their visible tests."""

import contextlib
import io
from pathlib import Path

from autograder.manifest import Assignment, Stage
from autograder.submissions.read_submission import Submission, read_submission


def standings(assignment: Assignment, name: str, folder: Path) -> list[tuple[Stage, str]]:
    """Return each stage that a given stage builds on, with its problem ("" if there is none).

    Written stages are graded, once for each version of the files, by the process that `check` uses.
    """
    from course.notebook.check import desk_of

    submission = read_submission(folder, assignment)
    problems = []
    for stage in map(assignment.stage, assignment.stage(name).builds_on):
        if _unwritten(stage, submission):
            problems.append((stage, "not written yet"))
            continue
        with contextlib.redirect_stderr(io.StringIO()):
            right = desk_of(assignment).is_right(stage, folder)
        problems.append((stage, "" if right else "not right yet"))
    return problems


def _unwritten(stage: Stage, submission: Submission) -> bool:
    """Whether a module of the stage is missing or still has the `raise` of its stub."""
    mark = f'NotImplementedError("Stage {stage.number}: '
    return any(mark in submission.sources.get(module, mark) for module in stage.modules)

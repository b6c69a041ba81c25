"""Grade one submission inside a platform's container, with the best confinement that the container allows."""

import contextlib
import json
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograder.grading.grade_submission import grade
from autograder.grading.results import Report
from autograder.manifest import assignment
from autograder.reports.verdict import Verdict, fault_report, verdict
from autograder.sandbox.confine import unsupported
from autograder.sandbox.submission_clock import Clock
from autograder.sandbox.worker_processes import make_workers
from autograder.submissions.find_submissions import Found
from course.errors import UserError

SETTINGS = "settings.json"


@dataclass(frozen=True)
class Settings:
    """The settings that are fixed when the autograder is packed."""

    assignment: str
    seed: int  # of the hidden tests
    time_limit: float  # seconds for everything that the code of a submission does
    unconfined: bool  # run it even if it cannot be confined
    hidden_results: str = "visible"  # when students see the results of hidden tests
    visible_only: bool = False  # skip the hidden tests, which the bundle may not contain
    stages: tuple[str, ...] = ()  # only these; () means all

    @classmethod
    def read(cls, path: Path) -> "Settings":
        """The settings of a packed autograder.

        Raises:
            UserError: if the file cannot be read or has other content.
        """
        try:
            return cls(**json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError) as error:
            raise UserError(f"{path} does not contain autograder settings: pack it again ({error})") from error


def workers_of(settings: Settings) -> Any:
    """Workers with the best confinement available in this container: full, without Landlock, or none if allowed.

    Raises:
        UserError: if they cannot be confined and the archive was not built with --unconfined.
    """
    if not (lacking := unsupported()):
        return make_workers(confined=True)
    if not unsupported(landlock=False):
        print(f"{lacking}; the code ran as another user, with seccomp")
        return make_workers(confined=True, landlock=False)
    if settings.unconfined:
        print(f"{lacking}; the code ran unconfined, as the archive allows")
        return make_workers()
    raise UserError(
        f"submissions cannot be confined in this container: {lacking}. An archive made with --unconfined grades "
        "anyway, but then a hostile submission can read the solution and change its grade"
    )


def grade_submission(path: Path, settings: Settings) -> Report:
    """Grade a folder or an archive, even an empty one. If the grader itself fails, grading is tried once more.

    Raises:
        UserError: if there is nothing at that path, or the code cannot be confined.
    """
    if not path.exists():
        raise UserError(f"there is no folder {path}")
    chosen = assignment(settings.assignment)
    submission = Found("submission", path, chosen).read()
    stages = [chosen.stage(name) for name in settings.stages] or None
    seed = None if settings.visible_only else settings.seed
    clock = Clock(settings.time_limit)
    for attempt in (1, 2):
        workers = workers_of(settings)
        try:
            report = grade(submission, chosen, workers, stages, hidden_seed=seed, clock=clock)
        finally:
            workers.close()
        if not report.faulty or attempt == 2:
            break
        print("the grader failed; one more attempt")
    return report


def verdict_on(path: Path, settings: Settings) -> Verdict:
    """The verdict for the student. If there is any error, the outcome is "fault". All output goes to stderr."""
    chosen = assignment(settings.assignment)
    with contextlib.redirect_stdout(sys.stderr):
        try:
            report = grade_submission(path, settings)
        except Exception:
            traceback.print_exc()
            report = fault_report(chosen)
        sources = Found("submission", path, chosen).read().sources if path.exists() else {}
    return verdict(report, chosen, release=settings.hidden_results, sources=sources)

"""Inside Gradescope's container: grade the submission and write results.json (called by run_autograder).

The caller has already written a results.json that reports a failed grader, so exceptions need no handling here: their
output is for instructors, and Gradescope shows it to them only.
"""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from autograder.authoring.packing.gradescope_archive import SETTINGS, Settings
from autograder.authoring.packing.zip_files import ROOT
from autograder.grading.grade_submission import grade
from autograder.grading.results import Report
from autograder.manifest import assignment
from autograder.reports.console import print_stage, print_total
from autograder.reports.gradescope_results import write_results
from autograder.sandbox.confine import unsupported
from autograder.sandbox.time_budget import Clock
from autograder.sandbox.worker_processes import make_workers
from autograder.submissions.find_submissions import Found
from course.errors import UserError, run_command


def workers_of(settings: Settings) -> Any:
    """Create workers with the best confinement in this container: full; without Landlock; none, if allowed.

    Raises:
        UserError: if nothing can confine them and the archive was not built with --unconfined.
    """
    if not (lacking := unsupported()):
        return make_workers(confined=True)
    if not unsupported(landlock=False):
        print(f"{lacking}; the code ran as another user, behind seccomp")
        return make_workers(confined=True, landlock=False)
    if settings.unconfined:
        print(f"{lacking}; the code ran unconfined, as the archive was made to allow")
        return make_workers()
    raise UserError(
        f"submissions cannot be confined in this container: {lacking}. An archive made with --unconfined grades "
        "all the same, and then a hostile submission can read the solution and change its grade"
    )


def grade_submission(folder: Path, settings: Settings) -> Report:
    """Grade the files in a folder, even if there are none. If the grader itself fails, retry once."""
    if not folder.is_dir():
        raise UserError(f"there is no folder {folder}")
    chosen = assignment(settings.assignment)
    submission = Found("submission", folder, chosen).read()
    clock = Clock(settings.time_limit)
    for attempt in (1, 2):
        workers = workers_of(settings)
        try:
            report = grade(submission, chosen, workers, hidden_seed=settings.seed, clock=clock)
        finally:
            workers.close()
        if not report.faulty or attempt == 2:
            break
        print("the grader failed; one more attempt")
    return report


def run(root: Path) -> int:
    settings = Settings(**json.loads((ROOT / SETTINGS).read_text(encoding="utf-8")))
    report = grade_submission(root / "submission", settings)
    console = Console(highlight=False, emoji=False, markup=False, width=120)
    for stage in report.stages:
        print_stage(console, stage, verbose=True)
    print_total(console, report)
    # The seed is that of the whole class, and Gradescope passes the results of one submission to the next.
    write_results(replace(report, hidden_seed=None), root / "results" / "results.json", settings.hidden_results)
    return 0


if __name__ == "__main__":
    sys.exit(run_command(lambda: run(Path(sys.argv[1])), developer=True))

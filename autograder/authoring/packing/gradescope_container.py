"""Inside Gradescope's container: grade the submission and write results.json (run_autograder calls this).

Whoever calls has put a results.json in place that says that the grader failed, so an exception needs no handling here:
what is printed about it is for instructors, and Gradescope shows it to them only.
"""

import json
import sys
from pathlib import Path
from typing import Any

from rich.console import Console

from autograder.authoring.packing.gradescope_archive import SETTINGS, Settings
from autograder.authoring.packing.zip_files import ROOT
from autograder.grading.grade_submission import grade
from autograder.grading.results import Report
from autograder.manifest import assignment
from autograder.reports.console import print_stage, print_total
from autograder.reports.gradescope_results import results
from autograder.reports.verdict import as_text, verdict, write_text
from autograder.sandbox.confine import unsupported
from autograder.sandbox.time_budget import Clock
from autograder.sandbox.worker_processes import make_workers
from autograder.submissions.find_submissions import Found
from course.errors import UserError, run_command


def workers_of(settings: Settings) -> Any:
    """Workers, held by the best means of this container: all of them; without Landlock; none, if that is allowed.

    Raises:
        UserError: if nothing can hold them and the archive was not made with --unconfined.
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
    """Grade what lies in a folder, be it nothing. Where the grader itself fails, it tries once more."""
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
    found = verdict(report, assignment(settings.assignment), release=settings.hidden_results)
    # Without the seed: it is that of the whole class, and Gradescope hands the results of one submission to the next.
    write_text(as_text(results(found)), root / "results" / "results.json")
    return 0


if __name__ == "__main__":
    sys.exit(run_command(lambda: run(Path(sys.argv[1])), developer=True))

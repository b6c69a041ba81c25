"""Inside Gradescope's container: grade the submission and write results.json (called by run_autograder).

The caller has already written a results.json that reports a failed grader, so exceptions need no handling here.
Gradescope shows tracebacks only to instructors.
"""

import sys
from pathlib import Path

from rich.console import Console

from autograder.manifest import assignment
from autograder.platforms.grading import SETTINGS, Settings, grade_submission
from autograder.reports.console import print_stage, print_total
from autograder.reports.gradescope_results import results
from autograder.reports.verdict import as_text, verdict, write_text
from course.errors import run_command
from course.location import course_folder


def run(root: Path) -> int:
    settings = Settings.read(course_folder() / SETTINGS)
    report = grade_submission(root / "submission", settings)
    console = Console(highlight=False, emoji=False, markup=False, width=120)
    for stage in report.stages:
        print_stage(console, stage, verbose=True)
    print_total(console, report)
    found = verdict(report, assignment(settings.assignment), release=settings.hidden_results)
    # Without the seed: the whole class shares it, and Gradescope passes the results of one submission to the next.
    write_text(as_text(results(found)), root / "results" / "results.json")
    return 0


if __name__ == "__main__":
    sys.exit(run_command(lambda: run(Path(sys.argv[1])), developer=True))

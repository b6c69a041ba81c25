"""`python -m autograder.platforms PLATFORM SETTINGS SUBMISSION OUT`: grade, and write the verdict for a platform.

Every packed autograder runs this command. Messages for instructors go to stderr. Exit status: 0 if there is a
verdict, 3 if the grader failed; the output also reports the failure.
"""

import argparse
import os
import sys
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

from autograder.platforms import autolab, classroom50, prairielearn, vpl
from autograder.platforms.grading import Settings, verdict_on
from autograder.reports.markdown_summary import summary
from autograder.reports.verdict import Verdict, as_text, write_text
from course.errors import run_command

GRADED, FAULT = 0, 3


def classroom50_files(found: Verdict, out: Path) -> None:
    """Write result.json and the Release text, or neither if the grader failed: the runner then reports an error."""
    if found["outcome"] == "fault":
        return
    now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    write_text(summary(found), out.with_name("release-body.md"))
    write_text(as_text(classroom50.result(found, os.environ, now)), out)


# The output for each platform, to a file or, with "-", to stdout.
TEXTS: dict[str, Callable[[Verdict], str]] = {
    "autolab": autolab.output,
    "prairielearn": lambda found: as_text(prairielearn.results(found)),
    "submitty": as_text,
    "vpl": lambda found: vpl.output(found, float(os.environ.get("VPL_GRADEMAX") or 100)),
}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m autograder.platforms", description=__doc__)
    parser.add_argument("platform", choices=(*TEXTS, "classroom50"))
    parser.add_argument("settings", type=Path)
    parser.add_argument("submission", type=Path)
    parser.add_argument("out", help="file to write, or - for stdout")
    args = parser.parse_args(arguments)
    found = verdict_on(args.submission, Settings.read(args.settings))
    if args.platform == "classroom50":
        classroom50_files(found, Path(args.out))
    elif args.out == "-":
        sys.stdout.write(TEXTS[args.platform](found))
    else:
        write_text(TEXTS[args.platform](found), Path(args.out))
    return FAULT if found["outcome"] == "fault" else GRADED


if __name__ == "__main__":
    sys.exit(run_command(main, developer=True))

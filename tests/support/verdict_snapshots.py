"""Verdicts as students read them, kept as texts: `python -m tests.support.verdict_snapshots` writes them anew.

There is one for a bug of each stage, from the corpus in `tests/bugs/`. A change of wording shows as a diff for a person
to read. Tests of single rules need not quote sentences.
"""

import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from autograder.grading.grade_submission import grade
from autograder.localization import repair
from autograder.manifest import assignment
from autograder.reports.one_screen import drawn
from autograder.sandbox.worker_processes import Workers, make_workers
from autograder.submissions.read_submission import Submission
from tests.bugs.corpus import Bug, bugs

FOLDER = Path(__file__).parent.parent / "reports" / "verdicts"
WIDTH = 100

repair.SECONDS, repair.CALL_SECONDS = 60.0, 2.0  # the verdicts of an idle machine


def chosen() -> Iterator[Bug]:
    """The first bug of each stage that is not held out."""
    seen = set()
    for bug in bugs():
        if not bug.held and bug.stage not in seen:
            seen.add(bug.stage)
            yield bug


def verdict(bug: Bug, workers: Workers) -> str:
    """The console's text for a submission with a bug."""
    manifest = assignment(bug.assignment)
    report = grade(Submission("", bug.sources()), manifest, workers, [manifest.stage(bug.stage)])
    console = Console(width=WIDTH, file=io.StringIO(), highlight=False, markup=False)
    text = "\n".join(line.rstrip() for line in drawn(console, replace(report, seconds=1.0), verbose=False).splitlines())
    changes = "\n".join(f"{patch.file}: {patch.before.strip()}  ->  {patch.after.strip()}" for patch in bug.patches)
    return f"{bug.id}: {bug.what}\n{changes}\n{text}\n"


def path_of(bug: Bug) -> Path:
    """Where the verdict is kept."""
    return FOLDER / f"{bug.assignment}-{bug.stage}.txt"


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    workers = make_workers()
    try:
        for bug in chosen():
            path_of(bug).write_text(verdict(bug, workers), encoding="utf-8")
    finally:
        workers.close()


if __name__ == "__main__":
    main()

"""Which tests see a mutant: the visible ones, the hidden ones with one seed or with more, or none."""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from autograder.grading.grade_submission import grade
from autograder.manifest import Assignment, Stage
from autograder.sandbox.worker_processes import Workers
from autograder.submissions.read_submission import Submission

RUN = "autograder.grading.stage_run"


@contextmanager
def without_diagnosis() -> Iterator[None]:
    """Tests alone: neither lines nor known mistakes are looked for, which takes most of the time."""
    with (
        mock.patch("autograder.localization.localize", return_value={}),
        mock.patch(f"{RUN}.find_mistakes", return_value={}),
    ):
        yield


def caught_by(chosen: Assignment, stage: Stage, changed: Submission, workers: Workers, seeds: Iterable[int]) -> str:
    """Who sees that these modules are wrong: "visible", "hidden", "hidden 7" (with that seed, not with the ones
    before), or "no"."""
    with without_diagnosis():
        if _fails(grade(changed, chosen, workers, [stage])):
            return "visible"
        for number, seed in enumerate(seeds):
            if _fails(grade(changed, chosen, workers, [stage], hidden_seed=seed)):
                return f"hidden {seed}" if number else "hidden"
    return "no"


def _fails(report: Any) -> bool:
    return any(test.status != "passed" for test in report.tests)


def table(entries: Iterable[dict[str, Any]]) -> str:
    """How many were caught by whom, a row for each stage."""
    counts: dict[tuple[str, str], Counter[str]] = {}
    for entry in entries:
        if entry["caught"] != "syntax":
            kind = "other seeds" if entry["caught"].startswith("hidden ") else entry["caught"]
            for row in ((entry["assignment"], entry["stage"]), ("all", "")):
                counts.setdefault(row, Counter())[kind] += 1
    head = ("visible", "hidden", "other seeds", "no")
    rows = [f"| assignment | stage | mutants | {' | '.join(head)} |", "|---" * 7 + "|"]
    for (name, stage), count in sorted(counts.items(), key=lambda row: row[0][0] == "all"):
        numbers = " | ".join(str(count[kind]) for kind in head)
        rows.append(f"| {name} | {stage} | {count.total()} | {numbers} |")
    return "\n".join(rows)

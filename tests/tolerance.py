"""Measure how far correct code deviates and how far mistakes do: `python -m tests.tolerance` (`make tolerance`).

Every correct formulation of the assignment and every known mistake goes through the visible and the hidden tests of
its stages. The table says how far both sides are away from the limits of the grader.
"""

import argparse
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import torch

from autograder.assignments.transformer.trained import ENCODING_LIMIT
from autograder.authoring.formulations import correct_submissions
from autograder.diagnosis.compare_tensors import LIMITS
from autograder.diagnosis.mistakes import all_mistakes
from autograder.grading.run_test import run_test, stage_tests
from autograder.manifest import Assignment, Stage, assignment
from autograder.sandbox.faults import is_dtype_conflict
from autograder.sandbox.proxy import Student
from autograder.sandbox.worker_processes import Workers, make_workers
from autograder.submissions.read_submission import Submission, read_submission
from autograder.submissions.stage_with_standins import code_of_stage

Key = tuple[str, str]  # stage, precision
TWO_THREADS = "\n\nimport torch\n\ntorch.set_num_threads(2)\n"  # at the end of a module; workers have one thread


@dataclass
class Table:
    """The largest deviation of correct code and the smallest of mistakes, as shares of the limit."""

    correct: dict[Key, float] = field(default_factory=lambda: defaultdict(float))
    mistaken: dict[Key, float] = field(default_factory=lambda: defaultdict(lambda: float("inf")))
    smallest: dict[Key, str] = field(default_factory=dict)  # the mistake that deviates least
    refused: list[str] = field(default_factory=list)  # correct code that a test refused
    unseen: list[str] = field(default_factory=list)  # mistakes that no test sees


def measure(
    submission: Submission, stage: Stage, chosen: Assignment, workers: Workers, seeds: list[int]
) -> tuple[bool, dict[Key, list[float]]]:
    """Run the visible tests and, for each seed, the hidden ones.

    Returns:
        whether all tests passed, and the deviations of all checks that compared values, as shares of their limits.
    """
    code = code_of_stage(submission, stage, chosen, {})
    solution = code_of_stage(read_submission(chosen.solution, chosen), stage, chosen, {})
    found: dict[Key, list[float]] = defaultdict(list)
    passed = True
    pairs = [(Student(workers, code, dtype), Student(workers, solution, dtype)) for dtype in ("float64", "float32")]
    runs = [(stage_tests(stage), 0), *((stage_tests(stage, hidden=True), seed) for seed in seeds)]
    for suite, seed in runs:
        for name, case in suite.items():
            case.seed = seed
            for case.student, case.reference in pairs:
                case.measured = []
                result, error = run_test(name, case, stage)
                if not is_dtype_conflict(error):
                    break
            passed = passed and result.status == "passed"
            for deviation, limit in case.measured or []:
                found[stage.name, case.student.dtype].append(deviation / limit)
    for student, reference in pairs:
        student.close()
        reference.close()
    return passed, found


def measure_all(seeds: list[int]) -> Table:
    """Run all formulations and all mistakes."""
    chosen, workers, table = assignment("transformer"), make_workers(), Table()
    solution = read_submission(chosen.solution, chosen)
    variants = correct_submissions(chosen)
    variants |= {
        f"{name}, two threads": (Submission(name, {m: text + TWO_THREADS for m, text in code.sources.items()}), modules)
        for name, (code, modules) in variants.items()
    }
    try:
        for stage in chosen.stages:
            for name, (submission, modules) in variants.items():
                if modules & set(stage.modules):
                    passed, found = measure(submission, stage, chosen, workers, seeds)
                    for key, shares in found.items():
                        table.correct[key] = max(table.correct[key], *shares)
                    if not passed:
                        table.refused.append(f"{name} in stage {stage.name}")
            for mistake in all_mistakes("transformer"):
                if mistake.stage != stage.name:
                    continue
                mistaken = Submission(mistake.id, mistake.apply(solution.sources))
                passed, found = measure(mistaken, stage, chosen, workers, seeds)
                if passed:
                    table.unseen.append(mistake.id)
                # A mistake is caught by the check that sees it best.
                for key, shares in found.items():
                    if 1 < max(shares) < table.mistaken[key]:
                        table.mistaken[key], table.smallest[key] = max(shares), mistake.id
    finally:
        workers.close()
    return table


def markdown(table: Table, seeds: list[int]) -> str:
    """The table as the documentation shows it."""
    chosen = assignment("transformer")
    lines = [
        "# Tolerance",
        "",
        "How far the limits of the grader are from what correct code does, and from what known mistakes do.",
        f"The limit of a tensor is {LIMITS['float64']:g} in float64 and {ENCODING_LIMIT:g} where the student's own",
        "encoding is in it; for gradients it grows with the size of the numbers.",
        "",
        "Made by `make tolerance`:",
        f"{len(correct_submissions(chosen))} correct formulations and {len(all_mistakes(chosen.name))} known mistakes,",
        f"the visible tests and hidden ones of {len(seeds)} seed(s), torch {torch.__version__}.",
        "Correct code ran with one thread and with two.",
        "A mistake counts with the check that sees it best; mistakes that show in another way (a wrong shape, an",
        "exception, other tokens) are not in the last columns.",
        "",
        "| stage | precision | limit / deviation of correct code | deviation of mistakes / limit | smallest mistake |",
        "|---|---|---:|---:|---|",
    ]
    for key in sorted(table.correct.keys() | table.mistaken.keys()):
        right = f"{1 / table.correct[key]:,.0f}" if table.correct[key] else "no deviation"
        wrong = f"{table.mistaken[key]:,.0f}" if key in table.smallest else "-"
        lines.append(f"| {key[0]} | {key[1]} | {right} | {wrong} | {table.smallest.get(key, '-')} |")
    lines += ["", "Precision float32 is used only for code that cannot run in float64."]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.tolerance", description=__doc__)
    parser.add_argument("--seeds", type=int, default=3, help="seeds of the hidden tests (%(default)s)")
    parser.add_argument("--out", type=Path, help="write the table there too")
    args = parser.parse_args()
    seeds = list(range(1, args.seeds + 1))
    table = measure_all(seeds)
    text = markdown(table, seeds)
    print(text)
    if args.out:
        args.out.write_text(text, encoding="utf-8")
    for name in table.refused:
        print(f"correct code is refused: {name}")
    for name in table.unseen:
        print(f"no test sees the mistake {name}")
    return 1 if table.refused or table.unseen else 0


if __name__ == "__main__":
    sys.exit(main())

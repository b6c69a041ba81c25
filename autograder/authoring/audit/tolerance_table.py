"""`python -m autograder tolerance`: measure how far correct code and faulty code deviate from the reference."""

import argparse
import contextlib
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from autograder.authoring.audit.subject import Subject
from autograder.authoring.audit.tolerance import Measured, measure
from autograder.diagnosis.compare_tensors import LIMITS
from autograder.manifest import Assignment, assignment, every_assignment

BEGINNING = f"""# Tolerance

This page compares the grader's tolerance with the deviations of correct code and of known mistakes. The tolerance is
{LIMITS["float64"]:g} in float64 and {LIMITS["float32"]:g} in float32, unless a test sets a larger one;
for gradients it grows with the size of the numbers. `make tolerance` writes this page; `python -m autograder audit`
fails if correct code or a mistake is within a factor of 10 of a tolerance.

All correct programs for the assignments below (with one thread and with two) and all known mistakes were run through
the visible tests and one seed's hidden tests. For each mistake, the largest deviation counts; mistakes that show up in
other ways (a wrong shape, an exception, different tokens) are left out of the last two columns. Only code that cannot
run in float64 uses float32.
"""
HEADING = """
| stage | precision | tolerance / correct code's deviation | mistakes' deviation / tolerance | smallest mistake |
|---|---|---:|---:|---|
"""


def table(chosen: Assignment, jobs: int) -> str:
    """Return the documentation page's section on an assignment."""
    import torch

    with contextlib.closing(Subject(chosen)) as subject, ThreadPoolExecutor(jobs) as pool:
        measured = pool.map(lambda stage: measure(subject, stage), chosen.stages)
        rows = [row for stage, result in zip(chosen.stages, measured, strict=True) for row in _rows(stage.name, result)]
        numbers = f"{len(subject.correct)} correct programs and {len(subject.mistakes)} known mistakes"
    return f"\n## {chosen.title}\n\n{numbers}, torch {torch.__version__}.\n{HEADING}" + "".join(rows)


def _rows(stage: str, measured: Measured) -> list[str]:
    rows = []
    for dtype in sorted(measured.correct.keys() | measured.mistaken.keys()):
        right = f"{1 / measured.correct[dtype]:,.0f}" if measured.correct[dtype] else "no deviation"
        wrong = f"{measured.mistaken[dtype]:,.0f}" if dtype in measured.smallest else "-"
        rows.append(f"| {stage} | {dtype} | {right} | {wrong} | {measured.smallest.get(dtype, '-')} |\n")
    return rows


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m autograder tolerance", description=__doc__)
    parser.add_argument("--assignment", metavar="NAME", help="only this assignment (default: all)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="also write the page to this file")
    args = parser.parse_args(arguments)
    chosen = [assignment(args.assignment)] if args.assignment else every_assignment()
    text = BEGINNING + "".join(table(each, os.cpu_count() or 1) for each in chosen)
    print(text)
    if args.out:
        args.out.write_text(text, encoding="utf-8", newline="\n")
    return 0

"""`python -m autograder tolerance`: measure how far correct code and mistakes deviate, for the documentation."""

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

How far the limits of the grader are from what correct code does, and from what known mistakes do. The limit is
{LIMITS["float64"]:g} in float64 and {LIMITS["float32"]:g} in float32, unless a test gives a larger one;
for gradients it grows with the size of the numbers. `make tolerance` writes this page; `python -m autograder audit`
fails for code or mistakes that are within a factor of 10.

All correct formulations of the assignments, with one thread and with two, and all known mistakes went through the
visible tests and the hidden ones of one seed. A mistake counts with the check that sees it best; mistakes that show
differently (a wrong shape, an exception, other tokens) are not in the last columns. Precision float32 is used only for
code that cannot run in float64.
"""
HEADING = """
| stage | precision | limit / deviation of correct code | deviation of mistakes / limit | smallest mistake |
|---|---|---:|---:|---|
"""


def table(chosen: Assignment, jobs: int) -> str:
    """Return the section of the page on an assignment."""
    import torch

    with contextlib.closing(Subject(chosen)) as subject, ThreadPoolExecutor(jobs) as pool:
        measured = pool.map(lambda stage: measure(subject, stage), chosen.stages)
        rows = [row for stage, result in zip(chosen.stages, measured, strict=True) for row in _rows(stage.name, result)]
        numbers = f"{len(subject.correct)} correct formulations and {len(subject.mistakes)} known mistakes"
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

"""What the lines of a verdict cost: `python -m bench.lines --seed 1` grades known mistakes with and without them.

Processor time of `python grade.py` with one mistake in the submission, the smallest of three runs each, by turns.
"""

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from autograder.diagnosis.mistakes import Mistake, all_mistakes
from autograder.manifest import Assignment, every_assignment
from autograder.submissions.read_submission import read_submission

ROOT = Path(__file__).resolve().parent.parent
# The same command, in which nothing looks for lines.
WITHOUT = """
import sys
from course.startup import begin
begin()
import autograder.localization
from autograder.grading.graded_case import StageTestCase
autograder.localization.localize = lambda *_: {}
StageTestCase.take_smaller = lambda *_: None
from autograder.__main__ import main
sys.exit(main())
"""


def seconds(command: list[str]) -> float:
    """The processor time of a command and all its children."""
    before = os.times()
    subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def ratio(assignment: Assignment, mistake: Mistake, runs: int) -> float:
    """How many times as much grading a mistake costs with lines as without."""
    with tempfile.TemporaryDirectory() as folder:
        for module, text in mistake.apply(read_submission(assignment.solution, assignment).sources).items():
            Path(folder, f"{module}.py").write_text(text, encoding="utf-8")
        options = ["--assignment", assignment.name, "--submission", folder]
        plain, lines = [sys.executable, "-c", WITHOUT, *options], [sys.executable, "grade.py", *options]
        pairs = [(seconds(lines), seconds(plain)) for _ in range(runs)]
    return min(one for one, _ in pairs) / min(other for _, other in pairs)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.lines", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--each", type=int, default=3, help="mistakes of each stage (%(default)s)")
    parser.add_argument("--runs", type=int, default=3, help="of which the smallest counts (%(default)s)")
    parser.add_argument("stage", nargs="*", help="stages (all)")
    args = parser.parse_args()
    chance = random.Random(args.seed)
    ratios: dict[str, list[float]] = {}
    for assignment in every_assignment():
        for stage in assignment.stages:
            known = [
                one for one in all_mistakes(assignment.name) if one.stage == stage.name and one.seen_by == "visible"
            ]
            chosen = chance.sample(known, min(args.each, len(known)))
            if args.stage and stage.name not in args.stage:
                continue
            ratios[stage.name] = [ratio(assignment, one, args.runs) for one in chosen]
            told = ", ".join(f"{one:.2f} {mistake.id}" for one, mistake in zip(ratios[stage.name], chosen, strict=True))
            print(f"{stage.name:<12}{statistics.mean(ratios[stage.name]):.2f}   {told}", flush=True)
    every = [one for found in ratios.values() for one in found]
    print(f"{'all':<12}{statistics.mean(every):.2f}   at most {max(every):.2f}, {len(every)} mistakes")


if __name__ == "__main__":
    main()

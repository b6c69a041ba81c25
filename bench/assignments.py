"""What each assignment costs: `python -m bench.assignments [NAME ...]` (part of `make bench`).

A cold `grade.py` beside `import torch`; and in a class, of which every other submission has a known mistake, what one
submission more costs beside its floor (`bench_floor`). Ratios of CPU seconds, since wall times depend on what else the
machine does.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from autograder.diagnosis.mistakes import all_mistakes
from autograder.manifest import Assignment, assignment, assignments
from autograder.submissions.read_submission import read_submission
from bench.class_of_students import measure
from bench.grade import BASELINE, COMMANDS

FEW = 2  # submissions of the small class


def hand_in(goal: Assignment, folder: Path, number: int) -> list[Path]:
    """Submissions, by turns right and with a mistake of one stage after the other."""
    sources = read_submission(goal.solution, goal).sources
    mistakes = [one for one in all_mistakes(goal.name) if one.seen_by == "visible" and not one.random]
    made = []
    for index in range(number):
        mistake = mistakes[index * len(mistakes) // number]
        made.append(folder / f"s{index:03}")
        made[-1].mkdir(parents=True)
        for module, text in (sources if index % 2 == 0 else mistake.apply(sources)).items():
            (made[-1] / f"{module}.py").write_text(text, encoding="utf-8")
    return made


def of_class(goal: Assignment, folder: Path, size: int) -> tuple[float, float, float]:
    """For a class of a size: CPU s and MB of all processes; the mean floor of its submissions, CPU s."""
    made = hand_in(goal, folder / str(size), size)
    batch = [sys.executable, "-m", "autograder", "batch", str(folder / str(size)), "--assignment", goal.name]
    figure = measure([*batch, "--out", str(folder / f"out{size}"), "--seed", "1", "--jobs", "1"])
    floors = []
    for submission in made[:: size // 6 | 1]:  # an odd step: right ones and wrong ones
        command = [sys.executable, "-m", "bench.floor", str(submission), "--assignment", goal.name, "--runs", "2"]
        floors.append(float(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[1]))
    return figure.cpu, figure.peak, statistics.mean(floors)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.assignments", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="assignments (all)")
    parser.add_argument("--runs", type=int, default=5, help="counted runs of a cold start (%(default)s)")
    parser.add_argument("--students", type=int, default=20, help="size of the class (%(default)s)")
    args = parser.parse_args()
    for name in args.names or assignments():
        goal = assignment(name)
        grade = [sys.executable, "grade.py", "--assignment", name, "--submission", f"solutions/{name}"]
        commands = {"torch": COMMANDS[BASELINE], "cold": grade, "hidden": [*grade, "--hidden", "--seed", "1"]}
        runs = [{what: measure(command) for what, command in commands.items()} for _ in range(args.runs + 1)][1:]
        cpu = {what: statistics.median(run[what].cpu for run in runs) for what in commands}
        wall = {what: statistics.median(run[what].wall for run in runs) for what in commands}
        print(f"{name}: import torch {cpu['torch']:.2f} s of CPU, {wall['torch']:.2f} s by the clock")
        for what in ("cold", "hidden"):
            ratios = f"{cpu[what] / cpu['torch']:.2f} times, {wall[what] / wall['torch']:.2f} by the clock"
            print(f"  grade.py, {what}: {cpu[what]:.2f} s, {ratios}; {runs[0][what].peak:.0f} MB")
        with tempfile.TemporaryDirectory() as folder:
            few, _, _ = of_class(goal, Path(folder), FEW)
            many, peak, floor = of_class(goal, Path(folder), args.students)
        slope = (many - few) / (args.students - FEW)
        print(f"  a submission more: {slope:.2f} s, its floor {floor:.2f} s: {slope / floor:.2f} times; {peak:.0f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())

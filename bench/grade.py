"""What grading costs, as ratios of medians taken in one run: `python -m bench.grade` (`make bench`).

Absolute times depend on the machine and on what else it does; the commands take turns, so their ratios hold.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GRADE = [sys.executable, "grade.py", "--submission", "solutions/transformer"]
BASELINE = "python -c 'import torch'"
COMMANDS = {
    BASELINE: [sys.executable, "-c", "import torch"],
    "python grade.py, the solution": GRADE,
    "python grade.py mha, the solution": [*GRADE, "mha"],
    "python grade.py --hidden, the solution": [*GRADE, "--hidden", "--seed", "1"],
    "python grade.py, the stubs": [sys.executable, "grade.py", "--submission", "notebooks/transformer"],
}


def measure(command: list[str]) -> tuple[float, float]:
    """Run a command; wall seconds, and CPU seconds of it and all its children."""
    before, started = os.times(), time.perf_counter()
    subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=False)
    wall, after = time.perf_counter() - started, os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return wall, cpu


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.grade", description=__doc__)
    parser.add_argument("--runs", type=int, default=5, help="counted runs of each command (%(default)s)")
    args = parser.parse_args()
    figures: dict[str, list[tuple[float, float]]] = {name: [] for name in COMMANDS}
    for run in range(args.runs + 1):
        for name, command in COMMANDS.items():
            figure = measure(command)
            if run:  # the first round fills the file cache
                figures[name].append(figure)
    medians = {
        name: [statistics.median(column) for column in zip(*rows, strict=True)] for name, rows in figures.items()
    }
    wall, cpu = medians[BASELINE]
    from tests.support.watching import latency

    watched = statistics.median(latency(args.runs))
    print(f"{'median of ' + str(args.runs):<42}{'wall s':>8}{'ratio':>8}{'CPU s':>8}{'ratio':>8}")
    for name, (seconds, cpu_seconds) in medians.items():
        print(f"{name:<42}{seconds:>8.2f}{seconds / wall:>8.2f}{cpu_seconds:>8.2f}{cpu_seconds / cpu:>8.2f}")
    cold = medians["python grade.py mha, the solution"][0]
    print(f"{'--watch mha, from save to verdict':<42}{watched:>8.2f}{watched / wall:>8.2f}")
    print(f"that is {watched / cold:.2f} of python grade.py mha")
    return 0


if __name__ == "__main__":
    sys.exit(main())

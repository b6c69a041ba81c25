"""What grading a class costs beside nbgrader, cold starts and the floor: `python -m bench.class_of_students`.

All in one run, since only ratios mean something on another machine. Every submission is correct, so all tests run to
their end. nbgrader runs the visible tests only; `batch --visible-only` is what compares with it.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import psutil

from autograder.authoring.release import path_with_programs
from autograder.manifest import assignment
from tests.support.programs import write_program

ROOT = Path(__file__).resolve().parent.parent
ASSIGNMENT = assignment("transformer")
SOLUTION = ROOT / "solutions" / ASSIGNMENT.name
VARIANTS = ("solution", "einsum", "loops")
SAMPLE_SECONDS = 0.5
# Classes that hold as many submissions of each variant.
VISIBLE, NBGRADED = (3, 30), (3, 6)


@dataclass(frozen=True)
class Figure:
    """What a command costs, with everything that it starts."""

    wall: float  # seconds
    cpu: float
    peak: float  # MB; pages that processes share count once


def measure(command: list[str], cwd: Path = ROOT) -> Figure:
    """Run a command."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "JUPYTER_NO_CONFIG": "1",
        "PATH": path_with_programs(),
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
    }
    before, started = os.times(), time.perf_counter()
    process = subprocess.Popen(
        command, cwd=cwd, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    samples, ended = [0.0], threading.Event()

    def sample() -> None:
        while not ended.wait(SAMPLE_SECONDS):
            samples.append(memory(process.pid))

    sampler = threading.Thread(target=sample)
    sampler.start()
    _, complaints = process.communicate()
    wall = time.perf_counter() - started
    ended.set()
    sampler.join()
    after = os.times()
    assert process.returncode in (0, 4), complaints
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return Figure(wall, cpu, max(samples))


def memory(pid: int) -> float:
    """MB of a process and everything below it now."""
    total = 0
    try:
        processes = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    except psutil.Error:
        return 0.0
    for process in processes:
        try:
            total += process.memory_full_info().pss
        except psutil.Error:
            continue
    return total / 1e6


def median(figures: Iterable[Figure]) -> Figure:
    rows = [(figure.wall, figure.cpu, figure.peak) for figure in figures]
    return Figure(*(statistics.median(column) for column in zip(*rows, strict=True)))


def make_class(folder: Path, size: int) -> Path:
    """Correct submissions of several ways to write them."""
    for number in range(size):
        target = folder / f"s{number:04}" / ASSIGNMENT.name
        target.mkdir(parents=True)
        write_program(target, VARIANTS[number % len(VARIANTS)])
    return folder


def batch(folder: Path, size: int, *options: str, runs: int = 1) -> Figure:
    """Grade a class in a fresh folder."""
    submissions = folder / f"class{size}"
    if not submissions.exists():
        make_class(submissions, size)
    figures = []
    for _ in range(runs):
        out = Path(tempfile.mkdtemp(dir=folder))
        command = [sys.executable, "-m", "autograder", "batch", str(submissions), "--out", str(out)]
        figures.append(measure([*command, *options]))
        assert len(list((out / "results").glob("*.json"))) == size
    return median(figures)


def nbgrader(folder: Path, size: int) -> Figure:
    """Grade a class with nbgrader, in a course made of the solutions and the configuration."""
    course = folder / f"course{size}"
    course.mkdir()
    shutil.copy(ROOT / "nbgrader_config.py", course)
    shutil.copytree(ROOT / "solutions", course / "solutions", ignore=shutil.ignore_patterns("__pycache__"))
    start = [sys.executable, "-m", "nbgrader"]
    measure([*start, "generate_assignment", ASSIGNMENT.name], course)
    make_class(course / "submitted", size)
    for student in (course / "submitted").iterdir():
        for stage in ASSIGNMENT.stages:
            shutil.copy(course / "notebooks" / ASSIGNMENT.name / stage.notebook, student / ASSIGNMENT.name)
    figure = measure([*start, "autograde", ASSIGNMENT.name], course)
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{(course / 'gradebook.db').as_posix()}") as gradebook:
        scores = [graded.score for graded in gradebook.assignment_submissions(ASSIGNMENT.name)]
    assert scores == [sum(stage.max_points for stage in ASSIGNMENT.stages)] * size, scores
    return figure


def floor(folder: Path, runs: int) -> Figure:
    """Fork, import and forward passes alone, the mean of the submissions of a class; see `bench.floor`."""
    figures = []
    for variant in VARIANTS:
        (place := folder / variant).mkdir(exist_ok=True)
        command = [sys.executable, "-m", "bench.floor", str(write_program(place, variant)), "--runs", str(runs)]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True)
        figures.append(list(map(float, done.stdout.split())))
    wall, cpu, _ = (statistics.mean(column) for column in zip(*figures, strict=True))
    return Figure(wall, cpu, 0)


def line_through(points: dict[int, float]) -> tuple[float, float]:
    """Intercept and slope of the least-squares line."""
    x, y = list(points), list(points.values())
    slope, intercept = statistics.linear_regression(x, y)
    return intercept, slope


def per_submission(table: dict[str, tuple[int, Figure]], name: str, sizes: tuple[int, ...]) -> float:
    """CPU seconds of a submission more, start not included; classes of these sizes have the same mix."""
    return line_through({size: table[f"{name}, class of {size}"][1].cpu for size in sizes})[1]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.class_of_students", description=__doc__)
    parser.add_argument("--runs", type=int, default=5, help="runs of what is quick (%(default)s)")
    parser.add_argument("--quick", action="store_true", help="no class of 100")
    args = parser.parse_args()
    table: dict[str, tuple[int, Figure]] = {}

    def row(name: str, size: int, figure: Figure) -> None:
        table[name] = size, figure
        peak = f"{figure.peak:>10.0f}" if figure.peak else f"{'':>10}"
        print(f"{name:<44}{figure.wall / size:>10.2f}{figure.cpu / size:>10.2f}{peak}", flush=True)

    grade = [sys.executable, "grade.py", "--submission", str(SOLUTION)]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        print(f"{'for each submission':<44}{'wall s':>10}{'CPU s':>10}{'peak MB':>10}")
        row("floor, before", 1, floor(folder, args.runs))
        sizes = {1: args.runs, 10: 1 if args.quick else 3} | ({} if args.quick else {100: 1})
        for size, runs in sizes.items():
            row(f"batch, class of {size}", size, batch(folder, size, "--jobs", "1", runs=runs))
        row("floor, after", 1, floor(folder, args.runs))
        row("batch --jobs 2, class of 10", 10, batch(folder, 10, "--jobs", "2"))
        for size in VISIBLE:
            row(f"batch --visible-only, class of {size}", size, batch(folder, size, "--jobs", "1", "--visible-only"))
        for size in NBGRADED:
            row(f"nbgrader autograde, class of {size}", size, nbgrader(folder, size))
        row("cold grade.py --hidden", 1, median(measure([*grade, "--hidden"]) for _ in range(args.runs)))
        row("cold grade.py", 1, median(measure(grade) for _ in range(args.runs)))
    print()
    start, slope = line_through({size: table[f"batch, class of {size}"][1].cpu for size in sizes})
    print(f"CPU seconds of batch: {start:.1f} + {slope:.2f} for each submission")
    for size in sizes:
        ratio = table[f"batch, class of {size}"][1].cpu / (start + slope * size)
        print(f"  class of {size}: {ratio:.2f} times this line")
    visible = per_submission(table, "batch --visible-only", VISIBLE)
    nbgraded = per_submission(table, "nbgrader autograde", NBGRADED)
    for name, (size, figure) in table.items():
        same_tests = "nbgrader" in name or "visible" in name or name == "cold grade.py"
        compared, what = (visible, "a submission more of batch --visible-only") if same_tests else (slope, "the slope")
        print(f"CPU of {name}: {figure.cpu / size / compared:.2f} times {what}")
    print(f"CPU of a submission more: nbgrader {nbgraded:.2f} s, batch --visible-only {visible:.2f} s")
    print(f"nbgrader takes {nbgraded / visible:.1f} times as much for the same tests")
    floors = statistics.mean(table[f"floor, {when}"][1].cpu for when in ("before", "after"))
    print(f"CPU of the slope: {slope / floors:.2f} times the floor")
    return 0


if __name__ == "__main__":
    sys.exit(main())

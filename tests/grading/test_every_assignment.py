"""What works for one assignment works for each: handout, `grade.py`, `--watch`, Gradescope, a cluster, the pages."""

import csv
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from autograder.__main__ import main
from autograder.diagnosis.mistakes import all_mistakes
from autograder.manifest import Assignment, assignment, assignments
from autograder.sandbox.confine import unsupported
from autograder.submissions.read_submission import read_submission
from tests.support.containers import Container, needs_bash, pack
from tests.support.quick import some
from tests.support.running_notebooks import unpacked_handout
from tests.support.watching import Watcher

ROOT = Path(__file__).resolve().parents[2]
NAMES = assignments()
OTHERS = [name for name in NAMES if name != "transformer"]  # whose every part has tests of its own
CONFINED = ["--unconfined"] if unsupported() else []


def full(goal: Assignment) -> float:
    return sum(stage.max_points for stage in goal.stages)


def grade(folder: Path, *arguments: str) -> tuple[int, str]:
    """Run `python grade.py` in an unpacked handout, with nothing but what lies there."""
    environment = {**os.environ, "PYTHONPATH": str(folder), "COLUMNS": "120", "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "grade.py", *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, encoding="utf-8", timeout=300)
    assert "autograder failed" not in done.stdout + done.stderr
    return done.returncode, done.stdout


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The unpacked handout of all assignments."""
    return unpacked_handout(tmp_path_factory.mktemp("handout"), "--all")


def test_one_handout_has_all_assignments(course: Path):
    for name in NAMES:
        goal = assignment(name)
        code, printed = grade(course, "--assignment", name)
        assert (code, printed.count("not started") > 0) == (4, True)
        for module in goal.modules:
            shutil.copy(goal.solution / f"{module}.py", course / "notebooks" / name)
        code, printed = grade(course, "--assignment", name)
        assert code == 0, printed
        assert f"{full(goal):g}" in printed


@pytest.mark.parametrize("name", some(OTHERS, every=3))
def test_a_handout_of_its_own_stands_alone(name: str, tmp_path: Path):
    goal = assignment(name)
    folder = unpacked_handout(tmp_path, "--assignment", name)
    assert folder.name == f"{name}-student"
    assert {path.name for path in (folder / "notebooks").iterdir()} == {name}
    assert grade(folder)[0] == 4
    for module in goal.modules:
        shutil.copy(goal.solution / f"{module}.py", folder / "notebooks" / name)
    assert grade(folder)[0] == 0


@pytest.mark.parametrize("name", OTHERS)
def test_a_save_is_graded(name: str, tmp_path: Path):
    goal = assignment(name)
    mistake = next(one for one in all_mistakes(name) if one.stage == goal.stages[0].name)
    for module, text in mistake.apply(read_submission(goal.solution, goal).sources).items():
        (tmp_path / f"{module}.py").write_text(text, encoding="utf-8")
    watcher = Watcher(tmp_path, "--assignment", name, goal.stages[0].name)
    points = f"{goal.stages[0].max_points:g}"
    assert f"{points} of {points}" not in watcher.verdict()
    watcher.save(mistake.module, mistake.new, mistake.old)
    watcher.verdict()
    assert watcher.interrupt()[0] in (0, 130)


@needs_bash
@pytest.mark.parametrize("name", some(OTHERS, every=3))
def test_gradescope_grades_it(name: str, tmp_path: Path):
    goal = assignment(name)
    archive = tmp_path / "archive.zip"
    assert pack(archive, "--assignment", name, "--seed", "5") == 0
    container = Container(tmp_path / "container", archive, goal)
    for module in goal.modules:
        shutil.copy(goal.solution / f"{module}.py", container.root / "submission")
    assert container.grade()["score"] == full(goal)


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow) for name in OTHERS])
def test_a_class_its_pages_and_a_cluster(name: str, tmp_path: Path, monkeypatch):
    """The same points on this machine and on a cluster; a page for each student, and a report."""
    distributed = pytest.importorskip("distributed")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    goal = assignment(name)
    sources = read_submission(goal.solution, goal).sources
    first = next(one for one in all_mistakes(name) if one.seen_by == "visible")
    for student, modules in {"right": sources, "slip": first.apply(sources), "nothing": {}}.items():
        (tmp_path / "in" / student).mkdir(parents=True)
        for module, text in modules.items():
            (tmp_path / "in" / student / f"{module}.py").write_text(text, encoding="utf-8")
    command = ["batch", str(tmp_path / "in"), "--assignment", name, "--seed", "5", *CONFINED]
    assert main([*command, "--out", str(tmp_path / "here")]) == 0
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster:
        there = ["--out", str(tmp_path / "there"), "--scheduler", cluster.scheduler_address]
        assert main([*command, *there]) == 0
    rows = {}
    for place in ("here", "there"):
        with (tmp_path / place / "grades.csv").open(encoding="utf-8-sig", newline="") as file:
            rows[place] = {row["student"]: [row[stage.name] for stage in goal.stages] for row in csv.DictReader(file)}
    assert rows["here"] == rows["there"]
    assert list(map(float, rows["here"]["right"])) == [stage.max_points for stage in goal.stages]
    assert sum(map(float, rows["here"]["slip"])) < full(goal)
    pages = {path.relative_to(tmp_path / "here").as_posix(): path for path in (tmp_path / "here").rglob("*.html")}
    assert any("slip" in page and first.looks_like[:30] in pages[page].read_text(encoding="utf-8") for page in pages)
    assert goal.stages[0].title in pages["report.html"].read_text(encoding="utf-8")

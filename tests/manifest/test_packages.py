"""Assignments that installed packages bring: `packages` in course.toml."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from autograder.manifest import assignments
from course.location import ENGINE, VARIABLE


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a course beside which packages are installed."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ENGINE), str(folder.parent)]), VARIABLE: ""}
    return subprocess.run([sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True)


def course(folder: Path, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "course.toml").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("name", ["brought", "shared"])
def test_the_assignments_of_a_package_are_there(tmp_path, name):
    """By the name of the package, or of its entry point."""
    brought = course(tmp_path / "brought", f"[folders]\nassignments = '{ENGINE / 'autograder' / 'assignments'}'\n")
    (brought / "__init__.py").touch()
    (tmp_path / "brought-1.dist-info").mkdir()
    (tmp_path / "brought-1.dist-info" / "entry_points.txt").write_text("[autograder.courses]\nshared = brought\n")
    mine = course(tmp_path / "mine", f'[folders]\npackages = ["{name}"]\n')
    asked = (
        "from autograder.manifest import assignments\nfor one in assignments().values(): print(one.name, one.solution)"
    )
    found = [line.split() for line in run(mine, "-c", asked).stdout.splitlines()]
    assert found == [[name, str(brought / "solutions" / name)] for name in assignments()]


@pytest.mark.parametrize(("package", "complaint"), [("nowhere", "is not installed"), ("json", "has no course.toml")])
def test_a_package_without_a_course_is_named(tmp_path, package, complaint):
    mine = course(tmp_path / "mine", f'[folders]\npackages = ["{package}"]\n')
    done = run(mine, "-m", "autograder", "grade")
    assert done.returncode == 2
    assert f"packages names {package}, a package that {complaint}" in done.stderr


@pytest.mark.slow
def test_an_assignment_of_a_package_is_graded(tmp_path):
    for name in ("mine", "brought"):
        assert run(course(tmp_path / "start", ""), "-m", "autograder", "init", str(tmp_path / name)).returncode == 0
    assert run(tmp_path / "brought", "-m", "autograder", "new", "toy").returncode == 0
    (tmp_path / "brought" / "__init__.py").touch()
    course(tmp_path / "mine", '[folders]\npackages = ["brought"]\n')
    submission = str(tmp_path / "brought" / "solutions" / "toy")
    done = run(tmp_path / "mine", "-m", "autograder", "grade", "--submission", submission, "--hidden", "--seed", "2")
    assert "Total: 10 of 10 points" in done.stdout, done.stderr

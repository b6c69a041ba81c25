"""Assignments that installed packages bring: `packages` in course.toml."""

import os
import subprocess
import sys

import pytest

from course.location import ENGINE, VARIABLE


def run(folder, *arguments):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ENGINE), str(folder.parent)]), VARIABLE: ""}
    command = [sys.executable, "-m", "autograder", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)


@pytest.fixture(scope="module")
def courses(tmp_path_factory):
    """A course, and a package beside it that is another one, with an assignment."""
    folder = tmp_path_factory.mktemp("courses")
    for name in ("mine", "brought"):
        assert run(folder, "init", name).returncode == 0
    assert run(folder / "brought", "new", "toy").returncode == 0
    (folder / "brought" / "__init__.py").touch()
    return folder


def choose(courses, packages):
    file = courses / "mine" / "course.toml"
    text = file.read_text(encoding="utf-8").partition("\n[folders]")[0]
    file.write_text(f"{text}\n[folders]\npackages = {packages}\n", encoding="utf-8")


def test_the_assignment_of_a_package_is_graded(courses):
    choose(courses, '["brought"]')
    submission = courses / "brought" / "solutions" / "toy"
    done = run(courses / "mine", "grade", "--submission", str(submission), "--hidden", "--seed", "2")
    assert "Total: 10 of 10 points" in done.stdout, done.stderr
    assert done.returncode == 0


def test_a_package_that_is_not_there_is_named(courses):
    for package, complaint in (("nowhere", "is not installed"), ("json", "has no course.toml")):
        choose(courses, f'["{package}"]')
        done = run(courses / "mine", "grade")
        assert done.returncode == 2
        assert f"packages names {package}, a package that {complaint}" in done.stderr

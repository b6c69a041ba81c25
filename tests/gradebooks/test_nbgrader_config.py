"""What nbgrader_config.py settles: who is passed over, quiet kernels, no stage left open."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from traitlets.config import Config
from traitlets.config.loader import PyFileConfigLoader

from autograder import with_project
from autograder.authoring.nbgrader_plugin import skipped, warn_of_skipped
from autograder.manifest import assignment
from course.notebook.verdict import Desk

ROOT = Path(__file__).resolve().parents[2]
ASSIGNMENT = assignment("transformer")


@pytest.fixture(scope="module")
def config() -> Iterator[Config]:
    with pytest.MonkeyPatch.context() as patch:  # the file changes all of them
        patch.setenv("PYTHONPATH", os.environ.get("PYTHONPATH", ""))
        patch.setenv("AUTOGRADER_COURSE", "")
        patch.syspath_prepend(str(ROOT))
        yield PyFileConfigLoader("nbgrader_config.py", path=str(ROOT)).load_config()


def test_an_instructor_uses_the_project_where_all_import_the_handout(tmp_path):
    """As on a shared server: nbgrader's own program, and the kernels that it starts."""
    for package in ("autograder", "course"):
        (tmp_path / "handout" / package).mkdir(parents=True)
        (tmp_path / "handout" / package / "__init__.py").touch()
    code = (
        "import subprocess, sys\n"
        "from traitlets.config.loader import PyFileConfigLoader\n"
        f"PyFileConfigLoader('nbgrader_config.py', path={str(ROOT)!r}).load_config()\n"
        "subprocess.run([sys.executable, '-c', 'import course, autograder as a; print(a.__file__, course.__file__)'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "handout")},
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=True,
    )
    assert done.stdout.split() == [str(ROOT / name / "__init__.py") for name in ("autograder", "course")]


def test_in_the_project_its_own_grader_grades(tmp_path):
    """The same for commands that are run there, and for their workers; the other copy cannot be imported at all."""
    for package in ("autograder", "course"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text("raise SystemExit('the handout')", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "autograder", "--submission", f"solutions/{ASSIGNMENT.name}", "pe"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        encoding="utf-8",
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert with_project(["a", str(tmp_path), "b"], "c") == ["a", "c", str(tmp_path), "b"]
    assert with_project(["a", "b"], "c") == ["a", "b", "c"]


def test_kernels_are_quiet(config):
    assert "--IPKernelApp.log_level=40" in config.Execute.extra_arguments


def test_who_is_passed_over_is_named(tmp_path, capsys):
    for name in (
        "anna/transformer/1_mha.ipynb",
        "ben/transformer/mha.py",
        "cleo/mha.py",
        "dan.zip",
        ".x",
        "eve/other/a.py",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert [reason.partition(":")[0] for reason in skipped(tmp_path, "transformer")] == ["ben", "cleo", "dan.zip"]
    warn_of_skipped(["autograde", "transformer"], tmp_path, ["transformer", "variants"])
    said = capsys.readouterr().err
    assert said.startswith(
        f"nbgrader autograde does not grade 3 students in {tmp_path}:\n  ben: handed in no notebook\n"
    )
    assert "python -m autograder batch --gradebook" in said
    for arguments in (["collect", "transformer"], ["autograde", "variants"]):
        warn_of_skipped(arguments, tmp_path / "nowhere", ["transformer", "variants"])
    assert capsys.readouterr().err == ""


def test_the_feedback_of_nbgrader_shows_no_stage_that_nobody_graded(monkeypatch):
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)  # which nbgrader leaves behind in this process
    desk = Desk(ASSIGNMENT)
    folder = ROOT / "notebooks" / "transformer"
    stage = ASSIGNMENT.stage("pe")
    try:
        report = desk.check(stage, folder)
        assert "…" in desk.show(stage, report, folder).html
        monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
        html = desk.show(stage, report, folder).html
    finally:
        desk.session.close()
    assert "…" not in html
    assert 'aria-label="Progress' not in html

"""What nbgrader_config.py settles: the IDs of downloads, who is passed over, quiet kernels, no stage left open."""

import re
from pathlib import Path

import pytest
from traitlets.config import Config
from traitlets.config.loader import PyFileConfigLoader

from autograder.authoring.nbgrader_plugin import skipped, warn_of_skipped
from autograder.gradebooks.moodle import name_in, number_in
from autograder.manifest import assignment
from course.notebook.verdict import Desk

ROOT = Path(__file__).resolve().parent.parent
ASSIGNMENT = assignment("transformer")


@pytest.fixture(scope="module")
def config() -> Config:
    return PyFileConfigLoader("nbgrader_config.py", path=str(ROOT)).load_config()


@pytest.mark.parametrize(
    ("path", "student", "file"),
    [
        ("x/extracted/class/anna/mha.py", "anna", "mha"),
        ("x/extracted/anna/transformer/1_mha.ipynb", "anna", "1_mha"),
        ("x/extracted/class/Frank Oz_11_assignsubmission_file_/mha.py", "Frank Oz_11", "mha"),
        ("x/extracted/class/Frank Oz_11_assignsubmission_file/transformer/pe.py", "Frank Oz_11", "pe"),
        ("x\\extracted\\Frank Oz_11_assignsubmission_file_\\transformer\\pe.py", "Frank Oz_11", "pe"),
    ],
)
def test_the_ids_of_downloads(config, path, student, file):
    found = re.match(config.FileNameCollectorPlugin.named_regexp, path)
    assert found
    assert (found["student_id"], found["file_id"]) == (student, file)


def test_the_ids_of_moodle_lead_back_to_moodle():
    for name in ("Frank Oz_11", "Frank Oz_11_assignsubmission_file_"):
        assert (name_in(name), number_in(name)) == ("Frank Oz", "11")
    assert number_in("anna") == ""


def test_kernels_are_quiet(config):
    assert config.Execute.extra_arguments == ["--IPKernelApp.log_level=40"]


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
        f"nbgrader autograde does not grade 3 of those in {tmp_path}:\n  ben: handed in no notebook\n"
    )
    assert "python -m autograder batch --gradebook" in said
    for arguments in (["collect", "transformer"], ["autograde", "variants"]):
        warn_of_skipped(arguments, tmp_path / "nowhere", ["transformer", "variants"])
    assert capsys.readouterr().err == ""


def test_the_feedback_of_nbgrader_shows_no_stage_that_nobody_graded(monkeypatch):
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

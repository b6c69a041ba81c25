"""The course is found as git finds a repository."""

import pytest

from autograder.__main__ import main
from course.errors import UserError
from course.location import ENGINE, VARIABLE, choose, course_folder, refuse_planted


@pytest.fixture(autouse=True)
def none_is_named(monkeypatch):
    monkeypatch.setenv(VARIABLE, "")


def make(folder):
    folder.mkdir(parents=True)
    (folder / "course.toml").touch()
    return folder


def test_from_the_working_directory_upwards(tmp_path, monkeypatch):
    outer = make(tmp_path / "outer")
    inner = make(outer / "a" / "inner")
    (inner / "b" / "c").mkdir(parents=True)
    for here, found in ((outer / "a", outer), (inner / "b" / "c", inner), (inner, inner)):
        monkeypatch.chdir(here)
        assert course_folder() == found


def test_what_is_named_comes_first(tmp_path, monkeypatch):
    here, named = make(tmp_path / "here"), make(tmp_path / "named")
    monkeypatch.chdir(here)
    choose("../named")
    monkeypatch.chdir(tmp_path)
    assert course_folder() == named
    choose(".")
    with pytest.raises(UserError, match="is not a course"):
        course_folder()


def test_without_a_course_that_of_the_engine(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert course_folder() == ENGINE
    monkeypatch.setattr("course.location.ENGINE", tmp_path / "site-packages")
    monkeypatch.chdir(make(tmp_path / "other").parent)
    with pytest.raises(UserError, match=r"is not in a course.*--course DIR.*init DIR"):
        course_folder()


def test_a_course_among_submissions_runs_no_hidden_tests(tmp_path, monkeypatch):
    """A student may hand in a course.toml with tests; they must not be taken for the instructor's."""
    course = make(tmp_path / "course")
    planted = make(course / "submitted" / "eve")
    (planted / "toy").mkdir()
    monkeypatch.chdir(planted)
    for submissions in (planted, planted.parent, course):
        with pytest.raises(UserError, match="is among the submissions"):
            refuse_planted(submissions)
    with pytest.raises(UserError, match=r"inside the course .*: say with --course DIR"):
        refuse_planted(planted / "toy")
    assert main(["batch", ".", "--unconfined"]) == 2
    choose(str(course))
    refuse_planted(planted.parent)


def test_every_command_takes_the_course(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["--course", "nowhere", "audit", "toy"]) == 2
    assert "nowhere is not a course" in capsys.readouterr().err
    make(tmp_path / "mine")
    for arguments in (["--course", "mine", "audit", "toy"], ["audit", "toy", "--course=mine"]):
        monkeypatch.setenv(VARIABLE, "")
        assert main(arguments) == 2
        assert "there is no assignment 'toy'; known: none" in capsys.readouterr().err

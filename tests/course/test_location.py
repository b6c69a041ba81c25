"""The course is found as git finds a repository."""

import pytest

from course.errors import UserError
from course.location import ENGINE, VARIABLE, choose, course_folder


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
    monkeypatch.setenv(VARIABLE, "")
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

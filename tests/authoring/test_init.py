"""`init` writes into a new or an empty folder outside of other courses, and nowhere else."""

import pytest

from autograder.authoring.init import main as init
from course.errors import UserError


@pytest.mark.parametrize(
    ("there", "folder", "said"),
    [
        ("mine/notes.txt", "mine", "is not empty"),
        ("mine/course.toml", "mine", "is not empty"),
        ("mine/.gitignore", "mine", "is not empty"),
        ("mine/theirs/course.toml", "mine", "is not empty"),
        ("mine/course.toml", "mine/new", "inside the course"),
        ("mine/course.toml", "mine/a/b", "inside the course"),
        ("mine", "mine", "is not a folder"),
    ],
)
def test_a_course_is_not_written_over_or_into_anything(tmp_path, there, folder, said):
    (tmp_path / there).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / there).write_text("mine", encoding="utf-8")
    with pytest.raises(UserError, match=said):
        init([str(tmp_path / folder)])
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [tmp_path / there]


@pytest.mark.parametrize("there", [[], ["mine"], ["mine/.git", "mine/.venv"]])
def test_a_new_or_an_empty_folder_will_do(tmp_path, there, monkeypatch):
    for name in there:
        (tmp_path / name).mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert init(["mine"]) == 0
    assert (tmp_path / "mine/course.toml").is_file()


def test_its_help_says_so(capsys):
    with pytest.raises(SystemExit):
        init(["--help"])
    said = " ".join(capsys.readouterr().out.split())
    assert "a new or an empty folder outside of other courses" in said

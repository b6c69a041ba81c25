"""Submissions out of folders and zip files: every layout, and archives that were made to do harm."""

import os
import sys
from pathlib import Path

import pytest

from autograder.__main__ import main
from autograder.submissions.find_submissions import find_submissions
from autograder.submissions.read_submission import read_submission
from course.errors import UserError
from tests.support.archives import ASSIGNMENT, FULL, MODULES, below, from_zip, read_all, read_one, write, zipped
from tests.support.worth import FULL as POINTS
from tests.support.worth import of

LAYOUTS: dict[str, dict[str, str | bytes]] = {
    "nbgrader": {**below("anna/transformer"), **below("ben/transformer"), **below("ben/attention")},
    "folders": {**below("anna"), **below("ben")},
    "inner folder": {**below("anna/my work"), **below("ben/transformer")},
    "repository": {**below("anna/course-main/notebooks/transformer"), "anna/course-main/README": "", **below("ben")},
    "zips": {"anna.zip": zipped(dict(MODULES)), "ben.zip": zipped(below("transformer")), "grades.csv": "a,b"},
    "zips in folders": {"anna/work.zip": zipped(dict(MODULES)), "ben/work.zip": zipped(below("src"))},
    "both": {**below("anna"), "ben.ZIP": zipped({**below("./transformer"), "__MACOSX/transformer/._mha.py": "x"})},
}


@pytest.mark.parametrize("form", ["folder", "zip", "zip with a folder"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(tmp_path, layout, form):
    files = LAYOUTS[layout]
    if form == "folder":
        path = write(tmp_path, files)
    else:
        path = tmp_path / "class.zip"
        inside = {f"export/{name}": content for name, content in files.items()}
        path.write_bytes(zipped(files if form == "zip" else {**inside, "export/metadata.yml": "x"}))
    found = read_all(path)
    assert list(found) == ["anna", "ben"]
    for submission in found.values():
        assert {f"{module}.py": text for module, text in submission.sources.items()} == MODULES
        assert submission.unreadable == {}
    assert found["anna"].digest == found["ben"].digest


@pytest.mark.parametrize("files", [MODULES, below("transformer"), below("my work")])
def test_the_work_of_one_student(tmp_path, files):
    (tmp_path / "Anna.zip").write_bytes(zipped(dict(files)))
    assert list(read_all(tmp_path / "Anna.zip")) == ["Anna"]
    assert list(read_submission(tmp_path / "Anna.zip", ASSIGNMENT).sources) == FULL
    folder = write(tmp_path / "ben", dict(files))
    assert list(read_submission(folder, ASSIGNMENT).sources) == FULL


def test_a_zip_file_is_graded_like_a_folder(tmp_path, capsys):
    solution = Path(__file__).resolve().parents[2] / "solutions" / "transformer"
    (tmp_path / "x.zip").write_bytes(zipped({f"work/{path.name}": path.read_bytes() for path in solution.glob("*.py")}))
    assert main(["pe", "--submission", str(tmp_path / "x.zip")]) == 0
    assert f"Total: {of(POINTS['pe'], POINTS['pe'])} points" in capsys.readouterr().out
    assert main(["pe", "--submission", str(tmp_path / "y.zip")]) == 2
    (tmp_path / "y.zip").write_bytes(b"PK damaged")
    assert main(["pe", "--submission", str(tmp_path / "y.zip")]) == 4
    assert "y.zip is not a zip file or is damaged" in capsys.readouterr().out


def test_names_of_platforms_are_kept(tmp_path):
    names = ["submission_123", "Doe Jane_77_assignsubmission_file_", "doejane_LATE_12_34_work"]
    (tmp_path / "c.zip").write_bytes(zipped({k: v for name in names for k, v in below(name).items()}))
    assert sorted(read_all(tmp_path / "c.zip")) == ["Doe Jane_77", "doejane_LATE_12_34_work", "submission_123"]


def test_names_for_files_are_safe_and_do_not_depend_on_the_others(tmp_path):
    names = ["Zoë", "a b", "a_b", "aux", "-rf", "名前", "submission_1", "x" * 200]
    safe: dict[str, str] = {}
    for count in (len(names), 3):
        folder = tmp_path / str(count)
        for name in names[:count]:
            write(folder, below(name))
        found = find_submissions(folder, ASSIGNMENT)
        for one in found:
            assert one.safe_name.isascii()
            assert not set(one.safe_name) & set("/\\ :*?\"<>|'&")
            assert len(one.safe_name) < 100
            assert one.safe_name[0].isalnum()
            assert safe.setdefault(one.student, one.safe_name) == one.safe_name
    assert safe["submission_1"] == "submission_1"
    taken = write(tmp_path / "taken", {**below("a b"), **below(safe["a b"])})
    assert len({one.safe_name for one in find_submissions(taken, ASSIGNMENT)}) == 2


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="the file system ignores upper and lower case")
def test_students_that_differ_in_case_only_get_different_files(tmp_path):
    found = find_submissions(write(tmp_path, {**below("Anna"), **below("anna")}), ASSIGNMENT)
    assert len({one.safe_name.lower() for one in found}) == 2


def test_a_folder_and_a_zip_of_the_same_name_are_two(tmp_path):
    write(tmp_path, {**below("anna"), "anna.zip": zipped(dict(MODULES))})
    assert list(read_all(tmp_path)) == ["anna", "anna (2)"]


@pytest.mark.parametrize("path", ["nowhere", "empty", "bad.zip", "notes.txt"])
def test_nothing_to_grade_is_said(tmp_path, path):
    (tmp_path / "empty").mkdir()
    write(tmp_path, {"bad.zip": "no zip file", "notes.txt": "x"})
    with pytest.raises(UserError, match=path):
        find_submissions(tmp_path / path, ASSIGNMENT)


def test_a_student_without_modules_is_kept(tmp_path):
    found = read_all(write(tmp_path, {**below("anna"), "ben/essay.pdf": "x"}))
    assert found["ben"].sources == {}
    assert found["ben"].unreadable["mha"] == "mha.py is missing from the submission"
    (tmp_path / "c.zip").write_bytes(zipped({**below("anna"), **below("cleo"), "ben/essay.pdf": "x"}))
    assert read_all(tmp_path / "c.zip")["ben"].unreadable.keys() == set(FULL)


EXTRA = ["torch.py", "conftest.py", "sitecustomize.py", "evil.pth", "math.so", "sub/numpy.py", "x\n\x1b[2J.py"]


@pytest.mark.parametrize("name", EXTRA)
def test_other_files_are_ignored_and_reported(tmp_path, name):
    for submission in (from_zip(tmp_path, {**MODULES, name: "raise SystemExit"}), None):
        if submission is None and os.name == "posix":
            submission = read_one(write(tmp_path / "anna", {**MODULES, name: "raise SystemExit"}))
        if submission is not None:
            assert list(submission.sources) == FULL
            assert "ignored" in submission.review[0]
            assert "\x1b" not in submission.review[0]

"""A corrected handout in mid-term: what belongs to the course becomes new, what the student wrote stays."""

import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest

from course import update
from course.errors import UserError
from course.update import RECORD, digest

TOP = "transformer-student"
FIRST = {
    "grade.py": b"print(1)\n",
    "course/text.py": b"a = 1\n",
    "course/old.py": b"o = 1\n",
    "pyproject.toml": b"[project]\n",
    "notebooks/transformer/mha.py": b"raise NotImplementedError\n",
    "notebooks/transformer/pe.py": b"raise NotImplementedError\n",
    "notebooks/transformer/1_mha.ipynb": b"{}",
}
SECOND = {**FIRST, "course/text.py": b"a = 2\n", "course/new.py": b"n = 1\n"} | {
    name: data + b"# corrected\n" for name, data in FIRST.items() if name.startswith("notebooks") or name == "grade.py"
}


def packed(files: dict[str, bytes], path: Path, name: str = "transformer", **more: bytes) -> Path:
    record = {"assignment": name, "files": {name: digest(data, name) for name, data in files.items()}}
    with zipfile.ZipFile(path, "w") as archive:
        for file, data in {**files, RECORD: json.dumps(record).encode(), **more}.items():
            archive.writestr(f"{TOP}/{file}", data)
    return path


@pytest.fixture
def student(tmp_path) -> Path:
    with zipfile.ZipFile(packed(FIRST, tmp_path / "first.zip")) as archive:
        archive.extractall(tmp_path)
    return tmp_path / TOP


def test_own_work_stays(student, tmp_path, monkeypatch, capsys):
    own = {
        "notebooks/transformer/mha.py": b"class MultiHeadAttention: ...\n",
        "notebooks/transformer/1_mha.ipynb": b'{"cells": [1]}',
        "notebooks/transformer/scratch.py": b"mine",
        "notes.txt": b"mine",
        "grade.py": b"print('changed by me')\n",
    }
    for name, data in own.items():
        (student / name).write_bytes(data)
    handout = packed(SECOND, tmp_path / "second.zip")
    monkeypatch.setattr(update, "course_folder", lambda: student)
    monkeypatch.setattr(update.update, "__defaults__", (student,))
    assert update.main([str(handout)]) == 0
    said = capsys.readouterr().out
    for name in ("notebooks/transformer/mha.py", "notebooks/transformer/1_mha.ipynb", "notes.txt"):
        assert (student / name).read_bytes() == own[name]
    assert (student / "notebooks/transformer/scratch.py").read_bytes() == b"mine"
    for name in ("course/text.py", "course/new.py", "notebooks/transformer/pe.py", "grade.py"):
        assert (student / name).read_bytes() == SECOND[name]
    beside = student / "notebooks" / "transformer"
    assert (beside / "mha.new.py").read_bytes() == SECOND["notebooks/transformer/mha.py"]
    assert (beside / "1_mha.new.ipynb").read_bytes() == SECOND["notebooks/transformer/1_mha.ipynb"]
    assert (student / "grade.yours.py").read_bytes() == own["grade.py"]
    assert "Your notebooks/transformer/mha.py was kept; the new version is beside it as mha.new.py." in said
    assert "You had changed grade.py; it was replaced, and your version is beside it as grade.yours.py." in said
    assert "reload them, and restart their kernels" in said
    assert "pip install" not in said
    assert not list(student.rglob("*.partial"))
    # Once more changes nothing, own work included.
    before = {path: path.read_bytes() for path in student.rglob("*") if path.is_file()}
    assert update.main([str(handout)]) == 0
    assert {path: path.read_bytes() for path in student.rglob("*") if path.is_file()} == before


def test_what_is_not_corrected_is_left_alone(student, tmp_path):
    """A module that was written or a notebook that was run gets no copy beside it when nothing is new in it."""
    cell: dict[str, Any] = {"cell_type": "code", "source": ["1 + 1"], "outputs": [], "execution_count": None}
    notebook = {"cells": [cell]}
    as_given = {**FIRST, "notebooks/transformer/2_pe.ipynb": json.dumps(notebook).encode()}
    update.update(update.read_handout(packed(as_given, tmp_path / "first.zip")), student)
    cell |= {"outputs": [{"text": "2"}], "execution_count": 7, "source": "1 + 1"}
    own = {
        "notebooks/transformer/2_pe.ipynb": json.dumps(notebook).encode(),
        "notebooks/transformer/mha.py": b"class MultiHeadAttention: ...\n",
    }
    for name, data in own.items():
        (student / name).write_bytes(data)
    done = update.update(update.read_handout(packed({**as_given, "grade.py": b"new"}, tmp_path / "x.zip")), student)
    assert done.beside == {}
    assert done.saved == {}
    assert {name: (student / name).read_bytes() for name in own} == own
    # A correction of a notebook that was only run takes its place.
    corrected = {**as_given, "notebooks/transformer/2_pe.ipynb": b'{"cells": []}'}
    done = update.update(update.read_handout(packed(corrected, tmp_path / "y.zip")), student)
    assert done.beside == {}
    assert (student / "notebooks/transformer/2_pe.ipynb").read_bytes() == b'{"cells": []}'


def test_without_a_record_all_that_differs_in_notebooks_is_own_work(student, tmp_path):
    (student / RECORD).unlink()
    done = update.update(update.read_handout(packed(SECOND, tmp_path / "second.zip")), student)
    assert set(done.beside) == {name for name in SECOND if name.startswith("notebooks")}
    assert done.saved == {}


def test_other_line_ends_are_no_change(student, tmp_path):
    path = student / "notebooks/transformer/pe.py"
    path.write_bytes(FIRST["notebooks/transformer/pe.py"].replace(b"\n", b"\r\n"))
    assert update.update(update.read_handout(packed(SECOND, tmp_path / "x.zip")), student).beside == {}


@pytest.mark.parametrize(
    ("name", "files", "more", "said"),
    [
        ("variants", FIRST, {}, "is the handout of variants, which is not here"),
        ("transformer", {"a.py": b"x"}, {}, "is not a handout of this course"),
        ("transformer", FIRST, {"../../evil.py": b"x"}, "contains a file that a handout does not have"),
    ],
)
def test_what_is_no_handout_is_refused(student, tmp_path, name, files, more, said):
    before = sorted(student.rglob("*"))
    with pytest.raises(UserError, match=said):
        update.update(update.read_handout(packed(files, tmp_path / "x.zip", name, **more)), student)
    assert sorted(student.rglob("*")) == before
    assert not (tmp_path / "evil.py").exists()


def test_a_damaged_archive_and_the_whole_project_are_refused(student, tmp_path):
    (tmp_path / "x.zip").write_bytes(b"PK")
    with pytest.raises(UserError, match=r"x\.zip is not a zip file"):
        update.read_handout(tmp_path / "x.zip")
    shutil.copytree(student / "course", student / "solutions")
    with pytest.raises(UserError, match="update it with git"):
        update.update(update.read_handout(packed(SECOND, tmp_path / "y.zip")), student)

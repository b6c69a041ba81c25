"""`nbgrader zip_collect` collects every layout of a download, and names the students whose work it left out."""

import io
import shutil
import zipfile
from pathlib import Path

import pytest

from autograder.authoring.nbgrader_collect import Download
from autograder.gradebooks.moodle import name_in, number_in
from autograder.submissions.pack import pack
from autograder.submissions.read_submission import read_submission
from tests.support.nbgrading import ASSIGNMENT, NAME, ROOT, SOLUTIONS, Course

OTHERS = ("class/other/mha.py", "class/another/mha.py")  # so that the folder around them is a class


def extracted(folder: Path, *paths: str) -> Download:
    for path in paths:
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(path, encoding="utf-8")
    return Download(folder, ASSIGNMENT)


def ids(download: Download) -> dict[str, tuple[str, str]]:
    """The student and the name of each collected file."""
    return {
        path.relative_to(download.folder).as_posix(): (given["student_id"], given["file_id"])
        for path, given in download.collected.items()
    }


@pytest.mark.parametrize(
    ("path", "student", "file"),
    [
        ("class/anna/mha.py", "anna", "mha.py"),
        ("class/anna/transformer/1_mha.ipynb", "anna", "1_mha.ipynb"),
        ("class/Frank Oz_11_assignsubmission_file_/mha.py", "Frank Oz_11", "mha.py"),
        ("class/Frank Oz_11_assignsubmission_file/transformer/pe.py", "Frank Oz_11", "pe.py"),
        ("Frank Oz_11_assignsubmission_file_/transformer/pe.py", "Frank Oz_11", "pe.py"),
        ("class/Frank Oz_11_assignsubmission_file_/transformer/transformer/pe.py", "Frank Oz_11", "pe.py"),
        ("class/Frank Oz_11_assignsubmission_file_transformer/transformer/pe.py", "Frank Oz_11", "pe.py"),
        ("class/Eve_12_assignsubmission_file_/Sub/pe.py", "Eve_12", "pe.py"),
        ("class/ida/hw/pe.py", "ida", "pe.py"),
        ("class/ida/hw/transformer/pe.py", "ida", "pe.py"),
        ("class/kim/notebooks/transformer/pe.py", "kim", "pe.py"),
        ("class/gus/pe (1).py", "gus", "pe.py"),
        ("class/gus/2_pe-3 (2).ipynb", "gus", "2_pe.ipynb"),
        ("anna/mha.py", "anna", "mha.py"),
        ("anna/transformer/mha.py", "anna", "mha.py"),
        ("anna/notebooks/transformer/mha.py", "anna", "mha.py"),
        ("transformer/anna/mha.py", "anna", "mha.py"),
    ],
)
def test_whose_a_file_is(tmp_path, path, student, file):
    """Alone in the download and beside others."""
    assert ids(extracted(tmp_path / "alone", path)) == {path: (student, file)}
    if path.startswith("class/"):
        download = extracted(tmp_path / "class", path, *OTHERS)
        assert ids(download)[path] == (student, file)
        assert {name for name, _ in ids(download).values()} == {student, "other", "another"}
        assert download.missed == {}


def test_archives_for_each_student_and_several_classes(tmp_path):
    found = ids(extracted(tmp_path / "students", "anna/work/pe.py", "ben/pe.py", "cleo/work/transformer/pe.py"))
    assert {student for student, _ in found.values()} == {"anna", "ben", "cleo"}
    around = ids(extracted(tmp_path / "around", "download/transformer/anna/pe.py", "download/transformer/ben/a/pe.py"))
    assert {student for student, _ in around.values()} == {"anna", "ben"}
    days = extracted(tmp_path / "days", "monday/anna/pe.py", "monday/ben/pe.py", "late/pe.py")
    assert {student for student, _ in ids(days).values()} == {"anna", "ben", "late"}


def test_one_version_of_a_file_counts(tmp_path):
    paths = (
        *("class/anna/pe.py", "class/anna/pe (1).py", "class/anna/old.zip", "class/anna/old/transformer/pe.py"),
        *("class/ben/pe (1).py", "class/ben/pe (2).py", "class/ben/__MACOSX/pe.py", "class/ben/.x/pe.py"),
        *("class/cleo/mha.py", "class/cleo/pe.py", "class/cleo/copy/pe.py", "class/cleo/copy/2_pe.ipynb"),
        *("class/dan/pe.py", "class/dan/transformer/pe.py"),
    )
    download = extracted(tmp_path, *paths)
    assert set(ids(download)) == {
        *("class/anna/pe.py", "class/ben/pe (2).py"),
        *("class/cleo/mha.py", "class/cleo/pe.py", "class/cleo/copy/2_pe.ipynb"),
        "class/dan/transformer/pe.py",
    }
    assert download.missed == {}


def test_changed_modules_count_and_not_the_course_around_them(tmp_path):
    """A copy of the handout lies beside the student's work, or around it."""
    for student in ("ida", "kim"):
        shutil.copytree(ROOT / "notebooks" / NAME, tmp_path / "class" / student / "notebooks" / NAME)
    standins = "class/kim/autograder/assignments/transformer/standins/pe.py"
    found = ids(extracted(tmp_path, "class/ida/work/pe.py", standins, *OTHERS))
    assert "class/ida/work/pe.py" in found
    assert "class/ida/notebooks/transformer/pe.py" not in found
    assert "class/kim/notebooks/transformer/pe.py" in found
    assert standins not in found


def test_who_is_not_collected_is_named_with_the_reason(tmp_path):
    (tmp_path / "class" / "empty").mkdir(parents=True)
    extracted(tmp_path, "class/engine/autograder/assignments/transformer/standins/pe.py")
    paths = (
        *("class/anna/first/pe.py", "class/anna/second/pe.py", "class/ben/PE.py", "class/dan.rar", "class/fay.zip"),
        *("class/fay/pe.py", "class/gus_101_9001_pe.py", "class/index.html", "class/__MACOSX/._fay.py"),
        *("class/Eve_12_assignsubmission_file_/pe.py", "class/Eve_12_assignsubmission_onlinetext_/onlinetext.html"),
        *("late/hal/pe.py", "late/ida/pe.py", "class/hal/pe.py", "transformer/transformer/pe.py"),
    )
    download = extracted(tmp_path, *paths)
    assert {student for student, _ in ids(download).values()} == {"Eve_12", "fay", "ida"}
    nothing = "none of the files of transformer is there"
    assert download.missed == {
        "anna": "there are modules in several folders (class/anna/first, class/anna/second)",
        "ben": nothing,
        "empty": nothing,
        "engine": nothing,
        "class/dan.rar": "neither a folder nor a zip file of a student",
        "class/gus_101_9001_pe.py": "neither a folder nor a zip file of a student",
        "hal": "it is there several times (class/hal, late/hal)",
        "transformer": "the folder is named after an assignment, not after a student",
    }


def test_the_ids_of_moodle_lead_back_to_moodle():
    for name in ("Frank Oz_11", "Frank Oz_11_assignsubmission_file_"):
        assert (name_in(name), number_in(name)) == ("Frank Oz", "11")
    assert number_in("anna") == ""


def zip_of(**files: bytes) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return data.getvalue()


def test_the_command_collects_every_layout_and_names_the_others_last(tmp_path):
    course = Course(tmp_path)
    handed_in = tmp_path / "handed_in.zip"
    pack(read_submission(SOLUTIONS, ASSIGNMENT), ASSIGNMENT, handed_in)
    pe = (SOLUTIONS / "pe.py").read_bytes()
    download = {
        "Frank Oz_11_assignsubmission_file_/transformer.zip": handed_in.read_bytes(),
        "Eve_12_assignsubmission_file_/Sub/pe.py": pe,
        "ida/hw.zip": zip_of(**{"pe.py": pe}),
        "kim/notebooks/transformer/pe.py": pe,
        "gus/pe (1).py": pe,
        "lou.ZIP": zip_of(**{"pe.py": pe}),
        "ben/report.pdf": b"",
        "zoe.rar": b"",
    }
    archive = tmp_path / "downloaded" / NAME / "archive" / "class.zip"
    archive.parent.mkdir(parents=True)
    archive.write_bytes(zip_of(**download))
    log = course.nbgrader("zip_collect", NAME)
    collected = {path.name for path in (tmp_path / "submitted").iterdir()}
    assert collected == {"Frank Oz_11", "Eve_12", "ida", "kim", "gus", "lou"}
    for student in collected:
        assert (course.submitted(student) / "pe.py").read_bytes() == pe
    assert {path.name for path in course.submitted("Frank Oz_11").iterdir()} == {
        f"{module}.py" for module in ASSIGNMENT.modules
    }
    _, warning, names = log.partition("WARNING: nbgrader zip_collect has not collected 2 submissions in ")
    assert warning
    assert [line.strip() for line in names.splitlines()[1:]] == [
        "ben: none of the files of transformer is there",
        "class/zoe.rar: neither a folder nor a zip file of a student",
        "Put the files into submitted/STUDENT/transformer.",
    ]

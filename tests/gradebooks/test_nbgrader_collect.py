"""`nbgrader zip_collect` collects every layout of a download, and names the students whose work it left out."""

import io
import shutil
import zipfile
from pathlib import Path

import pytest

from autograder.authoring.nbgrader_collect import extract
from autograder.gradebooks.moodle import name_in, number_in
from autograder.submissions.pack import pack
from autograder.submissions.read_submission import read_submission
from tests.support.nbgrading import ASSIGNMENT, NAME, ROOT, SOLUTIONS, Course


def zip_of(**files: bytes) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return data.getvalue()


def extracted(folder: Path, *paths: str) -> tuple[dict[str, str], dict[str, str]]:
    """For a download with these files, each extracted file with the path that it came from; what is missed, and why."""
    for path in paths:
        file = folder / "archive" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(path, encoding="utf-8")
    (folder / "extracted").mkdir()
    missed = extract(folder / "archive", folder / "extracted", ASSIGNMENT)
    found = (folder / "extracted").rglob("*.*")
    return {path.relative_to(folder / "extracted").as_posix(): path.read_text("utf-8") for path in found}, missed


@pytest.mark.parametrize(
    ("path", "file"),
    [
        ("anna/mha.py", "anna/mha.py"),
        ("anna/transformer/1_mha.ipynb", "anna/1_mha.ipynb"),
        ("Frank Oz_11_assignsubmission_file_/mha.py", "Frank Oz_11/mha.py"),
        ("Frank Oz_11_assignsubmission_file/transformer/pe.py", "Frank Oz_11/pe.py"),
        ("Frank Oz_11_assignsubmission_file_/transformer/transformer/pe.py", "Frank Oz_11/pe.py"),
        ("Eve_12_assignsubmission_file_/Sub/pe.py", "Eve_12/pe.py"),
        ("ida/hw/transformer/pe.py", "ida/pe.py"),
        ("kim/notebooks/transformer/pe.py", "kim/pe.py"),
        ("gus/pe (1).py", "gus/pe.py"),
        ("gus/2_pe-3 (2).ipynb", "gus/2_pe.ipynb"),
        ("oz_11_9001_pe.py", "oz_11/pe.py"),
    ],
)
@pytest.mark.parametrize("around", ["", "class/"])
def test_whose_a_file_is(tmp_path, path, file, around):
    found, missed = extracted(tmp_path, around + path, f"{around}other/mha.py", f"{around}another/mha.py")
    assert found == {
        file: around + path,
        "other/mha.py": f"{around}other/mha.py",
        "another/mha.py": found["another/mha.py"],
    }
    assert missed == {}


def test_one_version_of_a_file_counts(tmp_path):
    paths = (
        *("anna/pe.py", "anna/pe (1).py", "anna/old.zip", "ben/pe (1).py", "ben/pe (2).py", "ben/__MACOSX/pe.py"),
        *("cleo/mha.py", "cleo/pe.py", "cleo/copy/pe.py", "cleo/copy/2_pe.ipynb", "dan/pe.py", "dan/transformer/pe.py"),
        *("eve/a/pe.py", "eve/a/2_pe.ipynb", "eve/2_pe.ipynb", "eve/2_pe (3).ipynb"),
    )
    found, missed = extracted(tmp_path, *paths)
    assert found == {
        "anna/pe.py": "anna/pe.py",
        "ben/pe.py": "ben/pe (2).py",
        "cleo/mha.py": "cleo/mha.py",
        "cleo/pe.py": "cleo/pe.py",
        "cleo/2_pe.ipynb": "cleo/copy/2_pe.ipynb",
        "dan/pe.py": "dan/transformer/pe.py",
        "eve/pe.py": "eve/a/pe.py",
        "eve/2_pe.ipynb": "eve/a/2_pe.ipynb",
    }
    assert missed == {}


def test_changed_modules_count_and_not_the_course_around_them(tmp_path):
    """A copy of the handout lies beside the student's work, or around it."""
    for student in ("ida", "kim"):
        shutil.copytree(ROOT / "notebooks" / NAME, tmp_path / "archive" / student / "notebooks" / NAME)
    standins = Path("autograder", "assignments", NAME, "standins")
    shutil.copytree(ROOT / standins, tmp_path / "archive" / "kim" / standins)
    found, _ = extracted(tmp_path, "ida/work/pe.py")
    assert found["ida/pe.py"] == "ida/work/pe.py"
    assert found["kim/pe.py"] == (ROOT / "notebooks" / NAME / "pe.py").read_text(encoding="utf-8")


def test_what_is_not_collected_is_named_with_the_reason(tmp_path):
    (tmp_path / "archive" / "empty").mkdir(parents=True)
    paths = (
        *("anna/first/pe.py", "anna/second/pe.py", "ben/PE.py", "dan.rar", "fay/pe.py", "index.html", "pe.py"),
        *("Eve_12_assignsubmission_file_/pe.py", "Eve_12_assignsubmission_onlinetext_/onlinetext.html"),
    )
    found, missed = extracted(tmp_path, *paths)
    assert set(found) == {"fay/pe.py", "Eve_12/pe.py"}
    assert sorted(missed) == ["anna", "ben", "dan", "empty", "index.html", "pe.py"]
    assert missed["anna"] == "there are modules in several folders (first, second): hand in only one of them"
    assert missed["empty"] == "nothing was handed in"


def test_no_name_leads_out_of_the_folder_and_none_ends_the_command(tmp_path):
    names = (
        "transformer-../pe.py",
        "transformer-./pe.py",
        f"{chr(0x1F600) * 75}/pe.py",
        "transformer-anna/pe.py",
        "transformer-ben/mha.py",
    )
    archive = tmp_path / "archive" / "class.zip"
    archive.parent.mkdir()
    archive.write_bytes(zip_of(**dict.fromkeys(names, b"x = 1"), **{"transformer-ben/pe.py": bytes(5_000_000)}))
    (tmp_path / "extracted").mkdir()
    missed = extract(archive.parent, tmp_path / "extracted", ASSIGNMENT)
    found = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.py")}
    assert found == {f"extracted/transformer-{name}" for name in ("../pe.py", "./pe.py", "anna/pe.py", "ben/mha.py")}
    assert sorted(missed) == ["transformer-ben/pe.py", chr(0x1F600) * 75]


def test_the_ids_of_moodle_lead_back_to_moodle():
    for name in ("Frank Oz_11", "Frank Oz_11_assignsubmission_file_"):
        assert (name_in(name), number_in(name)) == ("Frank Oz", "11")
    assert number_in("anna") == ""


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
    _, warning, names = log.partition("WARNING: nbgrader zip_collect has not collected:\n")
    assert warning
    assert [line.strip().partition(":")[0] for line in names.splitlines()] == [
        "ben",
        "zoe",
        "Put the files into submitted/STUDENT/transformer.",
    ]

"""Attacks on those who grade a class: names of folders, links, texts in notebooks, files beside the modules."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from autograder.__main__ import main as grade
from autograder.classroom.batch import main as batch
from autograder.forbidden.findings import MAX_FINDINGS
from autograder.grading.forbidden_parts import check_submission
from autograder.grading.results import TestResult
from autograder.grading.text_budget import within_budget
from autograder.manifest import assignment
from autograder.reports.write_files import harmless
from autograder.submissions.find_submissions import find_submissions
from autograder.submissions.read_submission import Submission, read_submission
from course.errors import UserError, run_command
from tests.support.archives import zipped
from tests.support.nbgrading import NAME, Course

ASSIGNMENT = assignment("transformer")
ROOT = Path(__file__).resolve().parent.parent.parent


def hand_in(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "pe.py").write_text("", encoding="utf-8")


@pytest.mark.parametrize("name", ["filelock", "rich", "numpy"])
def test_a_folder_of_a_student_is_no_package(name, tmp_path):
    """`python -m autograder batch .` has the current folder in front of everything that it imports."""
    submissions, opened = tmp_path / "submissions", tmp_path / "opened"
    hand_in(submissions / name)
    (submissions / name / "__init__.py").write_text(f"open({str(opened)!r}, 'w')", encoding="utf-8")
    command = [sys.executable, "-m", "autograder", "batch", ".", "--out", str(tmp_path / "out"), "--visible-only"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    environment.pop("PYTHONSAFEPATH", None)
    done = subprocess.run(command, cwd=submissions, env=environment, capture_output=True, text=True)
    assert not opened.exists(), done.stderr
    assert done.returncode == 0, done.stderr


def test_a_student_with_the_name_of_the_assignment_does_not_swallow_the_class(tmp_path):
    for student in ("anna", "transformer", "zoe"):
        hand_in(tmp_path / student)
    assert [one.student for one in find_submissions(tmp_path, ASSIGNMENT)] == ["anna", "transformer", "zoe"]
    # What one student handed in may lie in a folder with the name of the assignment, others beside it.
    hand_in(tmp_path / "anna" / "transformer")
    (tmp_path / "anna" / "pe.py").unlink()
    (tmp_path / "anna" / "notes").mkdir()
    assert [one.student for one in find_submissions(tmp_path / "anna", ASSIGNMENT)] == ["anna"]


def test_nor_in_a_download(tmp_path):
    path = tmp_path / "class.zip"
    path.write_bytes(zipped({f"{student}/pe.py": "" for student in ("anna", "transformer", "zoe")}))
    assert [one.student for one in find_submissions(path, ASSIGNMENT)] == ["anna", "transformer", "zoe"]


FORMULAS = ["=1+1", "x;=1+1", 'x;"=1+1', "x;\t@SUM(A1)", "x|+1", "x,-1", "x\n=1"]


@pytest.mark.parametrize("text", FORMULAS)
def test_no_cell_is_a_formula_for_a_reader_that_splits_elsewhere(text):
    for delimiter in ";|,\t\n":
        for cell in harmless(text).split(delimiter):
            assert cell.strip(" \t\"'")[:1] not in ("=", "+", "-", "@") or "'" in cell


def test_escape_sequences_in_the_name_of_a_folder_do_not_reach_the_console(tmp_path, capsys):
    folder = tmp_path / "\x1b[2Janna"
    hand_in(folder)

    def fail() -> int:
        raise UserError(f"there is no folder {folder}")

    assert run_command(fail) == 2
    refused = capsys.readouterr()
    grade(["pe", "--submission", str(folder)])
    graded = capsys.readouterr()
    batch([str(tmp_path), "--out", str(tmp_path.parent / "out"), "--visible-only", "--jobs", "1", "--unconfined"])
    printed = capsys.readouterr()
    for text in (*refused, *graded, *printed):
        assert "\x1b[2J" not in text
    assert "anna" in graded.out.replace("\n", "")  # a long path is broken


def test_no_null_is_left_in_a_result():
    found = TestResult("pe", "test", "title", "failed", 0, 1, "a\0b", ("a\0",), printed="\0" * 5)
    result = within_budget(found)
    assert "\0" not in "".join((result.message, *result.details, result.printed))
    assert result.printed


def test_notes_that_are_cut_do_not_hide_the_others(workers):
    flood = "".join(f"x{number}.__reduce__\n" for number in range(3 * MAX_FINDINGS))
    sources = read_submission(ASSIGNMENT.solution, ASSIGNMENT).sources
    text = "\nif False:\n    " + flood.replace("\n", "\n    ") + "\n    import os\n"
    found = check_submission(Submission("", {**sources, "pe": sources["pe"] + text}), ASSIGNMENT, workers)
    assert any("os is imported" in note for note in found.review)
    assert any("more places to look at" in note for note in found.review)
    assert len(found.review) <= MAX_FINDINGS + 1


SCRIPT = "<script>alert(7)</script> <img src=x onerror=alert(7)> <details>"


@pytest.mark.slow
def test_nbgrader_neither_follows_links_nor_shows_scripts(tmp_path):
    """A link that was handed in leads to the solution; a script in a text would run in the grader's browser."""
    import nbformat

    course = Course(tmp_path)
    course.nbgrader_all(["generate_assignment", NAME])
    for student in ("linked", "folder", "script"):
        course.hand_in(course.submitted(student), ROOT / "notebooks" / NAME)
    solution = course.folder / "solutions" / NAME
    module = course.submitted("linked") / "pe.py"
    module.unlink()
    module.symlink_to(solution / "pe.py")
    notebook = course.submitted("linked") / "2_pe.ipynb"
    notebook.unlink()
    notebook.symlink_to(solution / "2_pe.ipynb")
    folder = course.submitted("folder")
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(solution)
    path = course.submitted("script") / "2_pe.ipynb"
    written = nbformat.read(path, as_version=4)
    written.cells.insert(0, nbformat.v4.new_markdown_cell(SCRIPT))
    written.cells.insert(0, nbformat.v4.new_raw_cell(SCRIPT))
    nbformat.write(written, path)
    course.nbgrader_all(["autograde", NAME, "--notebook=2_pe"], ["generate_feedback", NAME, "--notebook=2_pe"])
    assert {student: grades["pe"] for student, grades in course.scores().items()} == dict.fromkeys(
        ("linked", "folder", "script"), 0
    )
    text = (solution / "2_pe.ipynb").read_text(encoding="utf-8")
    assert "logspace" in text or "torch.exp" in text or "sin" in text
    for student in ("linked", "folder", "script"):
        page = (course.folder / "feedback" / student / NAME / "2_pe.html").read_text(encoding="utf-8")
        assert "alert(7)" in page or student != "script"
        assert "<script>alert" not in page
        assert "<img src=x" not in page

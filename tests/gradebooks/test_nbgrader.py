"""nbgrader from end to end with its own commands, and each of its traps. The long ones: `-m slow`."""

import contextlib
import json
import os
import random
import shutil
import subprocess
import sys
import threading
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from autograder.grading.results import from_json
from autograder.sandbox.confine import unsupported
from tests.authoring.test_release import shown_lines, solution_lines
from tests.support.nbgrading import ASSIGNMENT, MASK, NAME, NOISE, ROOT, SOLUTIONS, Course, change_notebook, code_in
from tests.support.notebook_edits import edited
from tests.support.pages import text_of
from tests.support.worth import FULL, TOTAL, WRONG_MASK, WRONG_MASK_HINT, of

EDITED = ["edited-1", "edited-2"]  # stubs, and notebooks with random edits
HIDDEN = "### BEGIN HIDDEN TESTS\nassert 'what nobody sees'\n### END HIDDEN TESTS\n\n"


@dataclass(frozen=True)
class Cycle:
    """A class that has gone through the first notebook."""

    course: Course
    exported: dict[str, dict[str, str]]
    opened: Path  # made by hostile code that ran where it must not

    @property
    def points(self) -> dict[str, tuple[float | None, bool]]:
        return {student: grades["mha"] for student, grades in self.course.grades().items()}

    def page(self, student: str) -> str:
        return (self.course.folder / "feedback" / student / NAME / "1_mha.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def cycle(tmp_path_factory) -> Cycle:
    """Released, collected from a download and from folders, graded, with feedback, and exported."""
    course = Course(tmp_path_factory.mktemp("course"))
    change_notebook(course.folder / "solutions" / NAME / "1_mha.ipynb", add_hidden_test)
    course.nbgrader_all(["generate_assignment", NAME])
    work, opened = tmp_path_factory.mktemp("students"), course.folder / "opened"
    partial = course.hand_in(work / "partial", mha=MASK)
    module = partial / "mha.py"
    module.write_text(NOISE + module.read_text(encoding="utf-8"), encoding="utf-8")
    (partial / "numpy.py").write_text("raise ImportError", encoding="utf-8")
    change_notebook(partial / "1_mha.ipynb", damage_metadata)
    (course.hand_in(work / "broken" / NAME) / "1_mha.ipynb").write_text('{"cells": [', encoding="utf-8")
    # A download of the class is one zip file, with a folder or a zip file for each student.
    shutil.make_archive(str(work / "broken"), "zip", work / "broken")
    archive = course.folder / "downloaded" / NAME / "archive" / "download.zip"
    archive.parent.mkdir(parents=True)
    with zipfile.ZipFile(archive, "w") as download:
        for path in partial.iterdir():
            download.write(path, f"partial/{path.name}")
        download.write(work / "broken.zip", "broken.zip")
    make_hostile(course.hand_in(course.submitted("hostile"), ROOT / "notebooks" / NAME), opened)
    for student in EDITED:
        edit(course.hand_in(course.submitted(student), ROOT / "notebooks" / NAME) / "1_mha.ipynb", student)
    course.nbgrader_all(
        ["zip_collect", NAME],
        ["autograde", NAME, "--notebook=1_mha"],
        ["generate_feedback", NAME, "--notebook=1_mha"],
        ["export", "--to=exported.csv"],
    )
    return Cycle(course, course.read_export(), opened)


def add_hidden_test(notebook, cell):
    cell["source"] = "".join(cell["source"]).replace("check(", HIDDEN + "check(")


def make_hostile(folder: Path, opened: Path) -> None:
    """Stubs, and everything else that could bring points: files that Python would import, cells of one's own."""
    if not unsupported():  # elsewhere nbgrader runs the modules unconfined
        module = folder / "mha.py"
        text = module.read_text(encoding="utf-8")
        module.write_text(f"try:\n    open({str(opened)!r}, 'w')\nexcept OSError:\n    pass\n{text}", encoding="utf-8")
    attack = f"open({str(opened)!r}, 'w')\nimport course\ncourse.check = lambda stage: 30.0\n"
    (folder / "numpy.py").write_text(attack, encoding="utf-8")
    (folder / "torch").mkdir()
    (folder / "torch" / "__init__.py").write_text(attack, encoding="utf-8")

    def replace_the_cell(notebook, cell):
        notebook["cells"].remove(cell)
        own_grade = {"nbgrader": {**cell["metadata"]["nbgrader"], "grade_id": "another"}}
        code: dict[str, Any] = {"cell_type": "code", "execution_count": None, "outputs": [], "source": attack + "30.0"}
        notebook["cells"].insert(0, {**code, "id": "attack", "metadata": {}})
        notebook["cells"].append({**code, "id": "own-grade", "metadata": own_grade})

    change_notebook(folder / "1_mha.ipynb", replace_the_cell)


def edit(path: Path, student: str) -> None:
    """Edit a notebook at random."""
    release = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(edited(release, random.Random(student), 8), encoding="utf-8", errors="surrogatepass")


def damage_metadata(notebook, cell):
    """As another version of nbgrader and an impatient student leave a grade cell."""
    cell["source"] = "30.0"
    cell["metadata"]["nbgrader"] |= {"schema_version": 1, "points": 1000, "locked": False, "extra": [1]}
    cell["metadata"]["tags"] = ["skip-execution"]  # nbclient would not run it, and nbgrader give all points
    notebook["cells"].append({**cell, "id": "copy", "metadata": {"nbgrader": {"grade": True}, "tags": ["raises"]}})
    text = {"cell_type": "markdown", "id": "half", "metadata": {}, "source": "# half an emoji: \ud83d!"}
    code = {**text, "cell_type": "code", "id": "half-2", "outputs": [], "execution_count": None}
    notebook["cells"] += [text, code]


def test_points_are_exact_whatever_stands_in_the_notebook(cycle):
    """The points of the tests that pass, in spite of warnings and a damaged cell; all with a broken notebook."""
    expected = {"broken": FULL["mha"], "hostile": 0.0, "partial": WRONG_MASK, **dict.fromkeys(EDITED, 0.0)}
    assert cycle.points == {student: (points, False) for student, points in expected.items()}
    exported = {student: (float(row["score"]), float(row["max_score"])) for student, row in cycle.exported.items()}
    assert exported == {student: (points, TOTAL) for student, points in expected.items()}


def test_a_submission_cannot_reach_the_process_that_grades_it(cycle):
    assert not cycle.opened.exists()
    assert cycle.points["hostile"] == (0, False)


def test_a_download_is_collected_as_it_was_handed_in(cycle):
    expected = {f"{module}.py" for module in ASSIGNMENT.modules} | set(ASSIGNMENT.notebooks)
    for student in ("broken", "partial"):
        assert {path.name for path in cycle.course.submitted(student).iterdir()} == expected
    assert (cycle.course.submitted("broken") / "mha.py").read_bytes() == (SOLUTIONS / "mha.py").read_bytes()


def test_neither_release_nor_feedback_show_hidden_tests_or_solutions(cycle):
    hidden, folder = "what nobody sees", cycle.course.folder
    assert hidden in (folder / "solutions" / NAME / "1_mha.ipynb").read_text(encoding="utf-8")
    assert hidden in (folder / "autograded" / "partial" / NAME / "1_mha.ipynb").read_text(encoding="utf-8")
    secrets = solution_lines()
    for path in (folder / "notebooks" / NAME).iterdir():
        assert hidden not in path.read_text(encoding="utf-8")
        assert not shown_lines(path) & secrets
    for student in ("broken", "hostile", "partial"):
        lines = code_in(cycle.page(student))
        assert 'check("mha")' in lines
        assert not [line for line in lines if hidden in line]
        submitted = folder / "submitted" / student / NAME
        own = {
            line.strip() for path in submitted.glob("*.py") for line in path.read_text("utf-8", "replace").split("\n")
        }
        assert not (lines - own) & secrets  # a verdict shows the student's own lines


def test_feedback_says_what_is_wrong(cycle):
    page = text_of(cycle.page("partial"))
    assert f"{of(WRONG_MASK, FULL['mha'])} points" in page
    assert WRONG_MASK_HINT in page
    assert page.count("half an emoji: \ufffd!") == 2
    assert "The notebook that was handed in cannot be read" in text_of(cycle.page("broken"))
    assert f"{of(0, FULL['mha'])} points" in text_of(cycle.page("hostile"))


# What takes longer


def released(folder: Path, **environment: str) -> Course:
    course = Course(folder, **environment)
    course.nbgrader("generate_assignment", NAME)
    return course


def without_the_cell(notebook, cell):
    notebook["cells"].remove(cell)


def without_metadata(notebook, cell):
    cell["metadata"] = {}


def twice(notebook, cell):
    notebook["cells"].insert(0, {**cell, "id": "first", "source": "0.0"})


def as_text(notebook, cell):
    cell["cell_type"] = "markdown"
    del cell["outputs"], cell["execution_count"]


def from_the_future(notebook, cell):
    cell["metadata"]["nbgrader"]["schema_version"] = 99


def no_identity(notebook, cell):
    del cell["metadata"]["nbgrader"]["grade_id"]


def no_object(notebook, cell):
    cell["metadata"]["nbgrader"] = ["grade"]


def other_kernel(notebook, cell):
    notebook["metadata"]["kernelspec"] = {"name": "nosuch", "display_name": "No such kernel"}


def a_cell_that_ends_the_kernel(notebook, cell):
    notebook["cells"].insert(0, {**cell, "id": "end", "metadata": {}, "source": "import os\nos._exit(1)"})


CHANGES = (
    *(without_the_cell, without_metadata, twice, as_text, from_the_future, no_identity, no_object, other_kernel),
    *(damage_metadata, a_cell_that_ends_the_kernel),
)
BROKEN = {
    "empty": b"",
    "list": b"[]",
    "object": b"{}",
    "latin": '{"cells": "ä"}'.encode("latin-1"),
    "no-source": b'{"cells": [{"cell_type": "code"}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}',
    "old": b'{"worksheets": [{"cells": []}], "metadata": {"name": "2_pe"}, "nbformat": 3, "nbformat_minor": 0}',
    "deep": b"[" * 100_000,
}


@pytest.mark.slow
def test_no_notebook_changes_the_grade(tmp_path):
    course = released(tmp_path)
    for change in CHANGES:
        change_notebook(course.hand_in(course.submitted(change.__name__)) / "2_pe.ipynb", change)
    for student, content in BROKEN.items():
        (course.hand_in(course.submitted(student)) / "2_pe.ipynb").write_bytes(content)
    course.nbgrader("autograde", NAME, "--notebook=2_pe")
    students = {*BROKEN, *(change.__name__ for change in CHANGES)}
    assert {student: grades["pe"] for student, grades in course.grades().items()} == dict.fromkeys(
        students, (FULL["pe"], False)
    )


@pytest.mark.slow
def test_nobody_gets_more_points_than_from_batch(tmp_path):
    """Random edits of the notebooks beside stubs, a mistake, and correct modules."""
    course = released(tmp_path)
    students = [f"edited-{number}" for number in range(12)]
    for number, student in enumerate(students):
        source = (ROOT / "notebooks" / NAME, SOLUTIONS)[number % 3 == 0]
        changes = {"pe": ("torch.sin", "torch.cos")} if number % 6 == 3 else {}
        edit(course.hand_in(course.submitted(student), source, **changes) / "2_pe.ipynb", student)
    course.nbgrader("autograde", NAME, "--notebook=2_pe")
    arguments = ("submitted", "--out", "graded", "--visible-only", *(["--unconfined"] if unsupported() else []))
    done = course.run("-m", "autograder", "batch", *arguments)
    assert done.returncode == 0, done.stderr
    scores = {student: stages["pe"] for student, stages in course.scores().items()}
    for student in students:
        entry = json.loads((course.folder / "graded" / "results" / f"{student}.json").read_text(encoding="utf-8"))
        (points,) = [stage.points for stage in from_json(entry["report"]).stages if stage.name == "pe"]
        assert scores[student] == points
    assert set(scores.values()) >= {0.0, FULL["pe"]}


@pytest.mark.slow
def test_a_kernel_that_dies_costs_that_student_only(tmp_path):
    """And costs no points: nbgrader reports the student, and waits for somebody to grade again."""
    psutil = pytest.importorskip("psutil")
    course = released(tmp_path)
    for student in ("before", "dies", "later"):
        course.hand_in(course.submitted(student))
    folder = course.folder / "autograded" / "dies" / NAME
    command = [sys.executable, "-m", "nbgrader", "autograde", NAME, "--notebook=2_pe"]
    grading = subprocess.Popen(command, cwd=tmp_path, env=course.environment, stderr=subprocess.PIPE, text=True)
    killed = threading.Thread(target=kill_the_kernel, args=(psutil, grading, folder))
    killed.start()
    _, log = grading.communicate(timeout=300)
    killed.join()
    assert grading.returncode == 1
    assert "DeadKernelError" in log
    assert "There was an error processing assignment 'transformer' for student 'dies'" in log
    grades = {student: stages["pe"] for student, stages in course.grades().items()}
    assert grades == {"before": (FULL["pe"], False), "dies": (None, True), "later": (FULL["pe"], False)}
    course.nbgrader("autograde", NAME, "--notebook=2_pe")
    assert course.scores()["dies"]["pe"] == FULL["pe"]


def kill_the_kernel(psutil: Any, grading: Any, folder: Path) -> None:
    """Kill the kernel that runs in a folder, while it grades."""
    while grading.poll() is None:
        with contextlib.suppress(psutil.Error):
            for child in psutil.Process(grading.pid).children():
                if "ipykernel_launcher" in child.cmdline() and child.cwd() == str(folder) and child.children():
                    child.kill()
                    return
        time.sleep(0.01)


@pytest.mark.slow
def test_a_stage_may_take_longer_than_nbgrader_allows_by_default(tmp_path):
    """Each test of the stage hangs until its own limit; together they take more than 30 seconds."""
    course = released(tmp_path)
    hang = "while True:\n            pass\n        scores = query @"
    course.hand_in(course.submitted("endless"), mha=("scores = query @", hang))
    started = time.monotonic()
    course.nbgrader("autograde", NAME, "--notebook=1_mha")
    assert time.monotonic() - started > 30
    projections = ASSIGNMENT.stage("mha").parts["test_mha_no_mask"]["projections"]  # the part that does not hang
    assert course.grades()["endless"]["mha"] == (projections, False)
    page = (course.folder / "autograded" / "endless" / NAME / "1_mha.ipynb").read_text(encoding="utf-8")
    assert "timed out" in page
    assert "CellTimeoutError" not in page


@pytest.mark.slow
def test_a_failure_of_the_grader_is_no_result(tmp_path):
    project = tmp_path / "project"
    for folder in ("autograder", "course", "checkpoints", "solutions"):
        shutil.copytree(ROOT / folder, project / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "course.toml", project)
    stored = project / "autograder" / "assignments" / NAME / "expected" / "pe.safetensors"
    whole = stored.read_bytes()
    (tmp_path / "course").mkdir()
    course = released(tmp_path / "course", PYTHONPATH=str(project))
    course.hand_in(course.submitted("student"))
    stored.write_bytes(whole[:100])
    log = course.nbgrader("autograde", NAME, "--notebook=2_pe", code=1)
    assert "not graded, because the grader failed" in log
    assert course.grades()["student"]["pe"] == (None, True)
    stored.write_bytes(whole)
    course.nbgrader("autograde", NAME, "--notebook=2_pe")
    assert course.grades()["student"]["pe"] == (FULL["pe"], False)


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="nbgrader has no exchange on Windows")
def test_students_fetch_and_submit_through_the_exchange(tmp_path):
    (tmp_path / "course").mkdir()
    (tmp_path / "exchange").mkdir(mode=0o777)
    (tmp_path / "home").mkdir()
    exchange = ["--course=term", f"--Exchange.root={tmp_path / 'exchange'}"]
    course = released(tmp_path / "course")
    (course.folder / "notebooks" / NAME / "__pycache__").mkdir()
    course.nbgrader("release_assignment", NAME, *exchange)
    course.nbgrader("fetch_assignment", NAME, *exchange, cwd=tmp_path / "home")
    work = tmp_path / "home" / NAME
    released_files = {path.name for path in (ROOT / "notebooks" / NAME).iterdir()} - {"__pycache__"}
    assert {path.name for path in work.iterdir()} == released_files
    course.nbgrader("submit", NAME, *exchange, "--student=student", cwd=tmp_path / "home")
    course.nbgrader("collect", NAME, *exchange)
    assert (course.submitted("student") / "pe.py").read_bytes() == (ROOT / "notebooks" / NAME / "pe.py").read_bytes()
    shutil.copy(SOLUTIONS / "pe.py", work)
    course.nbgrader("submit", NAME, *exchange, "--student=student", cwd=tmp_path / "home")
    course.nbgrader("collect", NAME, *exchange, "--update")
    assert (course.submitted("student") / "pe.py").read_bytes() == (SOLUTIONS / "pe.py").read_bytes()
    course.nbgrader("autograde", NAME, *exchange, "--notebook=2_pe")
    assert course.grades()["student"]["pe"] == (FULL["pe"], False)

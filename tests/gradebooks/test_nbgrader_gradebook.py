"""`batch --gradebook`: the confined grader's points in nbgrader's gradebook, in SQLite and in PostgreSQL."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from autograder.__main__ import main
from autograder.classroom import batch as batch_module
from autograder.classroom.job_processes import Outcome
from autograder.gradebooks.nbgrader import place_of, write_points
from autograder.grading.results import Report, StageResult, TestResult
from autograder.sandbox.confine import unsupported
from autograder.submissions.find_submissions import Found
from tests.support.nbgrading import ASSIGNMENT, MASK, NAME, ROOT, SOLUTIONS, STAGES, Course
from tests.support.worth import FULL, TOTAL, WRONG_MASK

CONFINED = ["--unconfined"] if unsupported() else []
STUBS = ROOT / "notebooks" / NAME
ZERO = dict.fromkeys((stage.name for stage in ASSIGNMENT.stages), 0.0)


@pytest.fixture
def course(tmp_path, monkeypatch) -> Course:
    """A course as the current folder, in whose gradebook the assignment stands."""
    return make_course(tmp_path, monkeypatch)


def make_course(folder: Path, monkeypatch: pytest.MonkeyPatch, **environment: str) -> Course:
    """Without nbgrader's command for the release, which takes long."""
    from nbgrader.api import Base, Gradebook
    from sqlalchemy import create_engine

    monkeypatch.chdir(folder)
    monkeypatch.setenv("JUPYTER_NO_CONFIG", "1")
    monkeypatch.delenv("NBGRADER_DB", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    course = Course(folder, **environment)
    engine = create_engine(course.database)
    Base.metadata.create_all(engine)
    engine.dispose()
    with Gradebook(course.database) as gradebook:
        gradebook.add_assignment(NAME, course_id="default_course")
        for notebook, stage in STAGES.items():
            gradebook.add_notebook(notebook, NAME)
            points = {"max_score": stage.max_points, "cell_type": "code"}
            gradebook.add_grade_cell(f"stage-{stage.name}", notebook, NAME, **points)
    return course


def batch(course: Course, *arguments: str) -> int:
    out = str(course.folder / "graded")
    return main(["batch", "submitted", "--out", out, "--visible-only", "--jobs", "1", *CONFINED, *arguments])


def hand_in(course: Course, student: str, *written: str, **changes: tuple[str, str]) -> Path:
    """Hand in stubs and some modules of the solution, perhaps changed."""
    folder = course.submitted(student)
    folder.mkdir(parents=True)
    for module in ASSIGNMENT.modules:
        text = ((SOLUTIONS if module in written else STUBS) / f"{module}.py").read_text(encoding="utf-8")
        (folder / f"{module}.py").write_text(text.replace(*changes.get(module, ("", ""))), encoding="utf-8")
    return folder


def everything(course: Course) -> str:
    """All that is in the gradebook."""
    from sqlalchemy import create_engine, inspect, text

    engine = create_engine(course.database)
    with engine.connect() as connection:
        tables = inspect(engine).get_table_names()
        rows = {table: sorted(map(repr, connection.execute(text(f"select * from {table}")))) for table in tables}
    engine.dispose()
    return repr(rows)


def report_of(**points: float) -> Report:
    """A report with these points, and none in the other stages."""
    stages = []
    for stage in ASSIGNMENT.stages:
        test = TestResult(stage.name, "test", "A test.", "failed", points.get(stage.name, 0.0), stage.max_points)
        stages.append(StageResult(stage.name, stage.number, stage.title, stage.extra_credit, (test,)))
    return Report(ASSIGNMENT.title, "student", tuple(stages), 1.0)


def write(course: Course, student: str, **points: float) -> None:
    found = Found(student, course.folder / "submitted" / student, ASSIGNMENT)
    write_points(place_of(""), ASSIGNMENT, [(found, report_of(**points))])


# What is written


def test_the_points_of_batch_are_in_the_export(course, capsys):
    hand_in(course, "partial", "mha", "pe", mha=MASK)
    hand_in(course, "stubs")
    (course.submitted("stubs") / "timestamp.txt").write_text("2026-10-02 23:59:59 UTC", encoding="utf-8")
    assert batch(course, "--gradebook") == 0
    assert "The points are in the gradebook sqlite:///" in capsys.readouterr().out
    grades = course.grades()
    assert course.scores() == {"partial": {**ZERO, "mha": WRONG_MASK, "pe": FULL["pe"]}, "stubs": ZERO}
    assert not any(waiting for stages in grades.values() for _, waiting in stages.values())
    exported = course.exported()
    assert {student: (row["score"], row["max_score"]) for student, row in exported.items()} == {
        "partial": (str(WRONG_MASK + FULL["pe"] + 0.0), str(TOTAL + 0.0)),
        "stubs": ("0.0", str(TOTAL + 0.0)),
    }
    assert exported["stubs"]["timestamp"] == "2026-10-02 23:59:59"
    assert exported["partial"]["timestamp"] == ""
    # Once more: nothing to grade, nothing to change.
    before = everything(course)
    assert batch(course, f"--gradebook={course.database}") == 0
    assert "Graded 0 submissions" in capsys.readouterr().out
    assert everything(course) == before


def test_a_fault_leaves_what_the_gradebook_has(course, monkeypatch):
    """Neither a 0 for a student with points, nor an entry for one without."""

    def failing(queue, settings, args):
        while (submission := queue.take()) is not None:
            yield Outcome.failed(submission, "the grader's own mistake")

    write(course, "known", mha=15)
    before = everything(course)
    for student in ("known", "unknown"):
        hand_in(course, student)
    with monkeypatch.context() as patch:
        patch.setattr(batch_module, "outcomes", failing)
        assert batch(course, "--gradebook") == 3
    assert everything(course) == before
    assert set(course.scores()) == {"known"}


def test_what_people_gave_stays(course):
    from nbgrader.api import Gradebook

    write(course, "student", mha=10, pe=5)
    with Gradebook(course.database) as gradebook:
        gradebook.update_or_create_student("student", first_name="First", email="student@example.org")
        for notebook, stage in STAGES.items():
            grade = gradebook.find_grade(f"stage-{stage.name}", notebook, NAME, "student")
            if stage.name == "mha":
                grade.manual_score = 12
            if stage.name == "pe":
                grade.extra_credit = 1.5
        gradebook.db.commit()
    write(course, "student", mha=10, pe=5)
    assert course.grades()["student"]["mha"] == (10, False)
    row = course.exported()["student"]
    assert (row["score"], row["first_name"], row["email"]) == ("18.5", "First", "student@example.org")
    write(course, "student", mha=30, pe=5)  # a person has to look again at what a person gave
    assert course.grades()["student"] == {**dict.fromkeys(ZERO, (0, False)), "mha": (30, True), "pe": (5, False)}
    assert course.exported()["student"]["score"] == "18.5"


@pytest.mark.parametrize("method", ["none", "zero"])
def test_late_penalties_are_those_of_nbgrader(course, method):
    from nbgrader.api import Gradebook

    with (course.folder / "nbgrader_config.py").open("a", encoding="utf-8") as file:
        file.write(f'\nc.LateSubmissionPlugin.penalty_method = "{method}"\n')
    due = datetime(2026, 10, 2, 12, tzinfo=timezone.utc)
    with Gradebook(course.database) as gradebook:
        gradebook.update_or_create_assignment(NAME, duedate=due)
    for student, hours in {"late": 1, "punctual": -1}.items():
        folder = course.submitted(student)
        folder.mkdir(parents=True)
        moment = f"{due + timedelta(hours=hours):%Y-%m-%d %H:%M:%S} UTC"
        (folder / "timestamp.txt").write_text(moment, encoding="utf-8")
        for points in (10, 20):  # the penalty follows the points
            write(course, student, mha=points)
    penalties = {student: float(row["late_submission_penalty"]) for student, row in course.exported().items()}
    assert penalties == {"late": 20 if method == "zero" else 0, "punctual": 0}


def test_the_default_is_the_gradebook_of_nbgrader_here(course, monkeypatch):
    assert place_of("").url == course.database
    monkeypatch.setenv("NBGRADER_DB", "postgresql+psycopg://staff@host/gradebook")
    assert place_of("").url == "postgresql+psycopg://staff@host/gradebook"
    assert place_of(course.database).url == course.database


# Wrong usage


def no_config(course: Course) -> list[str]:
    (course.folder / "nbgrader_config.py").unlink()
    return []


def broken_config(course: Course) -> list[str]:
    (course.folder / "nbgrader_config.py").write_text("import nosuchmodule", encoding="utf-8")
    return []


def no_file(course: Course) -> list[str]:
    (course.folder / "gradebook.db").unlink()
    return []


def not_released(course: Course) -> list[str]:
    from nbgrader.api import Gradebook

    with Gradebook(course.database) as gradebook:
        gradebook.remove_assignment(NAME)
    return []


def other_points(course: Course) -> list[str]:
    from nbgrader.api import Gradebook

    with Gradebook(course.database) as gradebook:
        gradebook.find_grade_cell("stage-pe", "2_pe", NAME).max_score = FULL["pe"] + 2
        gradebook.db.commit()
    return []


BAD = {
    "no config": (no_config, "there is no nbgrader_config.py in this folder"),
    "broken config": (broken_config, "nbgrader_config.py cannot be run: ModuleNotFoundError: No module named"),
    "no file": (no_file, "gradebook.db: run `nbgrader generate_assignment transformer --force`"),
    "no address": (lambda course: ["gradebook.db"], "such as sqlite:///gradebook.db"),
    "no such database": (
        lambda course: ["nosuch://user:secret@host/db"],
        "cannot open the gradebook nosuch://user:***@",
    ),
    "no gradebook": (lambda course: ["sqlite:///file"], "cannot open the gradebook sqlite:///file"),
    "not released": (not_released, "does not match the current transformer"),
    "other points": (
        other_points,
        f"has {FULL['pe'] + 2} points for stage-pe, not {FULL['pe']}: run `nbgrader generate_assignment",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_wrong_usage_is_found_before_the_work(case, course, capsys):
    hand_in(course, "student")
    Path("file").write_text("text" * 1000, encoding="utf-8")
    prepare, message = BAD[case]
    assert batch(course, "--gradebook", *prepare(course)) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "secret" not in error
    assert not Path("graded").exists()


# PostgreSQL


def program(name: str) -> str:
    """A program of a PostgreSQL server; "" if none is installed."""
    places = [os.environ.get("PATH", ""), *map(str, sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True))]
    return shutil.which(name, path=os.pathsep.join(places)) or ""


@pytest.fixture
def postgres() -> Iterator[str]:
    """The address of an empty database of a PostgreSQL server of our own, which listens on a Unix socket only."""
    pytest.importorskip("psycopg")
    if os.name == "nt" or not program("initdb"):
        pytest.skip("no PostgreSQL server is installed")
    # The server refuses to run as root, and others may not enter pytest's folders.
    account: dict[str, Any] = {"user": "nobody"} if os.geteuid() == 0 else {}
    with tempfile.TemporaryDirectory(prefix="pg", ignore_cleanup_errors=True) as scratch:
        if account:
            shutil.chown(scratch, account["user"])

        def run(name: str, *arguments: str) -> None:
            command = [program(name), *arguments]
            subprocess.run(command, cwd=scratch, check=True, stdout=subprocess.DEVNULL, timeout=120, **account)

        data = f"{scratch}/data"
        run("initdb", "-D", data, "-U", "staff", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
        options = f"-c listen_addresses='' -c unix_socket_directories='{scratch}' -c fsync=off"
        run("pg_ctl", "-D", data, "-l", f"{scratch}/log", "-w", "-o", options, "start")
        try:
            run("createdb", "-h", scratch, "-U", "staff", "gradebook")
            yield f"postgresql+psycopg://staff@/gradebook?host={scratch}"
        finally:
            run("pg_ctl", "-D", data, "-m", "immediate", "stop")


SHOW = """
from nbgrader.apps import NbGrader
from nbgrader.apps.api import NbGraderAPI
from nbgrader.coursedir import CourseDirectory

app = NbGrader()
app.load_config_file()
api = NbGraderAPI(CourseDirectory(config=app.config))
print([(one["student"], one["score"]) for one in api.get_submissions("transformer")])
print([(one["id"], one["score"], one["max_score"]) for one in api.get_students()])
print([(one["id"], one["num_submissions"], one["average_score"]) for one in api.get_notebooks("transformer")][:1])
"""


def test_points_are_written_into_postgresql(postgres, tmp_path, monkeypatch):
    course = make_course(tmp_path, monkeypatch, NBGRADER_DB=postgres)
    for _ in range(2):
        write(course, "student", mha=12.5)
        assert course.grades()["student"] == {**dict.fromkeys(ZERO, (0, False)), "mha": (12.5, False)}
    assert course.exported()["student"]["score"] == "12.5"
    assert not (tmp_path / "gradebook.db").exists()


@pytest.mark.slow
def test_everything_works_with_postgresql(postgres, tmp_path, monkeypatch):
    """Released, graded by nbgrader, corrected by batch, shown by formgrader and exported."""
    course = Course(tmp_path, NBGRADER_DB=postgres)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JUPYTER_NO_CONFIG", "1")
    monkeypatch.setenv("NBGRADER_DB", postgres)
    course.nbgrader("generate_assignment", NAME)
    course.hand_in(course.submitted("partial"), STUBS)
    for module in ("mha", "pe"):
        text = (SOLUTIONS / f"{module}.py").read_text(encoding="utf-8")
        (course.submitted("partial") / f"{module}.py").write_text(text.replace(*MASK), encoding="utf-8")
    course.nbgrader("autograde", NAME, "--notebook=1_mha")
    assert course.scores()["partial"] == {**dict.fromkeys(ZERO), "mha": WRONG_MASK}
    hand_in(course, "other")
    assert batch(course, "--gradebook") == 0
    before = everything(course)
    assert course.scores() == {"partial": {**ZERO, "mha": WRONG_MASK, "pe": FULL["pe"]}, "other": ZERO}
    assert batch(course, "--gradebook") == 0
    assert everything(course) == before
    score = str(WRONG_MASK + FULL["pe"] + 0.0)
    assert {student: row["score"] for student, row in course.exported().items()} == {"partial": score, "other": "0.0"}
    done = course.run("-c", SHOW)
    assert done.returncode == 0, done.stderr
    assert f"('partial', {score})" in done.stdout
    assert f"('partial', {score}, {TOTAL + 0.0})" in done.stdout
    assert not (tmp_path / "gradebook.db").exists()

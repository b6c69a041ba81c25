"""Grading a class: `python -m autograder batch` as an instructor calls it, stopped and broken in every way."""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from autograder.__main__ import main
from autograder.classroom.batch import print_end
from autograder.classroom.hidden_seed import seed_of_class
from autograder.classroom.job_processes import Queue, Settings, grade_here
from autograder.classroom.saved_results import Records, grader_hash
from autograder.grading.grade_submission import grade
from autograder.grading.results import from_json, to_json
from autograder.sandbox.worker_processes import make_workers
from autograder.submissions.find_submissions import Found
from autograder.submissions.read_submission import Submission, read_submission
from tests.support.batches import (
    ASSIGNMENT,
    CONFINED,
    ROOT,
    SEED,
    SOLUTION,
    STUBS,
    all_verdicts,
    batch,
    command,
    hand_in,
    recorded,
    rows,
    verdicts,
    without_jobs,
)
from tests.support.exporting import make_report, write_results
from tests.support.worth import FULL, PROJECTIONS, TESTS, TOTAL

HOSTILE = ("=1+1", "@SUM(A1)", "<b>x", "A b", "a_b", "x%2f..", "\u202egrade")


@dataclass(frozen=True)
class Graded:
    submissions: Path
    out: Path
    code: int


@pytest.fixture(scope="module")
def graded(tmp_path_factory) -> Graded:
    """A class that was graded in one go."""
    folder = tmp_path_factory.mktemp("class")
    hand_in(folder / "in", "anna", SOLUTION)
    hand_in(folder / "in", "bob", only=["pe"], pe=('raise NotImplementedError("Stage 2', 'print("Stage 2'))
    hand_in(folder / "in", "carl", only=["mha"], mha=("import torch", "import torch\nraise OSError('no GPU')"))
    hand_in(folder / "in", "dora", SOLUTION, only=["pe"])
    for student in HOSTILE:
        hand_in(folder / "in", student, only=["pe"])
    return Graded(folder / "in", folder / "out", batch(folder / "in", folder / "out", "--seed", str(SEED), jobs=2))


def test_each_grade_is_the_one_that_the_submission_gets_alone(graded):
    assert graded.code == 0
    assert set(recorded(graded.out)) >= {"anna", "bob", "carl", "dora"}
    workers = make_workers(confined=not CONFINED)
    try:
        for student in ("bob", "carl", "dora"):
            submission = read_submission(graded.submissions / student, ASSIGNMENT)
            alone = grade(submission, ASSIGNMENT, workers, hidden_seed=SEED)
            assert all_verdicts(graded.out)[student] == verdicts(alone)
    finally:
        workers.close()
    report = from_json(recorded(graded.out)["anna"]["report"])
    assert report.points == TOTAL
    assert report.end_to_end is not None
    assert report.end_to_end.status == "passed"


def test_what_is_written(graded):
    assert {path.name for path in graded.out.iterdir()} - {".lock"} == {
        *("batch.json", "results", "feedback", "staff", "verdicts", "grades.csv", "not-graded.csv", "review.csv"),
        *("review.html", "report.html"),
    }
    entry = recorded(graded.out)["anna"]
    assert entry["fault"] == ""
    assert entry["digest"] == read_submission(graded.submissions / "anna", ASSIGNMENT).digest
    assert entry["settings"]["seed"] == entry["report"]["hidden_seed"] == SEED
    assert entry["settings"]["grader"] == grader_hash(ASSIGNMENT.name)
    assert entry["report"]["confined"] is not bool(CONFINED)
    row = rows(graded.out)["anna"]
    tests = [
        ".".join(filter(None, (stage.name, test, part)))
        for stage in ASSIGNMENT.stages
        for test in stage.points
        for part in ("", *stage.parts.get(test, ()))
    ]
    stages = [stage.name for stage in ASSIGNMENT.stages]
    assert list(row) == ["student", *tests, *stages, "total", "status"]
    points = (FULL["mha"], TESTS["test_mha_no_mask"], TOTAL)
    assert tuple(float(row[column]) for column in ("mha", "mha.test_mha_no_mask", "total")) == points
    assert row["status"] == "graded"
    assert rows(graded.out)["bob"]["total"] == "0"


def test_hostile_names(graded):
    students = 4 + len(HOSTILE)
    for folder in ("results", "feedback", "verdicts"):
        names = [path.name for path in (graded.out / folder).iterdir()]
        assert len({name.lower() for name in names}) == students
        assert all(re.fullmatch(r"[A-Za-z0-9._-]+", name) for name in names)
    assert len(rows(graded.out)) == students
    assert all(student[0] not in "=+-@\t\r\n" for student in rows(graded.out))
    assert {"'=1+1", "'@SUM(A1)"} <= set(rows(graded.out))


def test_only_what_changed_is_graded_again(graded, tmp_path, capsys, monkeypatch):
    without_jobs(monkeypatch)
    submissions, out = tmp_path / "in", tmp_path / "out"
    shutil.copytree(graded.submissions, submissions)
    shutil.copytree(graded.out, out)
    before = {path: path.stat().st_mtime_ns for path in (out / "results").iterdir()}
    assert batch(submissions, out) == 0
    assert re.match(rf"Graded 0 submissions in \d+ s; {len(before)} had not changed", capsys.readouterr().out)
    with (submissions / "bob" / ASSIGNMENT.name / "pe.py").open("a", encoding="utf-8") as file:
        file.write("# one line more\n")
    (out / "feedback" / "carl.html").unlink()
    (out / "results" / "dora.json").write_text("{", encoding="utf-8")
    assert batch(submissions, out) == 0
    changed = {path.name for path, then in before.items() if path.stat().st_mtime_ns != then}
    assert changed == {"bob.json", "carl.json", "dora.json"}
    assert "Graded 3 submissions" in capsys.readouterr().out
    # The recorded seed is used, and no other one.
    assert {entry["settings"]["seed"] for entry in recorded(out).values()} == {SEED}
    assert batch(submissions, out, "--seed", str(SEED)) == 0
    capsys.readouterr()
    assert batch(submissions, out, "--seed", "6") == 2
    assert "leave out --seed" in capsys.readouterr().err


RESULT: dict[str, Any] = {"student": "anna", "digest": "x", "settings": {}, "fault": "", "report": None}
STAGES = json.loads(json.dumps(to_json(make_report("anna", 50.0, 0.0))["stages"]))
DAMAGED = {
    "truncated": '{"student": "anna", "dig',
    "no fault": json.dumps({"student": "anna", "digest": "x"}),
    "no report": json.dumps(RESULT),
    "a title only": json.dumps(RESULT | {"report": {"title": 1}}),
    "stages only": json.dumps(RESULT | {"report": {"stages": STAGES}}),
    "a list": json.dumps(RESULT | {"report": STAGES}),
    "no stages": json.dumps(RESULT | {"report": to_json(make_report("anna", 0.0, 0.0)) | {"stages": []}}),
}


@pytest.mark.parametrize("text", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_result_is_graded_again_or_named(tmp_path, capsys, text):
    out = write_results(tmp_path / "out", {"anna": (50.0, 0.0)})
    path = out / "results" / "student-0.json"
    path.write_text(text, encoding="utf-8")
    (out / "review.csv").write_text("student,test,points,reason,who,when\nanna,test_a,1,r,,\n", encoding="utf-8")
    found = Found("anna", tmp_path / "anna", ASSIGNMENT, safe_name="student-0")
    records = Records(out)
    try:
        records.refuse_misfits([found])
        assert (records.read(found), records.report(found)) == ({}, None)
        assert not records.is_current(found, "x", settings())
        print_end([found], records)
    finally:
        records.close()
    capsys.readouterr()
    pages = ["export", "feedback", out, "--for", "mail", "--out", tmp_path / "pages.zip"]
    staff = ["export", "verdict", out, "--audience", "staff", "--out", tmp_path / "made"]
    for words in (["compare", out, out], pages, staff, ["review", out]):
        assert main([*map(str, words)]) == 2
        assert f"{path} cannot be read" in capsys.readouterr().err


def test_a_request_of_nobody_is_named(tmp_path, capsys):
    out = write_results(tmp_path / "out", {"anna": (50.0, 0.0)})
    rows = ["student,request,answer", "anne,why?,", "anna,why?,", "bert\x1b,why?,so", "anne,and?,"]
    (out / "requests.csv").write_text("\n".join(rows), encoding="utf-8")
    records = Records(out)
    try:
        print_end([Found("anna", tmp_path / "anna", ASSIGNMENT, safe_name="student-0")], records)
    finally:
        records.close()
    said = capsys.readouterr().out
    assert "review.csv or requests.csv names anne, bert\ufffd, but no submission has that name." in said


def test_a_fresh_seed_is_secret_and_kept(tmp_path):
    records = [Records(tmp_path / name) for name in ("a", "b")]
    seeds = [seed_of_class(one.folder, ASSIGNMENT, None) for one in records]
    assert seeds[0] != seeds[1]
    assert [seed_of_class(one.folder, ASSIGNMENT, None) for one in records] == seeds


def test_a_submission_has_a_limited_time(tmp_path):
    """It hangs in every call; the first ones use up the time of the stage. Others do not notice."""
    hang = "while True:\n            pass\n        "
    hand_in(tmp_path / "in", "stubborn", SOLUTION, mha=("scores = query @", hang + "scores = query @"))
    hand_in(tmp_path / "in", "quick")
    started = time.monotonic()
    assert batch(tmp_path / "in", tmp_path / "out", "--time-limit", "12", "--visible-only") == 0
    assert time.monotonic() - started < 60
    (late, *_) = (stage.tests for stage in from_json(recorded(tmp_path / "out")["stubborn"]["report"]).stages)
    assert {test.status for test in late} == {"timed out"}
    assert late[-1].message == "the time of this stage is used up"
    assert all(part.points == 0 for test in late for part in test.parts or [test] if part.status == "timed out")
    assert sum(test.points for test in late) == PROJECTIONS
    statuses = {test.status for test in from_json(recorded(tmp_path / "out")["quick"]["report"]).tests}
    assert statuses == {"not started"}


# Stopped and broken


def settings() -> Settings:
    return Settings(ASSIGNMENT.name, SEED, 60.0, not CONFINED, grader_hash(ASSIGNMENT.name))


def stub(name: str) -> Submission:
    return Submission(name, read_submission(STUBS, ASSIGNMENT).sources)


def die_unless(flag: str, *fields: Any) -> Submission:
    """What unpickling a `Deadly` submission calls, in the process that shall grade it."""
    if not os.path.exists(flag):
        Path(flag + ".first").touch()
        os._exit(9)
    return Submission(*fields)


class Deadly(Submission):
    """Ends the process that shall grade it, until there is a certain file."""

    flag = ""

    def __reduce__(self) -> Any:
        return die_unless, (self.flag, self.name, self.sources)


def deadly(name: str, flag: Path) -> Submission:
    submission = Deadly(name, stub(name).sources)
    object.__setattr__(submission, "flag", str(flag))
    return submission


def test_a_job_that_dies_takes_no_other_submission_with_it(tmp_path):
    """A submission whose job died is tried once more."""
    (tmp_path / "later.first").symlink_to(tmp_path / "later")  # so that the first death makes the file
    submissions = [stub("a"), deadly("never", tmp_path / "never"), deadly("later", tmp_path / "later"), stub("b")]
    outcomes = {outcome.student: outcome for outcome in grade_here(Queue(iter(submissions)), settings(), 2)}
    assert set(outcomes) == {"a", "b", "later", "never"}
    assert (tmp_path / "later").exists()
    assert [student for student, outcome in outcomes.items() if outcome.fault] == ["never"]
    assert "exit code 9" in outcomes["never"].fault
    assert outcomes["never"].report is None


def processes_of(session: int) -> list[int]:
    """The processes that a command has started and that still live."""
    psutil = pytest.importorskip("psutil")
    found = []
    for process in psutil.process_iter():
        try:
            if os.getsid(process.pid) == session and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
        except (ProcessLookupError, psutil.NoSuchProcess):
            continue
    return found


def stop(submissions: Path, out: Path, how: signal.Signals, results: int, moment: float) -> tuple[int, str]:
    """Start a run, and stop it some time after there are a number of results."""
    process = subprocess.Popen(
        command(submissions, out), cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    deadline = time.monotonic() + 100
    while len(list((out / "results").glob("*.json"))) < results:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    time.sleep(moment)
    if how == signal.SIGINT:
        os.killpg(process.pid, how)  # as the terminal does
    else:
        process.send_signal(how)
    output, _ = process.communicate(timeout=100)
    deadline = time.monotonic() + 10
    while (left := processes_of(process.pid)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert left == []
    return process.returncode, output


@pytest.mark.skipif(os.name == "nt", reason="signals of Unix")
@pytest.mark.parametrize("kills", [1, pytest.param(10, marks=pytest.mark.slow)])
def test_stopped_at_any_moment_and_resumed(graded, tmp_path, kills):
    submissions, out = tmp_path / "in", tmp_path / "out"
    students = ("bob", "carl", "dora", *HOSTILE[:4])
    for student in students:
        shutil.copytree(graded.submissions / student, submissions / student)
    out.mkdir()
    shutil.copy(graded.out / "batch.json", out)  # the seed
    seen: dict[str, Any] = {}
    for _ in range(kills):
        stop(submissions, out, signal.SIGKILL, min(len(seen) + 1, 4), random.uniform(0, 0.5))
        now = recorded(out)
        assert {student: now.get(student) for student in seen} == seen  # nothing was lost, nothing was graded twice
        seen = now
    # Ctrl-C says how to go on.
    code, output = stop(submissions, out, signal.SIGINT, min(len(seen) + 1, 5), 0.1)
    assert code == 130
    assert "run the same command to continue" in output
    assert "Traceback" not in output
    assert {student: recorded(out).get(student) for student in seen} == seen
    assert batch(submissions, out) == 0
    assert {student: recorded(out).get(student) for student in seen} == seen
    expected = all_verdicts(graded.out)
    assert all_verdicts(out) == {student: expected[student] for student in students}
    assert rows(out)["dora"] == rows(graded.out)["dora"]
    assert rows(out)["dora"]["total"] == str(FULL["pe"])


def test_a_fault_of_the_grader_is_listed_and_graded_again(tmp_path):
    """With a damaged expected tensor nobody gets a 0; once it is repaired, the same command gives the grades."""
    copy = tmp_path / "project"
    ignore = shutil.ignore_patterns("__pycache__")
    for folder in ("autograder", "course", "checkpoints", "solutions"):
        shutil.copytree(ROOT / folder, copy / folder, ignore=ignore)
    shutil.copy(ROOT / "course.toml", copy)
    stored = copy / ASSIGNMENT.expected.relative_to(ROOT) / "pe.safetensors"
    whole = stored.read_bytes()
    stored.write_bytes(whole[:100])
    hand_in(tmp_path / "in", "anna", SOLUTION, only=["pe"])
    for code, status, total in ((3, "grader fault", ""), (0, "graded", str(FULL["pe"]))):
        done = subprocess.run(command(tmp_path / "in", tmp_path / "out"), cwd=copy, capture_output=True, text=True)
        assert done.returncode == code, done.stderr
        assert ("The grader failed on 1" in done.stdout) == (code == 3)
        row = rows(tmp_path / "out")["anna"]
        assert (row["status"], row["total"]) == (status, total)
        assert (tmp_path / "out" / "feedback" / "anna.html").exists() == (code == 0)
        stored.write_bytes(whole)


def test_a_verdict_for_each_student(graded):
    found = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in (graded.out / "verdicts").iterdir()}
    schema = json.loads((ROOT / "docs" / "verdict-1.schema.json").read_text(encoding="utf-8"))
    for one in found.values():
        jsonschema.Draft202012Validator(schema).validate(one)
        assert (one["audience"], "seed" in one["engine"]) == ("student", False)
        assert one["outcome"] in ("graded", "nothing handed in")
    assert found["anna"]["students"] == ["anna"]
    assert (found["anna"]["points"] + found["anna"]["extra_points"], found["bob"]["points"]) == (TOTAL, 0)
    assert any(test["diagnostics"] for test in found["bob"]["tests"])

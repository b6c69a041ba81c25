"""Grading a class on a Dask cluster: a LocalCluster, and a scheduler and workers from the command line."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from autograder.__main__ import main
from autograder.classroom import dask_cluster as cluster
from autograder.classroom.job_processes import Outcome, Queue, Settings, grade_here
from autograder.classroom.saved_results import grader_hash
from autograder.grading.results import from_json
from autograder.manifest import assignment
from autograder.sandbox.confine import unsupported
from autograder.submissions.read_submission import Submission, read_submission
from course.errors import UserError
from tests.support.worth import FULL

distributed = pytest.importorskip("distributed")

ROOT = Path(__file__).resolve().parents[2]
ASSIGNMENT = assignment("transformer")
SOLUTION = ROOT / "solutions" / ASSIGNMENT.name
STUBS = ROOT / "notebooks" / ASSIGNMENT.name
CONFINED = ["--unconfined"] if unsupported() else []
SETTINGS = Settings(ASSIGNMENT.name, 5, 60.0, not CONFINED, grader_hash(ASSIGNMENT.name))


@pytest.fixture(autouse=True)
def our_packages(monkeypatch):
    """Let the processes of the cluster import this checkout."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


def some_submissions(number: int) -> list[Submission]:
    """Stubs, every other one with a correct positional encoding."""
    stubs, solution = read_submission(STUBS, ASSIGNMENT).sources, read_submission(SOLUTION, ASSIGNMENT).sources
    mixed = {**stubs, "pe": solution["pe"]}
    return [Submission(f"s{one}", mixed if one % 2 else stubs) for one in range(number)]


def verdicts(outcome: Outcome) -> list[tuple[str, str, float, str]]:
    assert outcome.fault == ""
    assert outcome.report is not None
    return [(test.name, test.status, test.points, test.message) for test in from_json(outcome.report).tests]


def test_a_local_cluster_gives_the_same_grades_though_a_worker_is_killed():
    submissions = some_submissions(6)
    here = {outcome.student: verdicts(outcome) for outcome in grade_here(Queue(iter(submissions[:2])), SETTINGS, 1)}
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as local:
        pids = [worker.process.pid for worker in local.workers.values()]
        queue = Queue(iter(submissions))
        there: dict[str, list[tuple[str, str, float, str]]] = {}
        for outcome in cluster.grade_on_cluster(queue, SETTINGS, local.scheduler_address, None):
            if not there:
                os.kill(pids[0], signal.SIGKILL if os.name != "nt" else signal.SIGTERM)
            there[outcome.student] = verdicts(outcome)
        other = replace(SETTINGS, grader="another")
        (refused,) = cluster.grade_on_cluster(Queue(iter(submissions[:1])), other, local.scheduler_address, None)
        assert "the grader on this worker differs" in refused.fault
    assert there == {one.name: here[f"s{number % 2}"] for number, one in enumerate(submissions)}
    assert sum(points for _, _, points, _ in there["s1"]) == FULL["pe"]


@contextmanager
def running(*command: str | Path) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-m", *map(str, command)], stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()


@pytest.mark.slow
def test_scheduler_and_workers_from_the_command_line(tmp_path, capsys):
    """A worker is killed and never comes back: it has no nanny."""
    for submission in some_submissions(4):
        folder = tmp_path / "in" / submission.name
        folder.mkdir(parents=True)
        for module, text in submission.sources.items():
            (folder / f"{module}.py").write_text(text, encoding="utf-8")
    file = tmp_path / "scheduler.json"
    with ExitStack() as stack:
        start = ("distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
        stack.enter_context(running(*start, "--scheduler-file", file))
        worker = ("distributed.cli.dask_worker", "--scheduler-file", file, "--nthreads", "1", "--no-nanny")
        local = ("--no-dashboard", "--local-directory", tmp_path)
        victim = stack.enter_context(running(*worker, *local))
        stack.enter_context(running(*worker, *local))
        deadline = time.monotonic() + 60
        while not file.exists():
            assert time.monotonic() < deadline
            time.sleep(0.1)

        def kill_after_the_first_result() -> None:
            while not list((tmp_path / "out" / "results").glob("*.json")) and time.monotonic() < deadline + 60:
                time.sleep(0.05)
            victim.kill()

        killer = threading.Thread(target=kill_after_the_first_result)
        killer.start()
        arguments = [str(tmp_path / "in"), "--out", str(tmp_path / "out"), "--scheduler-file", str(file), *CONFINED]
        assert main(["batch", *arguments]) == 0
        killer.join()
        assert "Graded 4 submissions" in capsys.readouterr().out
        shutil.rmtree(tmp_path / "in" / "s0")
        assert main(["batch", *arguments]) == 0
        assert "Graded 0 submissions" in capsys.readouterr().out
    full = str(FULL["pe"])
    grades = (tmp_path / "out" / "grades.csv").read_text(encoding="utf-8-sig").splitlines()
    assert [line.split(",")[0] for line in grades] == ["student", "s1", "s2", "s3"]
    assert [line.split(",")[-2:] for line in grades[1:]] == [[full, "graded"], ["0", "graded"], [full, "graded"]]


@pytest.fixture
def one_submission(tmp_path):
    shutil.copytree(STUBS, tmp_path / "in" / "anna", ignore=shutil.ignore_patterns("*.ipynb"))
    return [str(tmp_path / "in"), "--out", str(tmp_path / "out"), *CONFINED]


@pytest.mark.parametrize(
    ("place", "message"),
    [
        (["--scheduler", "tcp://127.0.0.1:9"], "tcp://127.0.0.1:9 cannot be reached"),
        (["--scheduler", "nonsense://"], "nonsense:// cannot be reached"),
        (["--scheduler-file", "nowhere.json"], "there is no file nowhere.json"),
    ],
)
def test_a_cluster_that_is_not_there(one_submission, place, message, monkeypatch, capsys):
    monkeypatch.setattr(cluster, "WAIT_SECONDS", 1)
    assert main(["batch", *one_submission, *place]) == 2
    assert message in capsys.readouterr().err


def test_a_cluster_without_workers(one_submission, monkeypatch, capsys):
    monkeypatch.setattr(cluster, "WAIT_SECONDS", 1)
    with distributed.LocalCluster(n_workers=0, dashboard_address=None) as local:
        assert main(["batch", *one_submission, "--scheduler", local.scheduler_address]) == 2
    assert "has no workers: start some with `dask worker" in capsys.readouterr().err


@pytest.mark.slow
def test_a_scheduler_that_is_lost(tmp_path, capsys):
    """The results so far are kept, and the message says how to continue."""
    local = distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None)
    outcomes = cluster.grade_on_cluster(Queue(iter(some_submissions(4))), SETTINGS, local.scheduler_address, None)
    assert next(outcomes).student == "s0"
    local.close()
    with pytest.raises(UserError, match="run the same command to continue"):
        list(outcomes)

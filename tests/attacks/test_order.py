"""What a worker of the hidden tests has seen cannot be shown: nothing that a student reads runs after it."""

import contextlib
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from autograder.grading import stage_run
from autograder.grading.grade_submission import grade
from autograder.grading.hidden_case import HiddenTestCase
from autograder.grading.reference_answers import AnswerBook
from autograder.grading.run_test import run_test
from autograder.manifest import assignment
from autograder.reports.gradescope_results import results
from autograder.reports.student_feedback import feedback_html
from autograder.reports.verdict import verdict
from autograder.sandbox.limits import WAITING, WAITING_STAGES
from autograder.sandbox.remote_modules import Student
from autograder.sandbox.remote_values import Code
from autograder.sandbox.student_faults import StudentFault
from autograder.sandbox.worker_processes import make_workers
from autograder.submissions.read_submission import read_submission
from tests.support.pages import make_report, make_test
from tests.support.quick import some

ASSIGNMENT = assignment("transformer")
SEED = 0x1234_5678_9ABC_DEF1


@pytest.mark.parametrize("jobs", some([2, 1], every=2))
def test_all_that_a_student_reads_comes_before_anything_hidden(jobs, workers, monkeypatch):
    order = []
    run = run_test

    def noted(name, case, stage, alone=False):
        if case.hidden:
            order.append("hidden")  # as it begins
        result = run(name, case, stage, alone)
        if not case.hidden:
            time.sleep(alone)  # the look at the whole, which runs beside the stages, is late
            order.append("visible")  # as it ends
        return result

    monkeypatch.setattr(stage_run, "run_test", noted)
    monkeypatch.setattr("autograder.grading.grade_submission.run_test", noted)
    few = replace(ASSIGNMENT, stages=ASSIGNMENT.stages[:2], end_to_end="test_pe")  # which takes least
    solution = read_submission(ASSIGNMENT.solution, few)
    report = grade(solution, few, workers, hidden_seed=SEED, jobs=jobs)
    assert report.complete
    assert report.end_to_end
    assert report.end_to_end.status == "passed"
    tests = sum(len(stage.points) for stage in few.stages)
    assert order == ["visible"] * (tests + 1) + ["hidden"] * tests


def test_what_a_student_reads_holds_no_time():
    """Code can take longer by what it sees of a hidden input."""
    report = make_report(make_test("test_b", "failed", hidden=True), make_test(), hidden_seed=SEED)
    slow = [replace(test, seconds=test.seconds + 3.7) for test in report.stages[0].tests]
    later = replace(make_report(*slow, hidden_seed=SEED), seconds=report.seconds + 7.4)
    assert later != report
    assert feedback_html(later) == feedback_html(report)
    told = verdict(report, ASSIGNMENT)
    assert verdict(later, ASSIGNMENT) == told
    assert results(told, SEED) == results(verdict(later, ASSIGNMENT), SEED)


BUSY = """
import ctypes
import os
import time

held = []


def cheat(megabytes):
    held.append(bytearray(b"x") * (megabytes << 20))
    return 1


def work(descriptor):
    # Answers before it is done, and works on while the grader believes that it waits.
    header = b'{"value": 1}'
    os.write(descriptor, b"GRD1" + len(header).to_bytes(4, "big") + bytes(8) + header)
    while True:
        pass
"""


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


@pytest.fixture
def resting():
    workers = make_workers(confined=True)
    student = Student(workers, Code({"busy": BUSY}, {}, ("busy",)))
    yield student
    student.close()
    workers.close()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="workers are stopped on Linux only")
def test_a_worker_that_waits_stands_still(resting):
    """Between two calls nobody counts its time."""
    assert resting.busy.cheat(1) == 1
    descriptor = 0
    for number in range(3, 64):  # the connection
        with contextlib.suppress(StudentFault):
            if resting.busy.work(number) == 1:
                descriptor = number
                break
    assert descriptor
    pid = resting._worker.pid
    assert state_of(pid) == "R"
    resting.rest()
    deadline = time.monotonic() + 10
    while state_of(pid) != "T" and time.monotonic() < deadline:
        time.sleep(0.01)
    assert state_of(pid) == "T"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="workers are stopped on Linux only")
def test_a_worker_that_holds_much_memory_does_not_wait(resting):
    assert resting.busy.cheat(1) == 1
    resting.rest()
    first = resting._worker.pid
    assert resting.busy.cheat(1) == 1
    assert resting._worker.pid == first
    assert resting.busy.cheat(WAITING >> 20) == 1
    resting.rest()
    assert resting._worker is None
    assert resting.busy.cheat(1) == 1


def test_the_workers_of_the_first_stages_wait_for_the_hidden_tests(workers, monkeypatch):
    """What they have at hand, as the weights of the checkpoint, serves both; more of them would hold much memory."""
    started = []
    start = type(workers).start

    def counted(self):
        started.append(1)
        return start(self)

    monkeypatch.setattr(type(workers), "start", counted)
    book = AnswerBook(ASSIGNMENT, workers, SEED)
    solution = read_submission(ASSIGNMENT.solution, ASSIGNMENT)
    for _ in range(2):
        started.clear()
        assert grade(solution, ASSIGNMENT, workers, book=book).complete
    stages, others = len(ASSIGNMENT.stages), 2  # the search of the text, and the look at the whole
    assert len(started) == stages + (stages - WAITING_STAGES) + others


def test_no_number_that_reaches_a_worker_tells_the_seed(workers, monkeypatch):
    """A worker can read its random seed; from numbers of PCG64 its state can be found, and from that what made it."""
    sent, made = [], []
    monkeypatch.setattr(Student, "seed", lambda self, number: sent.append(number))
    derive = HiddenTestCase.derived

    def noted(case, purpose):
        made.append(derive(case, purpose))
        return made[-1]

    monkeypatch.setattr(HiddenTestCase, "derived", noted)
    solution = read_submission(ASSIGNMENT.solution, ASSIGNMENT)
    grade(solution, ASSIGNMENT, workers, hidden_seed=SEED)
    assert sent
    assert len(set(made)) == len(set(made) | {SEED}) - 1 > 20  # one for each test and part
    assert all(number % 2**63 != SEED and number >> 64 != SEED for number in (*sent, *made))
    assert SEED not in sent

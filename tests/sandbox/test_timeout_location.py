"""A loop without end: the verdict names the line, believes nothing else, and further tests of the stage cost less."""

import re
import sys
import time

import pytest

from autograder.grading.grade_submission import grade
from autograder.grading.results import Report, StageResult, TestResult
from autograder.manifest import assignment
from autograder.reports.student_feedback import for_student
from autograder.sandbox.remote_modules import Student
from autograder.sandbox.remote_values import Code
from autograder.sandbox.student_faults import TimedOut
from autograder.sandbox.submission_clock import Clock
from autograder.sandbox.timeout_location import places
from autograder.sandbox.worker_processes import make_workers
from autograder.submissions.read_submission import Submission, read_submission
from tests.support.confining import needs_confinement

ASSIGNMENT = assignment("transformer")
SOLUTION = read_submission(ASSIGNMENT.solution, ASSIGNMENT).sources
needs_fork = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="workers are forks on Linux only")


@pytest.fixture(
    scope="module",
    params=[
        pytest.param({}, id="fork", marks=needs_fork),
        pytest.param({"confined": True}, id="confined", marks=needs_confinement),
        pytest.param({"plain": True}, id="plain", marks=() if sys.platform == "win32" else pytest.mark.slow),
    ],
)
def each_kind(request):
    workers = make_workers(**request.param)
    yield workers
    workers.close()


@pytest.fixture(autouse=True)
def _little_time(monkeypatch):
    monkeypatch.setattr("autograder.sandbox.remote_modules.CALL_SECONDS", 1.0)


def late(workers, text: str, clock: Clock | None = None) -> TimedOut:
    """What a call of `own.call()` ends with."""
    student = Student(workers, Code({"own": text}, replace={}, modules=("own",)), clock=clock)
    try:
        student.start()
        with pytest.raises(TimedOut) as caught:
            student.own.call()
    finally:
        student.close()
    return caught.value


SWALLOWS = """
def call():
    return helper(3)


def helper(n):
    i = 0
    while True:
        try:
            while i < n:
                i = i * 1
        except BaseException:
            pass
"""


def test_the_line_is_named_whatever_is_swallowed(each_kind):
    fault = late(each_kind, SWALLOWS)
    said, _, code = fault.message.partition(": `")
    line = int(said.rpartition(":")[2])
    assert said == f"no result after 1 s: your code was still in own.py:{line}"
    assert (line, code) in [(10, "while i < n:`"), (11, "i = i * 1`")]
    assert [(place.line, place.text) for place in fault.where] == [(3, "return helper(3)")]


def test_a_call_that_waits_elsewhere_is_named_where_it_was_made(each_kind):
    fault = late(each_kind, "import time\n\n\ndef call():\n    time.sleep(60)  # for long\n")
    assert fault.message.endswith("own.py:5: `time.sleep(60)  # for long`")


def test_what_the_loop_prints_is_no_line(each_kind):
    words = '  File "own.py", line 1 in call'
    loop = f"    while True:\n        print({words!r}, flush=True)\n        time.sleep(0.1)\n"
    assert late(each_kind, f"import time\n\n\ndef call():\n{loop}").message.endswith("own.py:7: `time.sleep(0.1)`")


LIES = """
import os


def call():
    words = b'  File "autograder.py", line 1 in x\\n  File "own.py", line 999 in x\\n  File "own.py", line 0 in x\\n'
    for number in range(3, 64):
        try:
            os.write(number, b"GRD" + words)
        except OSError:
            pass
    while True:
        pass
"""
SILENT = """
import faulthandler
import signal


def call():
    signal.signal(signal.SIGUSR1, lambda *_: None)
    while True:
        pass
"""


def test_nothing_but_lines_of_the_students_files_is_shown():
    said = 'Thread 0x1:\n  File "/usr/lib/x.py", line 3 in y\n  File "own.py", line 2 in <lambda>\n'
    said += '  File "other.py", line 1 in z\n  File "own.py", line 9 in z\n  File "own.py", line 1 in ' + "z" * 999
    found = places(said, {"own.py": "first\n  second\n"})
    assert [(place.line, place.text, len(place.function)) for place in found] == [(1, "first", 80), (2, "second", 0)]


@needs_fork
def test_a_worker_may_lie_or_say_nothing(workers):
    student = Student(workers, Code({"own": LIES}, replace={}, modules=("own",)))
    with pytest.raises(Exception, match="the answer cannot be read"):
        student.own.call()
    student.close()
    assert late(workers, SILENT).message == "no result after 1 s"


def test_further_calls_get_less_time(each_kind, monkeypatch):
    monkeypatch.setattr("autograder.sandbox.submission_clock.LATER_SECONDS", 0.5)
    clock, loop = Clock(), "def call():\n    while True:\n        pass\n"
    late(each_kind, loop, clock)
    started = time.monotonic()
    assert late(each_kind, loop, clock).message.startswith(
        "no result after 0.5 s (calls get less time after one that took too long): your code was still in own.py:"
    )
    assert time.monotonic() - started < 30  # the start of a worker counts here
    assert late(each_kind, loop).message.startswith("no result after 1 s: ")


def test_a_stage_pays_the_whole_time_once(workers, monkeypatch):
    monkeypatch.setattr("autograder.sandbox.submission_clock.LATER_SECONDS", 0.5)
    hang = SOLUTION["mha"].replace("scores = query @", "while True:\n            pass\n        scores = query @", 1)
    stages = [ASSIGNMENT.stage("mha"), ASSIGNMENT.stage("pe")]
    report = grade(Submission("s", {**SOLUTION, "mha": hang}), ASSIGNMENT, workers, stages)
    mha, pe = report.stages
    lines = hang.splitlines()
    number = next(number for number, line in enumerate(lines, 1) if "while True" in line)
    assert [test.status for test in mha.tests] == ["timed out"] * 4
    assert mha.tests[0].message.startswith("no result after 1 s: ")
    for test in mha.tests[1:]:
        assert re.match(r"no result after [01](\.\d)? s \(calls get less time", test.message)
    for test in mha.tests:
        assert any(f"mha.py:{number + k}: `{lines[number + k - 1].strip()}`" in test.message for k in (0, 1))
    assert [test.status for test in pe.tests] == ["passed"]


def test_students_read_nothing_of_a_hidden_test():
    said = "no result after 20 s: your code was still in mha.py:3: `while x:`"
    details = ("called    hidden(7)", "mha.py:2 in f: g()")
    hidden = TestResult("mha", "test", "t", "timed out", 0, 5, said, details, hidden=True)
    report = for_student(Report("t", "s", (StageResult("mha", 1, "t", False, (hidden,)),), 1.0))
    assert "line 3" not in repr(report)
    assert "line 2" not in repr(report)

"""Whatever a worker says, grading goes on: no fault, no traceback, and the points of the other stages."""

import dataclasses
import json
import time
from pathlib import Path

import pytest

from autograder.__main__ import main
from autograder.grading.grade_submission import grade
from autograder.manifest import assignments
from autograder.sandbox.call_replay import CallHistory
from autograder.sandbox.remote_values import Code
from autograder.sandbox.worker_processes import make_workers
from autograder.submissions.read_submission import Submission, read_submission
from tests.stress.fuzz_replies import TEXT, length
from tests.support.lying import LIES, MARK, lies
from tests.support.quick import some

SOLUTION = Path(__file__).resolve().parents[2] / "solutions" / "transformer"
ALWAYS = range(10**9)
NUMBERS = {"the first": {0}, "the fourth": {3}, "every second": range(1, 10**9, 2), "all after three": range(3, 10**9)}


@pytest.fixture(scope="module")
def workers():
    workers = make_workers()
    yield workers
    workers.close()


def graded(workers, name, stage, numbers, way, monkeypatch, wrong=("", "")):
    assignment = assignments()[name]
    sources = dict(read_submission(assignment.solution, assignment).sources)
    for module in assignment.stage(stage).modules:
        sources[module] = f"{sources[module].replace(*wrong)}\n{MARK}\n" if wrong[0] else f"{sources[module]}\n{MARK}\n"
    with monkeypatch.context() as patch:
        lies(patch, way, numbers)
        started = time.monotonic()
        report = grade(Submission("", sources), assignment, workers, [assignment.stage(stage)], hidden_seed=2)
    assert time.monotonic() - started < 60
    assert [test.message for test in report.tests if test.status == "fault"] == []
    assert all(length(test) < TEXT for test in report.tests)
    return report


WRONG = ("math.log(10000.0)", "math.log(1000.0)")  # a wrong line is looked for, with more questions


@pytest.mark.parametrize("way", some(LIES, every=18))
@pytest.mark.parametrize("wrong", [False, True])
def test_no_answer_is_a_fault(way, wrong, workers, monkeypatch):
    for numbers in NUMBERS.values():
        graded(workers, "transformer", "pe", numbers, way, monkeypatch, WRONG if wrong else ("", ""))


@pytest.mark.parametrize("way", some(LIES, every=99))
@pytest.mark.parametrize("stage", ["generate", pytest.param("training", marks=pytest.mark.slow)])
def test_functions_that_are_given_objects(stage, way, workers, monkeypatch):
    """Their answer was taken for an object that is made of itself."""
    graded(workers, "variants", stage, ALWAYS, way, monkeypatch)


def test_nothing_is_made_of_itself():
    """Whatever the numbers of objects are, how a call came about is found, or nobody knows."""
    code = Code({}, {}, ())

    def call(target, *args):
        objects = [{"$handle": one} for one in args]
        return {"do": "call", "target": target, "method": None, "args": objects, "kwargs": {}}

    recipes = CallHistory()
    for made, needed in ((0, [0]), (1, [2]), (2, [1])):
        recipes.note(call("m.make", *needed), {})
        recipes.made(made)
    recipes.note(call(1), {})
    assert recipes.last(code, "float64") is None
    recipes = CallHistory()
    for number in range(2000):  # a chain that no recursion could follow
        recipes.note(call("m.make", *[number - 1][: bool(number)]), {})
        recipes.made(number)
        recipes.note(call(number), {})
        known = recipes.last(code, "float64")
        assert known is None or known.requests[-1][0]["target"] == number
        assert (known is None) == (number >= 9)


@dataclasses.dataclass
class Broken:
    """What raises whenever it is used."""

    def __getattr__(self, name):
        raise RuntimeError("nobody has thought of this")


@pytest.mark.parametrize("where", ["code_of_stage", "run_test", "find_mistakes", "check_submission", "end_to_end"])
def test_an_exception_is_a_fault_of_its_stage(where, monkeypatch, tmp_path, capsys):
    """Wherever it comes from there is a result, exit status 3, and no traceback on the screen."""
    place = "grade_submission" if where == "check_submission" else "stage_run"
    name = f"autograder.grading.{place}.{where}"
    if where == "end_to_end":
        name = "autograder.grading.grade_submission._with_own_modules"
    module, _, attribute = name.rpartition(".")
    real = getattr(__import__(module, fromlist=["_"]), attribute)

    def broken(*args, **more):
        concerned = any(getattr(one, "name", "") == "pe" for one in args) or where == "end_to_end"
        if concerned:
            raise RecursionError("nobody has thought of this")
        return real(*args, **more)

    monkeypatch.setattr(name, Broken() if where == "check_submission" else broken)
    results = tmp_path / "results.json"
    stages = [] if where == "end_to_end" else ["mha", "pe"]
    what = [*stages, "--submission", str(SOLUTION), "--assignment", "transformer", "--json", str(results)]
    status = main(what)
    shown = capsys.readouterr()
    assert "Traceback" not in shown.err
    assert status == 3
    if where != "check_submission":
        written = json.loads(results.read_text(encoding="utf-8"))
        assert "grader itself failed" in written["output"]
        points = {test["name"]: test["score"] for test in written["tests"] if "score" in test}
        assert sum(points.values()) == (110 if where == "end_to_end" else 30)

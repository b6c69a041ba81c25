"""A loop without end costs no other stage, with as little time as docs/scaling.md allows; in simulated time."""

import ast
from types import SimpleNamespace
from typing import Any

import pytest

from autograder.grading.grade_submission import grade
from autograder.grading.reference_answers import AnswerBook
from autograder.manifest import assignments
from autograder.sandbox import remote_modules, submission_clock
from autograder.sandbox.exchange import Late
from autograder.sandbox.limits import LAST_WORDS_SECONDS
from autograder.sandbox.submission_clock import Clock, Share
from autograder.sandbox.worker_processes import make_workers
from autograder.submissions.read_submission import Submission, read_submission

LIMIT = 40.0  # the smallest one of docs/scaling.md
EACH = 0.005  # seconds of an ordinary call, about what it takes on an idle machine
LOOP = "a loop without end"
CASES = [
    (name, stage.name, way)
    for name, assignment in assignments().items()
    for stage in assignment.stages
    for way in ("visible", "hidden", "batch")
]
FAST = ("attention", "scoring", "batch")


def looping(text: str, paths: list[str]) -> str:
    """A module in which some functions, "function" or "Class.method", do not return."""
    tree: Any = ast.parse(text)
    stop = ast.parse(f"raise SystemExit({LOOP!r})").body
    for node in [tree, *(one for one in tree.body if isinstance(one, ast.ClassDef))]:
        owner = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
        for one in node.body:
            if isinstance(one, ast.FunctionDef) and f"{owner}{one.name}" in paths:
                one.body = stop
    return ast.unparse(tree)


@pytest.fixture
def simulated(monkeypatch):
    """Time passes only in calls: a little in each, and all that it has in a loop."""
    now, exchange = [0.0], vars(remote_modules)["exchange"]

    def simulate(worker: Any, request: dict[str, Any], body: bytes, seconds: float, proxy: Any) -> Any:
        header, value = exchange(worker, request, body, 60.0, proxy)
        now[0] += EACH
        error = header.get("error", {})
        if error.get("kind") == "SystemExit" and LOOP in error["message"]:
            now[0] += seconds + LAST_WORDS_SECONDS
            raise Late("")
        return header, value

    monkeypatch.setattr(remote_modules, "exchange", simulate)
    monkeypatch.setattr(submission_clock, "time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


@pytest.mark.parametrize(
    ("name", "looped", "way"), [pytest.param(*case, marks=() if case == FAST else pytest.mark.slow) for case in CASES]
)
def test_a_loop_costs_no_other_stage(name, looped, way, simulated):
    assignment = assignments()[name]
    sources = dict(read_submission(assignment.solution, assignment).sources)
    for module in sources:
        graded = [path.partition(".")[2] for path in assignment.stage(looped).writes if path.startswith(f"{module}.")]
        sources[module] = looping(sources[module], graded)
    workers = make_workers()
    try:
        book = AnswerBook(assignment, workers, 3) if way == "batch" else None
        seed = 3 if way == "hidden" else None
        report = grade(Submission("", sources), assignment, workers, hidden_seed=seed, clock=Clock(LIMIT), book=book)
    finally:
        workers.close()
    for stage in report.stages:
        assert stage.name == looped or stage.points == stage.max_points, [
            (test.name, test.status, test.message) for test in stage.tests if test.status != "passed"
        ]
    assert report.stages[[one.name for one in assignment.stages].index(looped)].points == 0
    assert simulated[0] < 2 * LIMIT


@pytest.mark.parametrize("parts", [1, 4, 17])
@pytest.mark.parametrize("greedy", [0, 1, 3])
def test_whoever_takes_all_leaves_each_other_its_part(parts, greedy, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(submission_clock, "time", SimpleNamespace(monotonic=lambda: now[0]))
    clock = Clock(LIMIT)
    clock.divide(parts)
    for number in range(parts):
        share = Share(clock)
        share.begin()
        assert share.left >= 0.75 * LIMIT / parts - 1e-9
        for _ in range(50 if number <= greedy else 1):
            with share.running(call=False):
                now[0] += share.most if number <= greedy else 0.0
        share.end()
    assert now[0] <= LIMIT + 1e-6


def test_what_is_not_needed_is_for_the_others():
    clock = Clock(100.0)
    clock.divide(5)
    for number in range(5):
        share = Share(clock)
        share.begin()
        assert share.left == pytest.approx(25 + 15 * (number + 1))
        share.end()

"""The attacks against the confined grader: each gets its verdict, and leaves nothing behind."""

import io
import json
import os
import tempfile
from collections.abc import Iterator

import pytest
from rich.console import Console

from autograder.confine import unsupported
from autograder.console import print_stage
from autograder.feedback import feedback_html
from autograder.gradescope import results
from autograder.grading import grade
from autograder.manifest import assignment
from autograder.process import make_workers
from autograder.results import Report, TestResult
from autograder.submission import Submission, read_submission
from tests.attacks import escaping, forging, reading, resources, values, wire
from tests.attacks.attack import TOOLS, Attack
from tests.attacks.world import World

pytestmark = pytest.mark.skipif(bool(unsupported()), reason=unsupported())
ASSIGNMENT = assignment()
SOLUTION = read_submission(ASSIGNMENT.solution, ASSIGNMENT).sources
SEED = 7
ATTACKS = [attack for kind in (reading, forging, values, wire, resources, escaping) for attack in kind.ATTACKS]


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    """The surroundings, and an environment that holds a secret. The grader keeps its own files in a known folder."""
    world = World()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRADER_SECRET", world.secret)
        patch.setenv("TMP", str(world.temporary))
        patch.setattr(tempfile, "tempdir", str(world.temporary))
        yield world
    world.close()


@pytest.fixture(scope="module")
def workers(world):
    workers = make_workers(confined=True)
    yield workers
    workers.close()


def graded(workers, module: str, text: str) -> Report:
    """The report about the stage of a module, by the visible and the hidden tests."""
    submission = Submission("attacker", {**SOLUTION, module: text})
    return grade(submission, ASSIGNMENT, workers, [ASSIGNMENT.stage(module)], hidden_seed=SEED)


def attacked(workers, world: World, attack: Attack) -> Report:
    return graded(workers, attack.module, world.assignments() + TOOLS + attack.text)


def student_views(report: Report) -> dict[str, str]:
    """Everything that the student gets to see."""
    return {"Gradescope": json.dumps(results(report), ensure_ascii=False), "page": feedback_html(report)}


def printed_report(report: Report) -> str:
    """What the console shows, with all it has."""
    console = Console(file=io.StringIO(), width=100)
    for stage in report.stages:
        print_stage(console, stage, verbose=True)
    return console.file.getvalue()


def lost(report: Report) -> list[TestResult]:
    return [test for test in report.tests if test.status != "passed"]


@pytest.mark.parametrize("attack", ATTACKS, ids=str)
def test_an_attack_gets_its_verdict_and_leaves_nothing_behind(attack, world, workers, monkeypatch):
    assert lost(graded(workers, "pe", SOLUTION["pe"])) == []  # the warm process is sound, and has started
    files, processes = world.files(), world.processes()
    with monkeypatch.context() as patch:
        patch.setattr("autograder.student.CALL_SECONDS", attack.seconds)
        report = attacked(workers, world, attack)
    test = report.tests[0]

    assert report.points == 0
    assert not report.faulty
    assert test.hidden == attack.hidden
    verdict = (test.status, test.message)
    assert any(test.status == v.status and v.message in test.message for v in attack.verdicts), verdict
    assert "SUCCEEDED" not in test.printed
    assert "stopped:" in test.printed or not attack.tries

    shown = {**student_views(report), "console": printed_report(report)}
    for view, text in shown.items():
        text.encode()  # no half of a surrogate
        assert world.secret not in text, view
        assert "SMUGGLED" not in text or view == "console", view
        assert all(char.isprintable() or char == "\n" for char in text), view

    assert world.heard() == []
    assert world.left_over(processes) == set()
    assert world.files() == files
    assert os.environ["GRADER_SECRET"] == world.secret
    assert lost(graded(workers, "pe", SOLUTION["pe"])) == []

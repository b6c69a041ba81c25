"""The attacks against the confined grader: each gets its verdict, and leaves nothing behind."""

import importlib.util
import io
import json
import os
import re
import resource
from dataclasses import replace
from functools import cache

import pytest
from rich.console import Console

from autograder.grading.forbidden_parts import Checked
from autograder.grading.grade_submission import grade
from autograder.grading.reference_answers import AnswerBook
from autograder.grading.results import Report, TestResult
from autograder.manifest import assignment
from autograder.reports.console import print_stage
from autograder.reports.gradescope_results import results
from autograder.reports.student_feedback import feedback_html
from autograder.reports.verdict import as_text, verdict
from autograder.sandbox.confine import unsupported
from autograder.sandbox.worker_processes import make_workers
from autograder.submissions.read_submission import Submission, read_submission
from tests.attacks import archives, escaping, forging, reading, reports, resources, shortcuts, values, wire
from tests.attacks.attack import TOOLS, Attack
from tests.attacks.world import ROOT, World
from tests.support.quick import some
from tests.support.worth import FULL

pytestmark = pytest.mark.skipif(bool(unsupported()), reason=unsupported())
ASSIGNMENT = assignment("transformer")
SOLUTION = read_submission(ASSIGNMENT.solution, ASSIGNMENT).sources
SEED = 7
KINDS = (reading, forging, values, wire, resources, escaping, reports)
ATTACKS = [attack for kind in KINDS for attack in kind.ATTACKS]
MOST_MEMORY = 1_000_000  # KB that the grader may grow by: a few copies of the largest frame


@pytest.fixture(scope="module")
def workers(world):
    workers = make_workers(confined=True, bare=True)
    assert lost(graded(workers, "pe", SOLUTION["pe"])) == []  # it is warm before the processes are counted
    yield workers
    workers.close()


@pytest.fixture
def unchecked(monkeypatch):
    """No source check, which would find most attacks before they begin."""
    monkeypatch.setattr("autograder.grading.grade_submission.check_submission", lambda *_, **__: Checked())


@cache
def book_of(workers, hidden_seed: int) -> AnswerBook:
    """What the reference gives, found out once, as for a class."""
    return AnswerBook(ASSIGNMENT, workers, hidden_seed)


def graded(workers, module: str, text: str, hidden_seed: int | None = SEED) -> Report:
    """The report about the stage of a module, by the visible and the hidden tests."""
    submission = Submission("somebody", {**SOLUTION, module: text})
    book = None if hidden_seed is None else book_of(workers, hidden_seed)
    return grade(submission, ASSIGNMENT, workers, [ASSIGNMENT.stage(module)], hidden_seed=hidden_seed, book=book)


def attacked(workers, world: World, attack: Attack, hidden_seed: int | None = SEED) -> Report:
    return graded(workers, "pe", world.assignments() + TOOLS + attack.text, hidden_seed)


def printed_report(report: Report) -> str:
    """What the console shows, with all it has."""
    file = io.StringIO()
    console = Console(file=file, width=100)
    for stage in report.stages:
        print_stage(console, stage, verbose=True)
    return file.getvalue()


def lost(report: Report) -> list[TestResult]:
    return [test for test in report.tests if test.status != "passed"]


def check_views(report: Report, world: World) -> None:
    """Fail if a report shows a secret, a hidden input, or text that is more than text."""
    views = {
        "Gradescope": json.dumps(results(verdict(report, ASSIGNMENT)), ensure_ascii=False),
        "verdict": as_text(verdict(report, ASSIGNMENT)),
        "page": feedback_html(report),
        "console": printed_report(report),
    }
    for view, text in views.items():
        text.encode()  # no half of a surrogate
        assert world.secret not in text, view
        assert "SMUGGLED" not in text or view == "console", view  # the console is the instructor's
        assert [char for char in text if not char.isprintable() and char != "\n"] == [], view
    assert "<script>alert" not in views["page"]
    assert "<img src=x" not in views["page"]


@pytest.mark.parametrize("attack", some(ATTACKS, every=2), ids=str)
def test_an_attack_gets_its_verdict_and_leaves_nothing_behind(attack, world, workers, unchecked, monkeypatch):
    files, processes = world.files(), world.processes()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with monkeypatch.context() as patch:
        patch.setattr("autograder.sandbox.remote_modules.CALL_SECONDS", attack.seconds)
        patch.setattr("autograder.localization.replay.READY_SECONDS", 0.5)
        patch.setattr("autograder.localization.replay.TRACE_SECONDS", 1.0)
        report = attacked(workers, world, attack)
    test = report.tests[0]

    assert sum(part.status == "passed" for part in test.parts) == attack.earned
    assert (report.points > 0) == (attack.earned > 0)
    assert not report.faulty, test
    verdict = (test.status, test.message[:500])
    assert any(test.status == v.status and v.message in test.message for v in attack.verdicts), verdict
    assert test.hidden == attack.hidden
    assert "SUCCEEDED" not in test.printed
    assert "stopped:" in test.printed or not attack.tries
    check_views(report, world)

    assert world.heard() == []
    assert world.left_over(processes) == set()
    assert world.files() == files
    assert os.environ["GRADER_SECRET"] == world.secret
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory < MOST_MEMORY
    assert lost(graded(workers, "pe", SOLUTION["pe"])) == []


@pytest.fixture(scope="module")
def usual_workers(world):
    workers = make_workers(confined=True)
    yield workers
    workers.close()


@pytest.mark.parametrize("attack", some(ATTACKS, every=15), ids=str)
def test_an_attack_earns_no_more_where_reflection_is_closed(attack, world, usual_workers, unchecked, monkeypatch):
    """Above, workers are bare, since most attacks would end at once."""
    monkeypatch.setattr("autograder.sandbox.remote_modules.CALL_SECONDS", attack.seconds)
    report = attacked(usual_workers, world, attack)
    passed = sum(part.status == "passed" for part in report.tests[0].parts)
    assert passed <= attack.earned
    assert not report.faulty
    assert "SUCCEEDED" not in report.tests[0].printed
    check_views(report, world)


def test_all_attacks_are_tried_and_in_the_table():
    tried = {attack.number for attack in (*ATTACKS, *shortcuts.ATTACKS, *archives.ATTACKS)}
    rows = re.findall(r"^\| (\d+) \|", (ROOT / "tests" / "attacks" / "README.md").read_text(encoding="utf-8"), re.M)
    assert tried == set(range(1, 55))
    assert sorted(map(int, rows)) == sorted(tried)


def test_what_attacks_try_to_import_is_there():
    assert [name for name in reading.SECRET_MODULES if importlib.util.find_spec(name) is None] == []


# The source check


@pytest.mark.parametrize("attack", shortcuts.ATTACKS, ids=str)
def test_a_ready_made_attention_is_found(attack, world, workers):
    report = graded(workers, attack.module, attack.text)
    if attack.found or not report.review:
        assert {test.status for test in report.tests} == {"forbidden"}
        assert "mha.py:" in report.tests[0].message
        assert report.points == 0
    elif attack.name in shortcuts.REFUSED:
        assert "mha.py:" in str(report.review)
        assert {test.status for test in report.tests} == {"forbidden"}
    assert not report.faulty
    check_views(report, world)


def test_the_same_without_a_shortcut_is_right_and_raises_no_doubt(workers):
    report = graded(workers, "mha", shortcuts.HONEST)
    assert lost(report) == []
    assert report.review == ()


# The suite can fail: what is stopped above works without confinement. Only attacks that do no harm are tried.

HARMLESS = {
    attack.name: attack
    for attack in ATTACKS
    if attack.name in ("read an expected file", "run the solution", "read other submissions", "network")
}


@pytest.fixture(scope="module")
def free_workers(world):
    workers = make_workers(bare=True)
    yield workers
    workers.close()


@pytest.mark.parametrize("name", HARMLESS)
def test_without_confinement_an_attack_works(name, world, free_workers, unchecked):
    # The hidden inputs do not fit what is stored for the visible test; the solution fits all.
    attack = replace(HARMLESS[name], text="import sys\n" + HARMLESS[name].text)
    report = attacked(free_workers, world, attack, SEED if "solution" in name else None)
    assert report.points == (FULL["pe"] if name in ("read an expected file", "run the solution") else 0)
    assert "SUCCEEDED" in report.tests[0].printed or report.tests[0].hidden  # what was printed is told once
    assert (world.secret in report.tests[0].printed) == ("submissions" in name)
    assert ("tcp" in world.heard()) == (name == "network")

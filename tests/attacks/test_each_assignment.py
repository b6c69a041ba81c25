"""The attacks against the interface of every assignment: what its first stage asks for strikes instead of answering."""

from collections.abc import Iterator
from functools import cache

import pytest

from autograder.grading.grade_submission import grade
from autograder.manifest import Assignment, assignment, assignments
from autograder.sandbox.confine import unsupported
from autograder.sandbox.worker_processes import make_workers
from autograder.submissions.read_submission import Submission, read_submission
from tests.attacks.attack import TOOLS, Attack
from tests.attacks.test_attacks import ATTACKS, check_views, lost
from tests.attacks.world import World

pytestmark = pytest.mark.skipif(bool(unsupported()), reason=unsupported())
SEED = 7
EVERY = 60  # so many attacks to one that is always tried; `make attacks` tries all
# The attack's own class, made and called by whatever the tests call.
STRIKE = """

def strike(*inputs, **named):
    made = PositionalEncoding(8, 16)
    return getattr(made, "pe", None), made(torch.zeros(1, 4, 8))

"""


@pytest.fixture(scope="module")
def workers(world) -> Iterator:
    workers = make_workers(confined=True, bare=True)
    yield workers
    workers.close()


@cache
def warm(workers, name: str) -> None:
    """Grade the solution first: after that no more processes are left to be started."""
    goal = assignment(name)
    honest = read_submission(goal.solution, goal)
    assert lost(grade(honest, goal, workers, goal.stages[:1], hidden_seed=SEED)) == []


@pytest.fixture(autouse=True)
def _few_seconds(monkeypatch):
    monkeypatch.setattr("autograder.sandbox.remote_modules.CALL_SECONDS", 1)
    monkeypatch.setattr("autograder.localization.replay.TRACE_SECONDS", 1.0)


def hostile(text: str, goal: Assignment) -> dict[str, str]:
    """The modules of a submission in which all that the first stage writes is the attack."""
    stage, sources = goal.stages[0], dict(read_submission(goal.solution, goal).sources)
    for path in stage.writes:
        module, *names = path.split(".")
        if STRIKE not in sources[module]:
            sources[module] = text + sources[module].replace("from __future__ import annotations\n", "") + STRIKE
        sources[module] += f"{'.'.join(names)} = strike\n"
    return sources


def cases() -> Iterator:
    """Every attack against every other assignment, with two exceptions.

    What 11 would smuggle out are our own zeros here. What 4 would find in `attention` are the random weights of its own
    result, by which a test asks for gradients: they have the result's shape.
    """
    for name in (name for name in assignments() if name != "transformer"):  # whose stages test_attacks attacks
        left_out = (4, 11) if name == "attention" else (11,)
        for number, attack in enumerate(attack for attack in ATTACKS if attack.number not in left_out):
            marks = () if number % EVERY == 0 else pytest.mark.slow
            yield pytest.param(name, attack, id=f"{name} {attack}", marks=marks)


@pytest.mark.parametrize(("name", "attack"), list(cases()))
def test_an_attack_earns_nothing_and_leaves_nothing_behind(
    name: str, attack: Attack, world: World, workers, monkeypatch
):
    from autograder.grading.forbidden_parts import Checked

    monkeypatch.setattr("autograder.grading.grade_submission.check_submission", lambda *_, **__: Checked())
    goal = assignment(name)
    warm(workers, name)
    files, processes = world.files(), world.processes()
    sources = hostile(world.assignments() + TOOLS + attack.text, goal)
    report = grade(Submission("somebody", sources), goal, workers, goal.stages[:1], hidden_seed=SEED)
    assert report.points == 0
    assert not report.faulty
    assert "SUCCEEDED" not in "".join(test.printed for test in report.tests)
    check_views(report, world)
    assert world.heard() == []
    assert world.left_over(processes) == set()
    assert world.files() == files

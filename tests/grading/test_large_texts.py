"""Large and odd texts cost the grader little, and the hint at most: never a point."""

import ast
import sys
import time

import pytest

from autograder.authoring.formulations import correct_submissions
from autograder.forbidden.rules import check_modules
from autograder.grading.grade_submission import grade
from autograder.localization.repair import MOST_EDITS, _edits
from autograder.localization.source import Source
from autograder.localization.trace import Line
from autograder.manifest import assignments
from autograder.sandbox.worker_processes import make_workers
from autograder.submissions.read_submission import Submission
from autograder.submissions.source_budget import too_large
from autograder.submissions.syntax_tree import functions, tree_of
from autograder.worker.stub_detection import MOST_NODES
from bench.large_texts import cases, measured
from tests.support.large_texts import (
    ASSIGNMENT,
    MODULE,
    SOLUTION,
    STATEMENTS,
    at_end,
    in_function,
    inside,
    texts,
    wrong,
)

FORKS = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="measured in a fork")
# Of a function, each as often as the limits let it: what searches it must not take time that grows with the square.
PIECES = {
    "sums of names": "q{n}=1;r=q{n}*q{n}-q{n}/q{n}\n",
    "loops": "for i in ():\n  q=i\n",
    "lists in loops": "a{n}=[]\nfor i in x:\n  a{n}=[i]\n",
    "a long condition": f"while {' or '.join(['q<0'] * 90)}:\n  q=q+1\n",
}


def largest(piece: str) -> str:
    """A function of as many pieces as a text may have that is searched."""
    low, high = 1, 1000
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (low, middle - 1) if too_large(repeatedly(piece, middle)) else (middle, high)
    return repeatedly(piece, low)


def repeatedly(piece: str, times: int) -> str:
    lines = "".join(piece.replace("{n}", str(number)) for number in range(times)).splitlines(keepends=True)
    return "def f(q, x):\n" + "".join(f"    {line}" for line in lines)


@pytest.mark.parametrize("piece", PIECES)
def test_what_may_be_searched_is_searched_in_seconds(piece):
    text, started = largest(PIECES[piece]), time.process_time()
    assert len(text) > 1000
    assert 0 < len(_edits("m", text, "f", ())) <= MOST_EDITS
    last = text.count("\n")
    source = Source({"m.py": text})
    assert source.function(Line("m.py", last, last))
    assert source.with_names({("m.py", last): 0}, 6)
    assert time.process_time() - started < 2.5


def test_correct_programs_are_searched():
    texts = [
        submission.sources[module]
        for chosen in assignments().values()
        for submission, written in correct_submissions(chosen).values()
        for module in sorted(written)
    ]
    assert len(texts) > 100
    for text in texts[::3]:
        assert not too_large(text), text
        assert max((len(list(ast.walk(node))) for node in functions("", text).values()), default=0) < MOST_NODES


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# x\n" * 20_000, "characters"),
        ("q=1;" * 1_000, "a line"),
        ("q=1\n" * 2_000, "names, numbers"),
        ("def f():\n" + "  q=1\n" * 500, "a function"),
        ("q=" + "-" * 100 + "1", "deep"),
        ("q=" + "(" * 300 + "1" + ")" * 300, ""),  # no Python: too many brackets
        ("q={}\n" * 1_100, "braces"),
    ],
)
def test_what_is_too_large_is_said(text, said):
    assert said in too_large(text)
    assert bool(said) == bool(too_large(text))


@FORKS
def test_a_line_of_thousands_of_statements_costs_its_hint_only(workers):
    """With 40,000 characters it took 3 GB and 22 s."""
    junk = in_function(40_000)["statements on a line"]
    plain = measured({**SOLUTION, MODULE: wrong()}, workers, hidden=False)
    found = measured({**SOLUTION, MODULE: inside(wrong(), junk)}, workers, hidden=False)
    assert plain["points"] == found["points"]
    assert plain["said"] == found["said"]
    assert found["MB"] < plain["MB"] + 100
    assert found["seconds"] < plain["seconds"] + 3


def test_why_there_is_no_line_is_told_and_nothing_is_kept(workers):
    sources = {**SOLUTION, MODULE: at_end(wrong(), texts(10_000)["statements on a line"])}
    report = grade(Submission("", sources), ASSIGNMENT, workers, [ASSIGNMENT.stage("mha")])
    told = {test.pointed for test in report.tests if test.status == "failed"}
    assert told == {("No line is named: mha.py has a line of more than 2,000 characters.",)}
    assert tree_of.cache_info().currsize == 0  # type: ignore[attr-defined]


def test_what_takes_too_long_is_not_searched_and_what_stands_beside_it_is():
    ready = "\nimport torch\ntorch.nn.Transformer()\n"
    found, _ = check_modules({"one": STATEMENTS["attributes"](90_000) + ready, "two": ready})
    assert [(module, finding.forbidden) for module, finding in found] == [("one", False), ("one", True), ("two", True)]
    assert "too long to be searched" in found[0][1].what


@pytest.mark.slow
@FORKS
@pytest.mark.parametrize("hidden", [False, True])
def test_no_text_costs_much(hidden):
    workers = make_workers(confined=True)
    try:
        plain = measured({**SOLUTION, MODULE: wrong()}, workers, hidden)
        for name, text in cases(90_000):
            found = measured({**SOLUTION, MODULE: text}, workers, hidden)
            assert found["seconds"] + found["search seconds"] < plain["seconds"] + plain["search seconds"] + 3, name
            assert max(found["MB"] - plain["MB"], found["search MB"] - plain["search MB"]) < 300, name
    finally:
        workers.close()

"""The verdict of `--watch` fits an 80x24 terminal and keeps what matters: the first mistake, and the points."""

import io

import pytest
from rich.console import Console

from autograder.grading.results import PartResult, Report, StageResult, TestResult
from autograder.reports.one_screen import one_screen
from autograder.reports.short_verdict import short_rows
from tests.support.pages import make_test

DETAILS = tuple(f"detail {number} with the words that a long explanation has, until the end" for number in range(6))
HINTS = ("The key padding mask is read the other way round: the queries look at the padding only.", "Section 3.2")


def stage(number, failing, passing, hints=HINTS):
    parts = (PartResult("one", "failed", 0, 3, "wrong"), PartResult("two", "passed", 4, 4))
    wrong = (
        TestResult(
            f"s{number}",
            f"test_w{n}",
            "Attend to the keys.",
            "failed",
            0,
            7,
            f"q {n} is wrong",
            DETAILS,
            "mask",
            hints,
            parts=parts,
        )
        for n in range(failing)
    )
    right = (TestResult(f"s{number}", f"test_r{n}", "Attend.", "passed", 5, 5) for n in range(passing))
    return StageResult(f"s{number}", number, f"Stage of number {number}", False, (*wrong, *right))


def terminal(width=80, height=24):
    return Console(
        file=io.StringIO(),
        width=width,
        height=height,
        force_terminal=True,
        color_system=None,
        highlight=False,
        markup=False,
    )


@pytest.mark.parametrize("verbose", [False, True])
@pytest.mark.parametrize(
    ("stages", "failing", "passing"), [(1, 1, 2), (1, 4, 0), (1, 9, 0), (5, 3, 4), (5, 0, 4), (8, 1, 9)]
)
def test_a_verdict_fits_and_says_what_matters(stages, failing, passing, verbose):
    report = Report("T", "anna", tuple(stage(number, failing, passing) for number in range(1, stages + 1)), 1.0)
    text = one_screen(terminal(), report, verbose, lines_below=2)
    assert len(text.splitlines()) + 2 <= 24
    assert "Total: " in text.splitlines()[-1]
    if failing:
        assert "The key padding mask is read the other way round" in " ".join(text.split())


def test_what_fits_is_shown_as_a_whole():
    report = Report("T", "anna", (stage(1, 1, 1),), 1.0)
    assert DETAILS[-1] in one_screen(terminal(200, 60), report, True, lines_below=2)
    pipe = Console(file=io.StringIO(), width=200, force_terminal=False)
    assert "Attend    " in one_screen(pipe, Report("T", "anna", (stage(1, 9, 4),), 1.0), False, lines_below=2)


def test_of_an_exception_the_message_the_shapes_and_the_line_come_before_the_hint():
    details = ("called    f((3, 4))", "mha.py:3: x", "shapes    scores (3, 4), mask (3, 3)")
    test = make_test(
        "a",
        "error",
        message="RuntimeError: sizes",
        details=details,
        short="mha.py:3: x",
        hints=("Possible cause: ...",),
    )
    rows = [row.text for row in short_rows(test)]
    assert rows == ["RuntimeError: sizes", "Shapes: scores (3, 4), mask (3, 3)", "mha.py:3: x", "Possible cause: ..."]

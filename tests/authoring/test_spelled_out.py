"""Correct code whose numbers are spelled out gives what it gave, and what others name is known."""

import math
from typing import Any

import pytest

from autograder.authoring.formulations import correct_submissions
from autograder.authoring.spelled_out import spelled_out
from autograder.manifest import assignment
from autograder.submissions.read_submission import read_submission
from tests.support.slips import failed_text, line_of, source, wrong_lines

TEXT = '''
def f(a, b):
    """A text."""
    if a + b > 3:
        return max(a + 1, b * 2)
    total = 0
    for n in range(a, b + 1):
        total += (n * 2) ** (a + 1)
    while total > b - 1:
        total -= a * 2 + 1
    return [x + 1 for x in (total, a)] if a * b > 1 else (lambda: a + 1)()


def g(x):
    return torch.exp(x * 2 + 1)
'''


def test_it_gives_the_same():
    plain, named = _run(TEXT), _run(spelled_out(TEXT))
    for a, b in [(1, 1), (1, 2), (2, 3), (0, 1), (1, 5)]:
        assert plain["f"](a, b) == named["f"](a, b)


def test_parts_are_statements_and_torch_is_left_alone():
    text = spelled_out(TEXT)
    assert "part_1 = a + b\n" in text
    assert "torch.exp(x * 2 + 1)" in text
    assert "while total > b - 1" in text  # it is computed again and again
    rest = TEXT[TEXT.index("def g") :]
    assert spelled_out(rest) is rest


def test_correct_programs_still_give_their_rates():
    """Every formulation of the stage, by a call of its own."""
    chosen = assignment("variants")
    programs = [read_submission(chosen.solution, chosen), *(one for one, _ in correct_submissions(chosen).values())]
    texts = {one.sources["training"]: one for one in programs}
    for text, one in texts.items():
        spelled = spelled_out(text)
        assert spelled != text
        spaces = [_run(text), _run(spelled)]
        for step in (1, 5, 40, 99):
            rates = [space["warmup_rate"](step, 0.1, 10) for space in spaces]
            assert math.isclose(*rates), one.name


def _run(text: str) -> dict[str, Any]:
    space: dict[str, Any] = {"__name__": "training"}
    exec(compile(text, "training", "exec"), space)
    return space


@pytest.mark.parametrize("name", ["total", "of_all"])
def test_a_name_for_a_part_is_no_strange_number(workers, name):
    """The number of n-grams has a name here, as in no correct program of ours; what is wrong is the exponent."""
    text = source("attention", "seq2seq")
    old = "bleu *= (shared.total() / (len(candidate) - n + 1)) ** 0.5**n"
    assert text.count(old) == 1
    wrong = f"bleu *= (shared.total() / {name}) ** (1 / (2 * n))"
    changed = text.replace(old, f"{name} = len(candidate) - n + 1\n        {wrong}")
    tests = failed_text(workers, "attention", "translate", "seq2seq", changed)
    assert wrong_lines(tests[0]) == [line_of(changed, wrong)]

"""The kind `number`: what a line computes or returns, with numbers so few and small that one can compute it by hand."""

import ast
import random
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from autograder.questions.calls import listed, smaller
from autograder.questions.lab import Lab
from autograder.questions.outcomes import WEIGHTS, Call, LineValue, Outcome
from autograder.questions.question import Question

MOST_NUMBERS, MOST_SHOWN = 40, 8  # in the inputs, and in an option
MOST_CALLS, ATTEMPTS, MOST_CHANGES = 3, 6, 40  # calls, random numbers for each, and changes for wrong options
DIGITS = ((0, 1, 2, 3, 4, 6), (0, 0, 1), (1, 2, 4, 8), (-1, 0, 2, 3))
WEIGHTS_IN_WORDS = "Square weights are identity matrices, all other weights are 1, biases are 0. "


def number(lab: Lab) -> Iterator[Question]:
    """What a line computes or returns."""
    for known in lab.rng.sample(lab.calls, len(lab.calls))[:MOST_CALLS]:
        small = smaller(known.replay, lab.program, lab.rng)
        tiny = next((one for one in small if lab.run(one).values), None)
        for _ in range(ATTEMPTS if tiny else 0):
            inputs = partial(_input, lab.rng, lab.rng.choice(DIGITS))
            call = tiny and lab.with_values(tiny, inputs, _weight)
            if call and sum(array.size for array in call.replay.requests[-1][1].values()) <= MOST_NUMBERS:
                given = {f"`{listed(one)}`" for _, one in lab.arguments(call) if isinstance(one, np.ndarray)}
                fit = [one for one in call.base.lines if _read(call.base, one) not in given and _fits(lab, call, one)]
                lines = lab.rng.sample(fit, min(2, len(fit)))
                if made := next((one for line in lines for one in _asked(lab, call, line)), None):
                    yield made
                    break


def _weight(name: str, old: np.ndarray) -> np.ndarray:
    """Weights that are easy to compute with, see `WEIGHTS_IN_WORDS`."""
    square = old.ndim == 2 and len(old) == len(old[0])
    return np.eye(len(old)) if square else np.full(old.shape, 0.0 if "bias" in name else 1.0)


def _input(rng: random.Random, digits: Sequence[int], name: str, old: np.ndarray) -> np.ndarray:
    zeros = rng.random() < 0.2
    return np.reshape([0.0 if zeros else float(rng.choice(digits)) for _ in range(old.size)], old.shape)


def _fits(lab: Lab, call: Call, line: LineValue) -> bool:
    """Whether a value is one of the student's own, simple, and not only zeros."""
    own = lab.program.by_place.get(line.place)
    simple = own is not None and own.simple and line.name != WEIGHTS
    return simple and bool(set(_read(call.base, line)) & set("123456789"))


def _asked(lab: Lab, call: Call, line: LineValue) -> Iterator[Question]:
    """A question for the value of a line, if changes give enough other values."""
    own, right = lab.program.by_place[line.place], _read(call.base, line)
    before = [one for one in lab.changes(call) if one.own.line <= own.line or one.own.path != own.path]
    values = (_read(lab.run(call.replay, one, watch=True), line) for one in before[:MOST_CHANGES])
    pool = sorted({*values} - {right, ""})
    alike = [one for one in pool if _depth(one) == _depth(right)]
    what = f"does {own.name} return" if line.name == "return" else f"is `{line.name}` after {own.name}"
    weights = WEIGHTS_IN_WORDS if any(one["do"] == "state" for one, _ in call.replay.requests) else ""
    text = f"{weights}What {what}? Numbers are rounded to two digits."
    wrong = alike if len(alike) > 2 else pool
    if len(wrong) > 2:
        yield from lab.ask("number", lab.words(call, whole=True), text, right, wrong, "Computed in a run.", [own])


def _read(outcome: Outcome, line: LineValue) -> str:
    """The value of a line that runs once, as an option; "" if it is too long, or its numbers are not simple."""
    found = [one.value for one in outcome.lines if (one.place, one.name) == (line.place, line.name)]
    if len(found) != 1 or found[0] is None:
        return ""
    try:
        value = np.asarray(ast.literal_eval(found[0]) if isinstance(found[0], str) else found[0])
        easy = np.abs(value) < 1000
        easy &= np.isclose(value, np.round(np.where(easy, value, 0), 2), 0, 5e-5)
    except (ValueError, SyntaxError, TypeError):  # no numbers
        return ""
    return f"`{listed(value)}`" if 0 < value.size <= MOST_SHOWN and easy.all() else ""


def _depth(text: str) -> int:
    """The nesting depth of the lists in a value."""
    return len(text) - len(text.lstrip("`["))

"""The kind `number`: what a line computes or returns, with numbers so few and small that one can compute it by hand."""

import ast
import itertools
import math
import random
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from autograder.questions.calls import Call, listed, tiny_call, with_values
from autograder.questions.lab import Lab
from autograder.questions.program import Own
from autograder.questions.question import Draft
from autograder.questions.runs import WEIGHTS, LineValue, Outcome

MOST_NUMBERS, MOST_SHOWN = 40, 8  # in the inputs, and in an option
MOST_CALLS, ATTEMPTS, MOST_CHANGES = 3, 6, 40  # calls, random numbers for each, and changes for wrong options
DIGITS = ((0, 1, 2, 3, 4, 6), (0, 0, 1), (1, 2, 4, 8), (-1, 0, 2, 3))
WEIGHTS_IN_WORDS = " Square weights are identity matrices, all other weights are 1, biases are 0."
Target = tuple[str, Own, Callable[[Outcome], str | None]]  # in words, the line, how to read it as an option


def number(lab: Lab) -> Iterator[Draft]:
    """What a line computes or returns."""
    for known in lab.rng.sample(lab.calls, len(lab.calls))[:MOST_CALLS]:
        tiny = tiny_call(known.replay, lab.bench, lab.rng)
        for _ in range(ATTEMPTS if tiny else 0):
            inputs = partial(_input, lab.rng, lab.rng.choice(DIGITS))
            call = tiny and with_values(tiny, lab.bench, lab.rng, inputs, _weight)
            if not call or sum(array.size for array in call.replay.requests[-1][1].values()) > MOST_NUMBERS:
                continue
            targets = [*_targets(lab, call)]
            lab.rng.shuffle(targets)
            if made := next((one for target in targets[:2] if (one := _draft(lab, call, target))), None):
                yield made
                break


def _weight(name: str, old: np.ndarray) -> np.ndarray:
    """Weights that are easy to compute with, see `WEIGHTS_IN_WORDS`."""
    square = old.ndim == 2 and len(old) == len(old[0])
    return np.eye(len(old)) if square else np.full(old.shape, 0.0 if "bias" in name else 1.0)


def _input(rng: random.Random, digits: Sequence[int], name: str, old: np.ndarray) -> np.ndarray:
    zeros = rng.random() < 0.2
    return np.array([0.0 if zeros else rng.choice(digits) for _ in range(old.size)]).reshape(old.shape)


def _targets(lab: Lab, call: Call) -> Iterator[Target]:
    """The values in a call that a question can ask for."""
    for like in call.base.lines:
        own = lab.program.by_place.get(like.place)
        if own and own.simple and like.name != WEIGHTS and call.base.counts[like.place] == 1 and _text(like):

            def read(out: Outcome, like: LineValue = like) -> str | None:
                found = [one for one in out.lines if (one.place, one.name) == (like.place, like.name)]
                return _text(found[0]) if len(found) == 1 else None

            returned = like.name == "return"
            yield f"does {own.name} return" if returned else f"is `{like.name}` after {own.name}", own, read


def _text(one: LineValue) -> str | None:
    """A value as an option; None if it is too long, or its numbers are not simple."""
    if one.shape is None and one.value is not None:
        try:
            plain = ast.literal_eval(str(one.value))
        except (ValueError, SyntaxError):
            return None
        if not isinstance(plain, float):
            return f"`{plain!r}`" if plain is not None and len(repr(plain)) < 40 else None
        return _option(np.asarray(plain))
    return _option(one.value) if isinstance(one.value, np.ndarray) else None


def _option(value: np.ndarray) -> str | None:
    easy = [
        math.isfinite(one) and abs(one) < 1000 and abs(one - round(one, 2)) < 5e-5 for one in map(float, value.flat)
    ]
    return f"`{listed(value)}`" if 0 < len(easy) <= MOST_SHOWN and all(easy) else None


def _draft(lab: Lab, call: Call, target: Target) -> Draft | None:
    what, own, read = target
    right = read(call.base)
    given = {f"`{listed(one)}`" for _, one in call.arguments(lab.program) if isinstance(one, np.ndarray)}
    if right is None or right in given or not any(one in right for one in "123456789"):
        return None
    pool = set[str]()
    for change in itertools.islice(lab.changes(call), MOST_CHANGES):
        if change.own.line <= own.line or change.own.path != own.path:
            text = read(lab.bench.run(call.replay, change, watch=True))
            if text and text != right:
                pool.add(text)
    alike = [one for one in sorted(pool) if _depth(one) == _depth(right)]
    wrong = alike if len(alike) > 2 else sorted(pool)
    weights = WEIGHTS_IN_WORDS if any(one["do"] == "state" for one, _ in call.replay.requests) else ""
    text = f"{lab.words(call, whole=True)}.{weights} What {what}? Numbers are rounded to two digits."
    return Draft(text, right, wrong, "Computed in a run.", [own]) if len(wrong) > 2 else None


def _depth(text: str) -> int:
    """The nesting depth of the lists in a value."""
    return len(text) - len(text.lstrip("`["))

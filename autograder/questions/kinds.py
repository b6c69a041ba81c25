"""The kinds of questions. Each kind is a function that takes the lab and yields questions.

The answers come from running the code.
"""

import ast
import itertools
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from autograder.questions.calls import listed, smaller
from autograder.questions.lab import Lab
from autograder.questions.outcomes import EVERYWHERE, RAISES, SAME_RESULT, WEIGHTS, Call, LineValue, Outcome
from autograder.questions.program import Change, Own, Place
from autograder.questions.question import Question

MOST_TIMES, MOST_PAIRS, MOST_NUMBERS, MOST_SHOWN = 40, 10, 40, 8  # runs; swaps; numbers in inputs; numbers in an option
MOST_VARIANTS, MOST_OF_LINE, MOST_RAISING = 5, 10, 4  # lines; changes to each line; changes that raise an exception
SMALLEST_MAP, LARGEST_MAP, MOST_MAPS = 3, 12, 20  # rows or columns; changes whose pictures are compared
CLEAR, EQUAL = 0.15, 1e-9  # differences between pictures: clearly visible (relative to the range); invisible
MOST_CALLS, ATTEMPTS, MOST_CHANGES = 3, 6, 40  # calls; sets of random numbers for each; changes for wrong options
DIGITS = ((0, 1, 2, 3, 4, 6), (0, 0, 1), (1, 2, 4, 8), (-1, 0, 2, 3))
WEIGHTS_IN_WORDS = "Square weights are identity matrices, all other weights are 1, biases are 0. "


def times(lab: Lab) -> Iterator[Question]:
    """Ask how often a line runs in a call."""
    for call in lab.settled_calls:
        counts = call.base.counts
        steady = [one for one in lab.ran(call) if counts[one.place] == call.twin_base.counts.get(one.place)]
        called = [one for one in steady if one.simple and not one.path.endswith("__init__")]
        own = [one for one in called if _countable(lab, one, counts[one.place])]
        lab.rng.shuffle(own)
        for one in own[:2]:
            n = counts[one.place]
            said, text = lab.words(call), f"How often does {one.name} run in this call?"
            told = map(int, re.findall(r"\d+", said))
            near = {1, n // 2, n - 1, n + 1, n + 2, 2 * n, 3 * n, *counts.values(), *told}
            pool = [str(number) for number in near if 0 < number <= 2 * MOST_TIMES]
            yield from lab.ask("times", said, text, str(n), pool, f"Counted in a run: {n}.", [one])


def _countable(lab: Lab, own: Own, n: int) -> bool:
    """Whether to ask for a number of runs, which must exceed 1 and be neither stated nor hidden in the code."""
    hidden = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda)
    function = lab.program.functions[own.module, own.path]
    loops = [node.iter for node in ast.walk(function) if isinstance(node, (ast.For, ast.comprehension))]
    told = {node.value for part in (own.node, *loops) for node in ast.walk(part) if isinstance(node, ast.Constant)}
    return 1 < n <= MOST_TIMES and n not in told and not any(isinstance(node, hidden) for node in ast.walk(own.node))


def shape(lab: Lab) -> Iterator[Question]:
    """Ask for the shape of a tensor with several axes after a line has run."""
    for call in lab.some_calls:
        given = {np.shape(value) for _, value in lab.arguments(call)}
        found: dict[tuple[Place, str], set[tuple[int, ...]]] = {}
        for one in (*call.base.lines, *call.twin_base.lines):
            if one.name != WEIGHTS and one.place in lab.program.by_place:
                found.setdefault((one.place, one.name), set()).add(one.shape or ())
        steady = {at: next(iter(shapes)) for at, shapes in found.items() if len(shapes) == 1}
        fit = [one for one in steady.items() if len(one[1]) >= 3 and one[1] not in given and len(set(one[1])) > 2]
        lab.rng.shuffle(fit)
        for (place, name), right in sorted(fit, key=lambda one: -len(one[1]))[:2]:
            own, text = lab.program.by_place[place], "What is the shape of {}?"
            others = {*itertools.permutations(right), *(one for one in steady.values() if len(one) >= len(right) - 1)}
            pool = sorted(others - {right})
            alike = [one for one in pool if one[0] == right[0]]  # everybody knows that the batch comes first
            what = f"the tensor that {own.name} returns" if name == "return" else f"`{name}` after {own.name}"
            wrong = [*map(str, alike if len(alike) > 2 else pool)]
            yield from lab.ask("shape", lab.words(call), text.format(what), str(right), wrong, "Read in a run.", [own])


def number(lab: Lab) -> Iterator[Question]:
    """Ask what a line computes or returns; the numbers are few and small enough to work out by hand."""
    simple = {one.place for one in lab.program.own if one.simple}
    for known in lab.rng.sample(lab.calls, len(lab.calls))[:MOST_CALLS]:
        small = smaller(known.replay, lab.program, lab.rng)
        tiny = next((one for one in small if lab.run(one).values), None)
        for _ in range(ATTEMPTS if tiny else 0):
            inputs = partial(_input, lab.rng, lab.rng.choice(DIGITS))
            call = tiny and lab.with_values(tiny, inputs, _weight)
            if call and sum(array.size for array in call.replay.requests[-1][1].values()) <= MOST_NUMBERS:
                given = {f"`{listed(one)}`" for _, one in lab.arguments(call) if isinstance(one, np.ndarray)}
                lines = [one for one in call.base.lines if one.place in simple and one.name != WEIGHTS]
                told = [(one, _read(call.base, one)) for one in lines]
                fit = [one for one, value in told if value not in given and re.search("[1-9]", value)]
                lines = lab.rng.sample(fit, min(2, len(fit)))
                if made := next((one for line in lines for one in _asked(lab, call, line)), None):
                    yield made
                    break


def _weight(name: str, old: np.ndarray) -> np.ndarray:
    """Weights that are easy to compute with; see `WEIGHTS_IN_WORDS`."""
    square = old.ndim == 2 and len(old) == len(old[0])
    return np.eye(len(old)) if square else np.full(old.shape, 0.0 if "bias" in name else 1.0)


def _input(rng: random.Random, digits: Sequence[int], name: str, old: np.ndarray) -> np.ndarray:
    zeros = rng.random() < 0.2
    return np.reshape([0.0 if zeros else float(rng.choice(digits)) for _ in range(old.size)], old.shape)


def _asked(lab: Lab, call: Call, line: LineValue) -> Iterator[Question]:
    """Ask about the value of a line, if changes to the code produce enough different values."""
    own, right = lab.program.by_place[line.place], _read(call.base, line)
    before = [one for one in lab.changes(call) if one.own.line <= own.line or one.own.path != own.path]
    values = (_read(lab.run(call.replay, one, watch=True), line) for one in before[:MOST_CHANGES])
    pool = sorted({*values} - {right, ""})
    brackets = right[: len(right) - len(right.lstrip("`["))]
    alike = [one for one in pool if one.startswith(brackets) and one[len(brackets)] != "["]
    what = f"does {own.name} return" if line.name == "return" else f"is `{line.name}` after {own.name}"
    weights = WEIGHTS_IN_WORDS if any(one["do"] == "state" for one, _ in call.replay.requests) else ""
    text = f"{weights}What {what}? Numbers are rounded to two digits."
    wrong = alike if len(alike) > 2 else pool
    if len(wrong) > 2:
        yield from lab.ask("number", lab.words(call, whole=True), text, right, wrong, "Computed in a run.", [own])


def _read(outcome: Outcome, line: LineValue) -> str:
    """The value of a line that runs once, as an option, or "" if it is too long or its numbers are not simple."""
    found = outcome.values_of(line)
    if len(found) != 1 or found[0] is None:
        return ""
    try:
        value = np.asarray(ast.literal_eval(found[0]) if isinstance(found[0], str) else found[0])
        easy = np.abs(value) < 1000
        easy &= np.isclose(value, np.round(np.where(easy, value, 0), 2), 0, 5e-5)
    except (ValueError, SyntaxError, TypeError):  # not numbers
        return ""
    return f"`{listed(value)}`" if 0 < value.size <= MOST_SHOWN and easy.all() else ""


def effect(lab: Lab) -> Iterator[Question]:
    """Ask what a change to a line does to a call."""
    for call in lab.settled_calls:
        mutants = lab.mutants(call)
        heads = sorted({said[0] for said in mutants.values()})
        lab.rng.shuffle(heads)
        for right in sorted(heads, key=lambda one: one == EVERYWHERE):
            change, said = lab.rng.choice([one for one in mutants.items() if one[1][0] == right])
            pool = sorted({fact for other in mutants.values() for fact in other} - {*said})
            text = f"{change.sentence} What happens to the result?"
            because = f"Run with two sets of inputs: {' '.join(said)}"
            yield from lab.ask("effect", lab.words(call), text, right, pool, because, [change.own])


def heatmap(lab: Lab) -> Iterator[Question]:
    """Ask which change turns one picture of attention weights into another that looks different."""
    for call in lab.settled_calls:
        line = next((one for one in reversed(call.base.lines) if one.name == WEIGHTS), None)
        before, twin = _picture(call.base, line), _picture(call.twin_base, line)
        if line is None or before is None or twin is None or min(before.shape) < SMALLEST_MAP:
            continue
        found: list[tuple[Change, np.ndarray, tuple[object, ...]]] = []
        running = [one for one, said in lab.mutants(call).items() if said[0] != RAISES]
        for one in running[:MOST_MAPS]:
            after, other = (_picture(lab.run(replay, one, watch=True), line) for replay in (call.replay, call.twin))
            if after is not None and (seen := _seen(before, after)) and seen == _seen(twin, other):
                found.append((one, after, seen))
        lab.rng.shuffle(found)
        clear = [one for one in found if np.abs(one[1] - before).max() > CLEAR * (np.ptp(before) or 1.0)]
        for change, after, seen in clear[:2]:
            others = [one for one, _, features in clear if features != seen]
            if len(others) > 2:
                index = _matrix(len(line.shape or ()))
                where = f" at index `{[*index]}`, for the last sequence of the batch" if index else ""
                where += " and head 0" if len(index) > 1 else ""
                text = f"One picture shows the attention weights of line {line.place[1]}{where} (rows are queries; "
                text += "if the line runs several times, the last time). "
                text += "The other shows them after a change. Which change?"
                because = "All four were run with two sets of inputs; the other pictures look different."
                lines = [change.own, *(one.own for one in others)]
                maps = (("before", before.round(2).tolist()), ("after", after.round(2).tolist()))
                wrong = [one.option for one in others]
                asked = lab.ask("heatmap", lab.words(call), text, change.option, wrong, because, lines)
                yield from (replace(one, maps=maps) for one in asked)


def _matrix(axes: int) -> tuple[int, ...]:
    """The index of the matrix that a picture shows: the one for the last sentence and the first head."""
    return (-1, *[0] * (axes - 3))[: max(axes - 2, 0)]


def _picture(outcome: Outcome, line: LineValue | None) -> np.ndarray | None:
    """The last matrix that a line computed, or None if it does not fit in a question."""
    found = outcome.values_of(line) if line else []
    value = found[-1] if found else None
    if not isinstance(value, np.ndarray) or value.ndim < 2 or not value.size or not np.isfinite(value).all():
        return None
    picture = value[_matrix(value.ndim)].astype(np.float64)
    return picture if max(picture.shape) <= LARGEST_MAP else None


def _seen(before: np.ndarray, after: np.ndarray | None) -> tuple[object, ...]:
    """The visible features of a picture: unchanged numbers, zeros, sums, repetition, order."""
    if after is None or before.shape != after.shape:
        return ()
    same = partial(np.allclose, rtol=0, atol=EQUAL)
    return (
        (np.abs(after - before) < EQUAL).tobytes(),
        (np.abs(after) < EQUAL).tobytes(),
        *(same(after.sum(axis), 1.0) for axis in (0, 1)),
        *(same(after, np.roll(after, 1, axis)) for axis in (0, 1)),
        same(np.sort(after, axis=None), np.sort(before, axis=None)),
        bool((np.argsort(after) == np.argsort(before)).all()),
        bool((after < 0).any()),
    )


def swap(lab: Lab) -> Iterator[Question]:
    """Ask which two neighbouring lines may be swapped."""
    free: list[tuple[Own, Own]] = []
    bound: list[tuple[Own, Own]] = []
    pairs = [*lab.program.swaps()]
    for first, second, change in lab.rng.sample(pairs, min(len(pairs), MOST_PAIRS)):
        if verdict := lab.verdict(change):
            (free if verdict == "same" else bound).append((first, second))
    because = "All swaps were tried in the tests, and in similar calls in eval and train mode."
    text = "Which two of these lines can swap places? With ordinary numbers, no result may change, even in training."
    lab.rng.shuffle(free)
    for right in free[:2]:
        options = [f"lines {one.line} and {other.line}{one.file}" for one, other in (right, *bound)]
        yield from lab.ask("swap", "", text, options[0], options[1:], because, sum((right, *bound), ()))


def variant(lab: Lab) -> Iterator[Question]:
    """Ask which alternative to a line gives the same result; the other options change the result."""
    for call in lab.settled_calls:
        own = [one for one in lab.ran(call) if one.simple]
        for one in lab.rng.sample(own, min(MOST_VARIANTS, len(own))):
            changes = [change for change in lab.changes_of(one) if change.new != "pass"][:MOST_OF_LINE]
            said = {f"`{change.new}`": lab.said(call, change)[:1] for change in changes}
            right = next((new for new, first in said.items() if first == (SAME_RESULT,)), "")
            pool = [new for new, first in said.items() if first and first[0] not in (SAME_RESULT, RAISES)]
            text = f"Which line could replace {one.name}, `{one.text}`, without changing what this call returns?"
            if right and len(pool) > 1:
                yield from lab.ask("variant", lab.words(call), text, right, pool, "Run with two sets of inputs.", [one])


def exception(lab: Lab) -> Iterator[Question]:
    """Ask which line raises an exception after a change to another line."""
    for call in lab.settled_calls:
        mutants = [change for change, said in lab.mutants(call).items() if said[0] == RAISES]
        for change in lab.rng.sample(mutants, min(MOST_RAISING, len(mutants))):
            place, other = (lab.run(replay, change).raised for replay in (call.replay, call.twin))
            own = lab.program.by_place.get(place) if place == other and place else None
            if own and own is not change.own:
                pool = [one.name for one in lab.ran(call) if one.place != place and one.path == own.path]
                text = f"{change.sentence} Then the call raises an exception. In which line?"
                because, lines = "Run with two sets of inputs.", [change.own, own]
                yield from lab.ask("exception", lab.words(call), text, own.name, pool, because, lines)


KINDS: Mapping[str, Callable[[Lab], Iterator[Question]]] = {
    "times": times,
    "shape": shape,
    "number": number,
    "effect": effect,
    "swap": swap,
    "variant": variant,
    "exception": exception,
    "heatmap": heatmap,
}

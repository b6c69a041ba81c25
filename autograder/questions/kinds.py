"""The kinds of questions. Each is one function: it takes the lab and yields drafts with what running the code gave."""

import ast
import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from autograder.questions.calls import Call, listed, with_values
from autograder.questions.facts import EVERYWHERE, RAISES, SAME_RESULT, is_nice, shape_text
from autograder.questions.lab import Lab, Mutant
from autograder.questions.program import LONGEST, Change, Own, Place, Program
from autograder.questions.question import Draft, Map
from autograder.questions.rewrites import rewrites
from autograder.questions.runs import LineValue, Outcome

WEIGHTS = "attention weights"  # the name that a worker gives to what an operation gave, if its rows are weights
MOST_TIMES = 40
CLEAR = 0.15  # between two heatmaps, of their range
MOST_WORDS = 260  # about the weights of a call
ATTEMPTS, MOST_RUNS = 10, 150  # to find numbers that are easy to compute with


def times(lab: Lab) -> Iterator[Draft]:
    """How often a line runs in a call."""
    inner = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda)  # nobody knows how often these run
    for call in lab.some_calls:
        counts = call.base.counts
        own = [one for one in lab.ran(call) if one.simple and 1 < counts[one.place] <= MOST_TIMES]
        own = [one for one in own if not any(isinstance(node, inner) for node in ast.walk(one.node))]
        lab.rng.shuffle(own)
        for one in own[:2]:
            n = counts[one.place]
            near = {n - 1, n + 1, 2 * n, n // 2, 3 * n, 1, *counts.values(), *call.sizes} - {0, n}
            pool = dict.fromkeys((str(number) for number in sorted(near) if 0 < number <= 2 * MOST_TIMES), "")
            text = f"{lab.words(call)}. How often does line {one.line} run in this call?"
            yield Draft(text, str(n), pool, f"Counted in a run: {n}.", [one], call, key=float)


def shape(lab: Lab) -> Iterator[Draft]:
    """The shape of a tensor after a line, of several axes."""
    for call in lab.some_calls:
        given = {np.shape(value) for _, value in call.arguments(lab.program)}
        found: dict[tuple[Place, str], set[tuple[int, ...]]] = {}
        for one in call.base.lines:
            if one.name != WEIGHTS:
                found.setdefault((one.place, one.name), set()).add(one.shape or ())
        steady = {place: next(iter(shapes)) for place, shapes in found.items() if len(shapes) == 1}
        fit = [one for one in steady.items() if len(one[1]) >= 3 and one[1] not in given and len(set(one[1])) > 2]
        lab.rng.shuffle(fit)
        for (place, name), right in sorted(fit, key=lambda one: -len(one[1]))[:2]:
            own = lab.program.by_place.get(place)
            if own is None or (len(right) < 4 and len(fit) > 4):
                continue
            pool = {*itertools.permutations(right), *(one for one in steady.values() if len(one) >= len(right) - 1)}
            what = f"has what line {own.line} returns" if name == "return" else f"has `{name}` after line {own.line}"
            text = f"{lab.words(call)}. What shape {what}?"
            wrong = dict.fromkeys(map(shape_text, sorted(pool - {right})), "")
            yield Draft(text, shape_text(right), wrong, "Read in a run.", [own], call, key=ast.literal_eval)


def effect(lab: Lab) -> Iterator[Draft]:
    """What a change of a line does to a call."""
    for call in lab.some_calls:
        mutants = lab.mutants(call)
        heads = sorted({one.facts[0] for one in mutants})
        lab.rng.shuffle(heads)
        for right in sorted(heads, key=lambda one: one == EVERYWHERE):
            group = [one for one in mutants if one.facts[0] == right]
            lab.rng.shuffle(group)
            chosen = next((one for one in group if right != SAME_RESULT or lab.never_matters(one.change)), None)
            if chosen:
                pool = sorted({fact for one in mutants for fact in one.facts} - {*chosen.facts})
                text = f"{lab.words(call)}. {chosen.change.sentence} What happens to the result?"
                because = f"Run with two sets of inputs: {' '.join(chosen.facts)}"
                yield Draft(text, right, dict.fromkeys(pool, ""), because, [chosen.change.own], call)


def heatmap(lab: Lab) -> Iterator[Draft]:
    """Which change turns one picture into another."""
    for call in lab.some_calls:
        place = _weights(call.base)
        weights = any(request["do"] == "state" for request, _ in call.replay.requests)
        before = _map(call.base, place) if place or not weights else None  # what weights give, nobody can guess
        if before is None or min(before.shape) < 2 or max(before.shape) > 12:
            continue
        span = float(np.ptp(before)) or 1.0
        maps: list[tuple[Mutant, np.ndarray]] = []
        for one in lab.mutants(call) if not call.base.several or place else ():
            if one.facts[0] in (RAISES, SAME_RESULT):
                continue
            after = _map(lab.bench.run(call.replay, one.change, watch=True), place)
            if after is None or after.shape != before.shape:
                continue
            if all(np.abs(after - other).max() > CLEAR * span for other in (before, *(found for _, found in maps))):
                maps.append((one, after))
        lab.rng.shuffle(maps)
        for chosen, after in maps[:2]:
            others = [one.change for one, _ in maps if one is not chosen]
            text = f"{lab.words(call)}. One picture shows {_pictured(call, place)}, the other one the same after a"
            text += " change. Which change?"
            because = "All four were run with these inputs; each gives a different picture."
            if len(others) > 2:
                pool = dict.fromkeys((one.option for one in others), "")
                lines = [chosen.change.own, *(one.own for one in others)]
                maps_ = (("before", _rows(before)), ("after", _rows(after)))
                yield Draft(text, chosen.change.option, pool, because, lines, call, maps_)


def _weights(base: Outcome) -> tuple[Place, str] | None:
    """Where the last attention weights of a call were computed."""
    for one in reversed(base.lines):
        fits = one.name == WEIGHTS and isinstance(one.value, np.ndarray) and min(one.value.shape[-2:]) > 1
        if fits and bool((one.value < 1).any()):
            return one.place, one.name
    return None


def _pictured(call: Call, place: tuple[Place, str] | None) -> str:
    """What a picture shows, in words."""
    if place is None:
        return f"`result{[-1, *[0] * (np.ndim(call.base.values[0]) - 3)] if np.ndim(call.base.values[0]) > 2 else ''}`"
    axes = next(len(one.shape or ()) for one in reversed(call.base.lines) if (one.place, one.name) == place)
    index = [-1, *[0] * (axes - 3)]
    return f"the attention weights of line {place[0][1]} at `{index}` (rows: queries, columns: keys)"


def _map(outcome: Outcome, place: tuple[Place, str] | None) -> np.ndarray | None:
    """The last sentence's matrix, of the first head, in a result or in what a line computed."""
    if not outcome.ok:
        return None
    value: Any = outcome.values[0]
    if place:
        value = next((one.value for one in reversed(outcome.lines) if (one.place, one.name) == place), None)
    if not isinstance(value, np.ndarray) or value.ndim < 2 or not np.isfinite(value).all() or not value.size:
        return None
    for axis in range(value.ndim - 2):
        value = value[0 if axis else -1]
    return value.astype(np.float64)


def _rows(array: np.ndarray) -> Map:
    return [[round(float(one), 2) for one in row] for row in array]


def swap(lab: Lab) -> Iterator[Draft]:
    """Which two neighbouring lines may change places."""
    free: list[tuple[Own, Own]] = []
    bound: list[tuple[Own, Own]] = []
    for first, second in lab.program.neighbours():
        if first.text != second.text:
            matters = lab.never_matters(lab.program.swapped(first, second), train=True)
            if matters is not None:
                (free if matters else bound).append((first, second))
    because = "All exchanges were run in calls as the tests make them, in eval and in train mode."
    for rights, others, words in ((free, bound, CAN), (bound, free, CANNOT)):
        lab.rng.shuffle(rights)
        for right in rights[:2]:
            pairs = [f"lines {one[0].line} and {one[1].line}" for one in (right, *others)]
            lines = [one for pair in (right, *others) for one in pair]
            pool = dict.fromkeys(pairs[1:], "")
            text = f"Which two of these lines {words}?"
            yield Draft(text, pairs[0], pool, because, lines, key=lambda one: int(one.split()[1]))


CAN = "can change places without changing any result, in train mode too"
CANNOT = "cannot change places without changing a result or raising an exception"


def variant(lab: Lab) -> Iterator[Draft]:
    """Which other text of a line computes the same."""
    ran = {one for call in lab.calls for one in lab.ran(call)}
    own = [one for one in lab.program.own if one.simple and one in ran]
    own = [one for one in own if len(one.text) <= LONGEST]
    lab.rng.shuffle(own)
    for one in own[:8]:
        texts = list(dict.fromkeys(text for text in rewrites(one.node) if text != one.text))
        lab.rng.shuffle(texts)
        for text in texts[:6]:
            change = lab.program.with_text(one, text)
            if lab.never_matters(change):
                near = max(8, len(change.new) // 3)
                others = [other.new for other in _differing(lab, one, change)]
                pool = {f"`{new}`": "" for new in others if abs(len(new) - len(change.new)) <= near}
                asked = f"Which line could replace line {one.line}, `{one.text}`, without changing any result?"
                because = "All were run in calls as the tests make them: only this one never gives another result."
                if len(pool) > 1:
                    yield Draft(asked, f"`{change.new}`", pool, because, [one])
                    break


def _differing(lab: Lab, own: Own, equal: Change) -> list[Change]:
    """Small changes of a rewritten line that give another result."""
    source = lab.program.sources[own.module]
    lines = source.splitlines()
    indent = lines[own.line - 1][: len(lines[own.line - 1]) - len(lines[own.line - 1].lstrip())]
    end = own.node.end_lineno or own.line
    lines[own.line - 1 : end] = [indent + equal.new, *[""] * (end - own.line)]
    other = Program({**lab.program.sources, own.module: "\n".join(lines) + "\n"}, lab.program.given, lab.program.writes)
    rewritten = other.by_place.get(own.place)
    found = []
    for change in itertools.islice(other.changes(rewritten), 24) if rewritten else ():
        if change.new and change.new != own.text and lab.never_matters(change) is False:
            found.append(change)
    return found[:12]


def failing_test(lab: Lab) -> Iterator[Draft]:
    """Which test fails after a change."""
    for call in lab.some_calls[:2] if len(lab.tests) > 2 else ():
        mutants = [one.change for one in lab.mutants(call) if one.facts[0] not in (SAME_RESULT, RAISES)]
        lab.rng.shuffle(mutants)
        for one in mutants[:4]:
            passing = lab.outcomes_of_tests(one)
            fails = [name for name, passed in passing.items() if not passed]
            if fails and len(passing) - len(fails) > 1:
                right = lab.rng.choice(fails)
                pool = {lab.title(name): "It passes." for name in passing if name not in fails}
                text = f"{one.sentence} Which of these tests fails then?"
                order = [*map(lab.title, lab.tests)]
                because = "The tests were run with this change."
                yield Draft(text, lab.title(right), pool, because, [one.own], call, key=order.index)


def result(lab: Lab) -> Iterator[Draft]:
    """A number of the result, to be computed by hand."""
    yield from _by_hand(lab, "result")


def value(lab: Lab) -> Iterator[Draft]:
    """What a line computes, to be computed by hand."""
    yield from _by_hand(lab, "value")


def _by_hand(lab: Lab, kind: str) -> Iterator[Draft]:
    calls = list(lab.tiny)
    lab.rng.shuffle(calls)
    begin = lab.bench.runs
    for tiny in calls[:3]:
        for _ in range(ATTEMPTS if lab.bench.runs < begin + MOST_RUNS else 0):
            call = with_values(_bare(tiny), lab.bench, lab.rng, _pattern(lab), _numbers(lab))
            if call is None or sum(array.size for array in call.tensors.values()) > 40:
                continue
            if len(_weights_in_words(call)) > MOST_WORDS:  # nobody computes with so many weights
                break
            targets = _targets(lab, call, kind)
            lab.rng.shuffle(targets)
            made = next((one for target in targets[:2] if (one := _number(lab, call, kind, *target))), None)
            if made:
                yield made
                break


def _bare(call: Call) -> Any:
    requests = [one for one in call.replay.requests if one[0]["do"] == "call" and one[0].get("method") != "eval"]
    return replace(call.replay, requests=tuple(requests))


def _pattern(lab: Lab) -> Callable[[str, tuple[int, ...]], np.ndarray]:
    def fill(name: str, shape: tuple[int, ...]) -> np.ndarray:
        if len(shape) < 2:
            return np.zeros(shape) if "bias" in name or not shape else np.ones(shape)
        if shape[0] == shape[1] and len(shape) == 2 and lab.rng.random() < 0.7:
            return np.eye(shape[0]) * lab.rng.choice((1, 1, 2))
        return np.full(shape, lab.rng.choice((0.0, 1.0)))

    return fill


def _numbers(lab: Lab) -> Callable[[str, tuple[int, ...]], np.ndarray]:
    choice = lab.rng.choice(((0, 1, 2, 3, 4, 6), (0, 0, 1), (1, 2, 4, 8), (-1, 0, 2, 3)))

    def fill(name: str, shape: tuple[int, ...]) -> np.ndarray:
        if lab.rng.random() < 0.25:
            return np.zeros(shape)
        return np.array([lab.rng.choice(choice) for _ in range(int(np.prod(shape)))], np.float64).reshape(shape)

    return fill


Reader = Callable[[Outcome], str | None]


def _targets(lab: Lab, call: Call, kind: str) -> list[tuple[str, Own | None, Reader]]:
    """What can be asked about a call: in words, the line, and how to read it in an outcome."""
    if kind == "result":
        value = np.asarray(call.base.values[0])
        places: list[tuple[int, ...]] = [()]
        if value.size > 8:
            places = [*np.ndindex(value.shape[:-1])][:4] if value.shape[-1] <= 4 else []
        words = {place: f"`result{[*place]}`" if place else "the result" for place in places}
        return [(f"is {words[one]}", None, partial(_element, one)) for one in places if not call.base.several]
    found: list[tuple[str, Own | None, Reader]] = []
    for one in call.base.lines:
        own = lab.program.by_place.get(one.place)
        if own and one.name != WEIGHTS and own.simple and call.base.counts[one.place] == 1 and _text(one):
            name = f"does line {own.line} return" if one.name == "return" else f"is `{one.name}` after line {own.line}"
            found.append((name, own, partial(_value_at, one)))
    return found


def _element(place: tuple[int, ...], out: Outcome) -> str | None:
    if not out.ok or out.several:
        return None
    value = np.asarray(out.values[0], np.float64)
    if value.ndim <= len(place) and place:
        return None
    try:
        return _as_option(value[place])
    except IndexError:
        return None


def _value_at(like: LineValue, out: Outcome) -> str | None:
    found = [one for one in out.lines if (one.place, one.name) == (like.place, like.name)]
    return _text(found[0]) if len(found) == 1 else None


def _text(one: LineValue) -> str | None:
    """A value as an option; None if it is too long, or no easy numbers."""
    if one.shape is None:
        try:
            plain = ast.literal_eval(str(one.value))
        except (ValueError, SyntaxError):
            return None
        if isinstance(plain, float):
            return _as_option(np.asarray(plain))
        return f"`{plain!r}`" if plain is not None and len(repr(plain)) < 40 else None
    return _as_option(one.value) if isinstance(one.value, np.ndarray) and one.value.size else None


def _as_option(value: np.ndarray) -> str | None:
    return f"`{listed(value)}`" if value.size <= 8 and all(map(is_nice, value.flat)) else None


def _number(lab: Lab, call: Call, kind: str, what: str, own: Own | None, read: Reader) -> Draft | None:
    right = read(call.base)
    given = {f"`{listed(one)}`" for _, one in call.arguments(lab.program) if isinstance(one, np.ndarray)}
    if right is None or right in given or right.count("0") == sum(one.isdigit() for one in right):
        return None
    pool: dict[str, str] = {}
    for change in itertools.islice(lab.changes(call), 40):
        if own is None or change.own.line <= own.line or change.own.path != own.path:
            text = read(lab.bench.run(call.replay, change, watch=kind == "value"))
            if text and text != right and "[]" not in text:
                pool.setdefault(text, f"That is it after a change: {change.sentence}")
    alike = [one for one in sorted(pool) if _brackets(one) == _brackets(right)]
    wrong = {one: pool[one] for one in (alike if len(alike) > 2 else sorted(pool))}
    if len(wrong) < 3:
        return None
    text = f"{lab.words(call, whole=True)}.{_weights_in_words(call)} What {what}? Numbers are rounded to two digits."
    lines = [own] if own else lab.ran(call)[-1:]
    return Draft(text, right, wrong, "Computed in a run.", lines, call, key=_size)


def _brackets(text: str) -> int:
    """How deep the lists of a value are."""
    return len(text) - len(text.lstrip("`[(")) if text[1:2] in "[(" else 0


def _size(text: str) -> float:
    """What a text of numbers adds up to."""
    numbers = "".join(one if one.isdigit() or one in ".-e" else " " for one in text).split()
    total = 0.0
    for one in numbers:
        try:
            total += float(one)
        except ValueError:
            continue
    return total


def _weights_in_words(call: Call) -> str:
    groups: dict[str, list[str]] = {}
    for request, tensors in call.replay.requests:
        for name, array in tensors.items() if request["do"] == "state" else ():
            if array.dtype.kind != "f" or (array.ndim < 2 and "bias" in name and not array.any()):
                continue
            square = array.ndim == 2 and array.shape[0] == array.shape[1]
            if array.size and np.ptp(array) == 0:
                groups.setdefault(f"all {listed(array.flat[0])}", []).append(name)
            elif square and (array == np.eye(len(array)) * array[0, 0]).all():
                times = "" if array[0, 0] == 1 else f"{listed(array[0, 0])} times "
                groups.setdefault(f"{times}the identity matrix", []).append(name)
    if not groups:
        return ""
    parts = [
        f"{', '.join(f'`{one}`' for one in names)} {'is' if len(names) == 1 else 'are'} {words}"
        for words, names in groups.items()
    ]
    return f" Weights: {'; '.join(parts)}; biases are 0."


KINDS: Mapping[str, tuple[int, Callable[[Lab], Iterator[Draft]]]] = {  # name -> difficulty, and what makes drafts
    "times": (1, times),
    "shape": (2, shape),
    "value": (2, value),
    "result": (2, result),
    "effect": (2, effect),
    "swap": (2, swap),
    "variant": (2, variant),
    "test": (3, failing_test),
    "heatmap": (3, heatmap),
}

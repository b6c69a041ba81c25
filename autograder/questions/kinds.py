"""The kinds of questions. Each is one function: it takes the lab and yields questions whose answers were computed."""

import ast
import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from autograder.questions.calls import Call, arguments, is_random, listed, with_values
from autograder.questions.facts import (
    EVERYWHERE,
    RAISES,
    SAME_RESULT,
    facts,
    is_nice,
    number_text,
    shape_text,
)
from autograder.questions.lab import Lab, Mutant, shown, told, with_inputs
from autograder.questions.program import LONGEST, SIMPLE, Change, Own, Program
from autograder.questions.question import Map, Question, pick
from autograder.questions.rewrites import rewrites
from autograder.questions.runs import LineValue, Outcome

WEIGHTS = "attention weights"  # the name that a worker gives to what an operation gave, if its rows are weights
Kind = Callable[[Lab], Iterator[Question]]
MOST_TIMES = 40
CLEAR = 0.15  # between two heatmaps, of their range
MOST_WORDS = 260  # about the weights of a call
ATTEMPTS, MOST_RUNS = 10, 150  # to find numbers that are easy to compute with


def times(lab: Lab) -> Iterator[Question]:
    """How often a line runs in a call."""
    for call in lab.some_calls():
        counts = call.base.counts
        own = [
            one
            for one in lab.ran(call)
            if isinstance(one.node, SIMPLE) and 1 < counts[one.file, one.line] <= MOST_TIMES and not _repeats(one)
        ]
        lab.rng.shuffle(own)
        for one in own[:2]:
            n = counts[one.file, one.line]
            near = {n - 1, n + 1, 2 * n, n // 2, 3 * n, 1, *counts.values(), *call.sizes} - {0, n}
            wrong = pick(lab.rng, n, sorted(w for w in near if 0 < w <= 2 * MOST_TIMES), float)
            if wrong:
                text = f"{lab.words(call)}. How often does line {one.line} run in this call?"
                notes = dict.fromkeys(map(str, wrong), "")
                yield lab.question("times", 1, text, str(n), notes, f"Counted in a run: {n}.", [one], call)


def _repeats(own: Own) -> bool:
    """Whether a statement repeats something itself, so that nobody knows how often it runs."""
    inner = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda)
    return any(isinstance(one, inner) for one in ast.walk(own.node))


def shape(lab: Lab) -> Iterator[Question]:
    """The shape of a tensor after a line, of several axes."""
    for call in lab.some_calls():
        given = {np.shape(value) for _, value in arguments(call, lab.program)}
        found: dict[tuple[str, int, str], set[tuple[int, ...]]] = {}
        for one in call.base.lines:
            if one.name == WEIGHTS:
                continue
            found.setdefault((one.file, one.line, one.name), set()).add(one.shape or ())
        whole = {next(iter(shapes)) for shapes in found.values() if len(shapes) == 1}
        places = [(place, next(iter(shapes))) for place, shapes in found.items() if len(shapes) == 1]
        fit = [(place, one) for place, one in places if len(one) >= 3 and one not in given and len(set(one)) > 2]
        lab.rng.shuffle(fit)
        for (file, line, name), right in sorted(fit, key=lambda one: -len(one[1]))[:2]:
            own = lab.program.by_line.get((file, line))
            if own is None or (len(right) < 4 and len(fit) > 4):
                continue
            pool = {*itertools.permutations(right), *(one for one in whole if len(one) >= len(right) - 1)} - {right}
            wrong = pick(lab.rng, right, sorted(pool), lambda one: one)  # type: ignore[arg-type,return-value]
            if wrong:
                what = f"has `{name}` after line {line}" if name != "return" else f"has what line {line} returns"
                text = f"{lab.words(call)}. What shape {what}?"
                notes = dict.fromkeys(map(shape_text, wrong), "")
                yield lab.question(
                    "shape", 1 if len(right) < 4 else 2, text, shape_text(right), notes, "Read in a run.", [own], call
                )


def reach(lab: Lab) -> Iterator[Question]:
    """A line that does not run in a call, among lines that do; or the other way round."""
    for call in lab.some_calls(5):
        inside = lab.program.functions_with({place for place, count in call.base.counts.items() if count})
        own = [one for one in lab.program.own if isinstance(one.node, SIMPLE) and (one.module, one.path) in inside]
        ran = [one for one in own if call.base.counts.get((one.file, one.line))]
        idle = [one for one in own if one not in ran]
        for rights, others, words in ((idle, ran, "does not run"), (ran, idle, "runs")):
            if rights and len(others) >= 3:
                right = lab.rng.choice(rights)
                wrong = pick(lab.rng, right, others, lambda one: one.line)
                if wrong:
                    text = f"{lab.words(call)}. Which of these lines {words} in this call?"
                    notes = {_line(one): "It runs." if words != "runs" else "It does not run." for one in wrong}
                    yield lab.question("reach", 1, text, _line(right), notes, "Seen in a run.", [right, *wrong], call)


def _line(own: Own) -> str:
    if len(own.text) > LONGEST:
        return f"line {own.line}"
    return f"line {own.line}: `{own.text}`"


def effect(lab: Lab) -> Iterator[Question]:
    """What a change of a line does to a call."""
    for call in lab.some_calls():
        mutants = lab.mutants(call)
        heads = sorted({one.facts[0] for one in mutants})
        lab.rng.shuffle(heads)
        for right in sorted(heads, key=lambda one: one == EVERYWHERE):
            group = [one for one in mutants if one.facts[0] == right]
            lab.rng.shuffle(group)
            chosen = next((one for one in group if right != SAME_RESULT or lab.never_matters(one.change)), None)
            if chosen is None:
                continue
            pool = sorted({fact for one in mutants for fact in one.facts} - {*chosen.facts})
            wrong = pick(lab.rng, right, pool, len)
            if wrong:
                text = f"{lab.words(call)}. {told(chosen.change)} What happens to the result?"
                because = f"Run with two sets of inputs: {' '.join(chosen.facts)}"
                yield lab.question(
                    "effect", 2, text, right, dict.fromkeys(wrong, ""), because, [chosen.change.own], call
                )


def cause(lab: Lab) -> Iterator[Question]:
    """Which of some changes has an effect."""
    for call in lab.some_calls():
        mutants = lab.mutants(call)
        heads = sorted({one.facts[0] for one in mutants} - {EVERYWHERE})
        lab.rng.shuffle(heads)
        for fact in heads:
            group = [one for one in mutants if fact in one.facts]
            others = [one for one in mutants if fact not in one.facts]
            lab.rng.shuffle(group)
            chosen = next((one for one in group if fact != SAME_RESULT or lab.never_matters(one.change)), None)
            if chosen is None or len({one.change.line for one in others}) < 2:
                continue
            lab.rng.shuffle(others)
            of_lines = list({one.change.line: one for one in others}.values())
            pool = of_lines if len(of_lines) > 2 else others
            wrong = pick(lab.rng, chosen, pool, lambda one: len(shown(one.change)))
            if wrong:
                text = f"{lab.words(call)}. After only one of these changes this is true: {fact} Which change is it?"
                notes = {shown(one.change): one.facts[0] for one in wrong}
                own = [one.change.own for one in (chosen, *wrong)]
                yield lab.question(
                    "cause",
                    2,
                    text,
                    shown(chosen.change),
                    notes,
                    "All were run, each with two sets of inputs.",
                    own,
                    call,
                )


def heatmap(lab: Lab) -> Iterator[Question]:
    """Which change turns one picture into another."""
    for call in lab.some_calls():
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
            others = [one for one, _ in maps if one is not chosen]
            wrong = pick(lab.rng, chosen, others, lambda one: len(shown(one.change)))
            if wrong and len(wrong) == 3:
                text = f"{lab.words(call)}. One picture shows {_pictured(call, place)}, the other one the same after a"
                text += " change. Which change?"
                notes = {shown(one.change): "" for one in wrong}
                pictures = (("before", _rows(before)), ("after", _rows(after)))
                own = [one.change.own for one in (chosen, *wrong)]
                yield lab.question(
                    "heatmap",
                    3,
                    text,
                    shown(chosen.change),
                    notes,
                    "All four were run with these inputs; each gives a different picture.",
                    own,
                    call,
                    pictures,
                )


def _weights(base: Outcome) -> tuple[str, int, str] | None:
    """Where the last attention weights of a call were computed."""
    return next(
        ((one.file, one.line, one.name) for one in reversed(base.lines) if one.name == WEIGHTS and _is_map(one)), None
    )


def _pictured(call: Call, place: tuple[str, int, str] | None) -> str:
    """What a picture shows, in words."""
    if place is None:
        return f"`result{[-1, *[0] * (np.ndim(call.base.values[0]) - 3)] if np.ndim(call.base.values[0]) > 2 else ''}`"
    axes = next(len(one.shape or ()) for one in reversed(call.base.lines) if (one.file, one.line, one.name) == place)
    index = [-1, *[0] * (axes - 3)]
    return f"the attention weights of line {place[1]} at `{index}` (rows: queries, columns: keys)"


def _is_map(one: LineValue) -> bool:
    return isinstance(one.value, np.ndarray) and min(one.value.shape[-2:]) > 1 and bool((one.value < 1).any())


def _map(outcome: Outcome, place: tuple[str, int, str] | None) -> np.ndarray | None:
    if outcome.error or not outcome.ok:
        return None
    value: Any = outcome.values[0]
    if place:
        value = next((one.value for one in reversed(outcome.lines) if (one.file, one.line, one.name) == place), None)
    if not isinstance(value, np.ndarray) or value.ndim < 2 or not np.isfinite(value).all() or not value.size:
        return None
    array = value.astype(np.float64)
    for axis in range(array.ndim - 2):  # the last sentence, the first head
        array = array[-1 if axis == 0 else 0]
    return array


def _rows(array: np.ndarray) -> Map:
    return [[round(float(one), 2) for one in row] for row in array]


def swap(lab: Lab) -> Iterator[Question]:
    """Which two neighbouring lines may change places."""
    free: list[tuple[Own, Own]] = []
    bound: list[tuple[Own, Own]] = []
    for first, second in lab.program.neighbours():
        if first.text == second.text:
            continue
        matters = lab.never_matters(lab.program.swapped(first, second), train=True)
        if matters is not None:
            (free if matters else bound).append((first, second))
    for rights, others, words in ((free, bound, CAN), (bound, free, CANNOT)):
        lab.rng.shuffle(rights)
        for right in rights[:2]:
            wrong = pick(lab.rng, right, others, lambda one: one[0].line)
            if wrong:
                text = f"Which two of these lines {words}?"
                notes = dict.fromkeys(map(_pair, wrong), "")
                own = [one for pair in (right, *wrong) for one in pair]
                yield lab.question(
                    "swap",
                    2,
                    text,
                    _pair(right),
                    notes,
                    "All exchanges were run in calls as the tests make them, in eval and in train mode.",
                    own,
                )


CAN = "can change places without changing any result, in train mode too"
CANNOT = "cannot change places without changing a result or raising an exception"


def _pair(pair: tuple[Own, Own]) -> str:
    return f"lines {pair[0].line} and {pair[1].line}"


def variant(lab: Lab) -> Iterator[Question]:
    """Which other text of a line computes the same."""
    own = [
        one
        for one in lab.program.own
        if isinstance(one.node, SIMPLE) and any(one in lab.ran(call) for call in lab.calls)
    ]
    own = [one for one in own if len(one.text) <= LONGEST]
    lab.rng.shuffle(own)
    for one in own[:8]:
        texts = list(dict.fromkeys(text for text in rewrites(one.node) if text != one.text))
        lab.rng.shuffle(texts)
        for text in texts[:6]:
            change = lab.program.with_text(one, text)
            if change is None or not change.new or not lab.never_matters(change):
                continue
            others = _differing(lab, one, change)
            near = max(8, len(change.new) // 3)
            pool = [other.new for other in others if abs(len(other.new) - len(change.new)) <= near]
            wrong = pick(lab.rng, change.new, pool, len)
            if wrong:
                question = f"Which line could replace line {one.line}, `{one.text}`, without changing any result?"
                notes = {f"`{new}`": "" for new in wrong}
                yield lab.question(
                    "variant",
                    2,
                    question,
                    f"`{change.new}`",
                    notes,
                    "All were run in calls as the tests make them: only this one never gives another result.",
                    [one],
                )
                break


def _differing(lab: Lab, own: Own, equal: Change) -> list[Change]:
    """Small changes of a rewritten line that give another result."""
    source = lab.program.sources[own.module]
    lines = source.splitlines()
    indent = lines[own.line - 1][: len(lines[own.line - 1]) - len(lines[own.line - 1].lstrip())]
    end = own.node.end_lineno or own.line
    lines[own.line - 1 : end] = [indent + equal.new, *[""] * (end - own.line)]
    other = Program({**lab.program.sources, own.module: "\n".join(lines) + "\n"}, lab.program.given, lab.program.writes)
    rewritten = other.by_line.get((own.file, own.line))
    found = []
    for change in itertools.islice(other.changes(rewritten), 24) if rewritten else ():
        if change.new and change.new != own.text and lab.never_matters(change) is False:
            found.append(change)
    return found[:12]


def failing_test(lab: Lab) -> Iterator[Question]:
    """Which test fails after a change."""
    if len(lab.tests) < 3:
        return
    for call in lab.some_calls(2):
        mutants = [one for one in lab.mutants(call) if one.facts[0] not in (SAME_RESULT, RAISES)]
        lab.rng.shuffle(mutants)
        for one in mutants[:4]:
            passing = lab.outcomes_of_tests(one.change)
            fails = [name for name, passed in passing.items() if not passed]
            order = [*lab.tests]
            if not fails or len(passing) - len(fails) < 2:
                continue
            right = lab.rng.choice(fails)
            wrong = pick(lab.rng, right, [name for name in passing if name not in fails], order.index)
            if wrong:
                text = f"{told(one.change)} Which of these tests fails then?"
                notes = {f'"{lab.title(name)}"': "It passes." for name in wrong}
                yield lab.question(
                    "test",
                    3,
                    text,
                    f'"{lab.title(right)}"',
                    notes,
                    "The tests were run with this change.",
                    [one.change.own],
                    call,
                )


def influence(lab: Lab) -> Iterator[Question]:
    """Which part of the result depends on one position of an input."""
    for call in lab.some_calls():
        tensors = call.replay.requests[-1][1]
        names = {value["$tensor"]: name for name, value in _named_tensors(lab, call)}
        fit = [one for one, array in tensors.items() if one in names and array.ndim > 1 and is_random(array)]
        lab.rng.shuffle(fit)
        for one in fit[:2]:
            array = tensors[one]
            places = list(np.ndindex(array.shape[: min(2, array.ndim - 1)]))
            lab.rng.shuffle(places)
            place = places[0]
            right = _spread(lab, call, one, place)
            if not right:
                continue
            pool = {SAME_RESULT, EVERYWHERE} if not call.base.several else {SAME_RESULT}
            pool |= {fact for other in places[1:6] for fact in _spread(lab, call, one, other)[-1:]}
            changes = [mutant.change for mutant in lab.mutants(call)]
            lab.rng.shuffle(changes)
            pool |= {fact for change in changes[:6] for fact in _spread(lab, call, one, place, change)[-1:]}
            wrong = pick(lab.rng, right[-1], sorted(pool - {*right, RAISES}), len)
            if wrong:
                where = f"{names[one]}[{', '.join(map(str, place))}]"
                text = f"{lab.words(call)}. A second call differs only in `{where}`. What is different in its result?"
                yield lab.question(
                    "influence",
                    2,
                    text,
                    right[-1],
                    dict.fromkeys(wrong, ""),
                    "Run with two sets of inputs.",
                    lab.ran(call)[:1],
                    call,
                )


def _named_tensors(lab: Lab, call: Call) -> Iterator[tuple[str, Any]]:
    request = call.request
    names = [name for name, _ in arguments(call, lab.program)]
    for name, value in zip(names, [*request["args"], *request["kwargs"].values()], strict=True):
        if isinstance(value, dict) and list(value) == ["$tensor"]:
            yield name, value


def _spread(lab: Lab, call: Call, tensor: str, place: tuple[int, ...], change: Change | None = None) -> tuple[str, ...]:
    """The facts about a call after one position of an input has changed, where both sets of inputs agree."""

    def moved(tensors: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        new = tensors[tensor].copy()
        new[place] = new[place][..., ::-1] * 0.9 + np.linspace(0.3, 0.8, new[place].size).reshape(new[place].shape)
        return {**tensors, tensor: new}

    found = []
    for replay, base in ((call.replay, call.base), (call.twin, call.twin_base)):
        before = base if change is None else lab.bench.run(replay, change)
        found.append(facts(before, lab.bench.run(with_inputs(call, replay, moved), change)))
    return found[0] if found[0] == found[1] else ()


def result(lab: Lab) -> Iterator[Question]:
    """A number of the result, to be computed by hand."""
    yield from _by_hand(lab, "result")


def value(lab: Lab) -> Iterator[Question]:
    """What a line computes, to be computed by hand."""
    yield from _by_hand(lab, "value")


def _by_hand(lab: Lab, kind: str) -> Iterator[Question]:
    calls = list(lab.tiny)
    lab.rng.shuffle(calls)
    begin = lab.bench.runs
    for tiny in calls[:3]:
        for _ in range(ATTEMPTS if lab.bench.runs < begin + MOST_RUNS else 0):
            call = with_values(_bare(tiny), lab.bench, lab.rng, _pattern(lab), _numbers(lab))
            if call is None or sum(array.size for array in call.replay.requests[-1][1].values()) > 40:
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
    return replace(
        call.replay,
        requests=tuple(
            one for one in call.replay.requests if one[0]["do"] == "call" and one[0].get("method") != "eval"
        ),
    )


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
        return [(words[place], None, partial(_element, place)) for place in places if not call.base.several]
    found: list[tuple[str, Own | None, Reader]] = []
    for one in call.base.lines:
        own = lab.program.by_line.get((one.file, one.line))
        if (
            own
            and one.name != WEIGHTS
            and isinstance(own.node, SIMPLE)
            and call.base.counts[one.file, one.line] == 1
            and _text(one)
        ):
            name = f"`{one.name}` after line {one.line}" if one.name != "return" else f"what line {one.line} returns"
            found.append((name, own, partial(_value_at, one)))
    return found


def _element(place: tuple[int, ...], out: Outcome) -> str | None:
    if not out.ok or out.several:
        return None
    value = np.asarray(out.values[0], np.float64)
    if value.ndim <= len(place) and place:
        return None
    try:
        value = value[place]
    except IndexError:
        return None
    return f"`{listed(value)}`" if value.size <= 8 and all(map(is_nice, value.flat)) else None


def _value_at(like: LineValue, out: Outcome) -> str | None:
    found = [one for one in out.lines if (one.file, one.line, one.name) == (like.file, like.line, like.name)]
    return _text(found[0]) if len(found) == 1 else None


def _text(one: LineValue) -> str | None:
    """A value as an option; None if it is too long, or no easy numbers."""
    if one.shape is None:
        try:
            plain = ast.literal_eval(str(one.value))
        except (ValueError, SyntaxError):
            return None
        if isinstance(plain, float):
            return f"`{number_text(plain)}`" if is_nice(plain) else None
        return f"`{plain!r}`" if plain is not None and len(repr(plain)) < 40 else None
    if not isinstance(one.value, np.ndarray) or not 0 < one.value.size <= 8:
        return None
    return f"`{listed(one.value)}`" if all(map(is_nice, one.value.flat)) else None


def _number(lab: Lab, call: Call, kind: str, what: str, own: Own | None, read: Reader) -> Question | None:
    right = read(call.base)
    given = {f"`{listed(one)}`" for _, one in arguments(call, lab.program) if isinstance(one, np.ndarray)}
    if right is None or right in given or right.count("0") == sum(one.isdigit() for one in right):
        return None
    pool: dict[str, Change] = {}
    for change in itertools.islice(lab.changes(call), 40):
        if own is not None and change.line > own.line and change.path == own.path:
            continue
        text = read(lab.bench.run(call.replay, change, watch=kind == "value"))
        if text and text != right and "[]" not in text:
            pool.setdefault(text, change)
    alike = [one for one in sorted(pool) if _brackets(one) == _brackets(right)]
    wrong = pick(lab.rng, right, alike if len(alike) > 2 else sorted(pool), _size)
    if wrong is None or len(wrong) < 3 or any("`" not in one for one in wrong):
        return None
    asked = (
        f"What does {what.removeprefix('what ').removesuffix('s')}?" if what.startswith("what ") else f"What is {what}?"
    )
    text = f"{lab.words(call, whole=True)}.{_weights_in_words(call)} {asked} Numbers are rounded to two digits."
    notes = {one: f"That is it after a change: {told(pool[one])}" for one in wrong}
    lines = [own] if own else lab.ran(call)[-1:]
    return lab.question(kind, 2, text, right, notes, "Computed in a run.", lines, call)


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


KINDS: dict[str, Kind] = {
    "times": times,
    "shape": shape,
    "reach": reach,
    "value": value,
    "result": result,
    "effect": effect,
    "cause": cause,
    "swap": swap,
    "variant": variant,
    "influence": influence,
    "test": failing_test,
    "heatmap": heatmap,
}

"""The calls that questions are about: calls of the visible tests with smaller sizes and new numbers.

No code here is specific to a stage. A test shows how an object is created and called. Every size in this call is
replaced by a smaller one, and a run shows whether the sizes fit together.
"""

import itertools
import random
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from autograder.questions.program import Program
from autograder.questions.runs import PLAIN_CALL, Bench, Outcome, prepared, same
from autograder.sandbox.call_replay import MODES, CallReplay, Request
from autograder.sandbox.student_faults import StudentFault

TRIES, MOST_TRIED = 400, 60  # sets of smaller sizes generated for a call; of these, the best are tried
MOST_OBJECTS, MOST_WEIGHTS = 2, 120  # of a call
LARGEST = 20_000  # numbers in the inputs, and in the weights, of a call that is used
DISPLAYED = 60  # numbers that a question may show of one tensor of whole numbers
GENTLE = 0.7  # spread of random inputs: with larger ones, attention weights vanish
INDEX = re.compile(r"idx|index|_id$|token|seed")  # names of arguments that are not sizes
LEAVES = {"$handle", "$tensor", "$function", "$transposed"}
Fill = Callable[[str, tuple[int, ...]], np.ndarray]  # name, shape -> the numbers of a tensor


@dataclass(frozen=True, eq=False)
class Call:
    """A call, and a twin with other numbers."""

    replay: CallReplay
    twin: CallReplay
    base: Outcome  # with lines
    twin_base: Outcome

    @property
    def sizes(self) -> set[int]:
        """The sizes of all axes, and the whole numbers among the arguments."""
        return {*_sizes([one for one in self.replay.requests if one[0]["do"] == "call"])}

    def arguments(self, program: Program) -> list[tuple[str, Any]]:
        """The arguments with their names: arrays, or values other than tensors."""
        request, own = self.replay.requests[-1]
        named = _named(request, self.replay.requests, program)
        return [(name, own[one["$tensor"]] if _is_tensor(one) else one) for name, one in named]


def _useful(recipe: CallReplay, program: Program) -> bool:
    """Whether questions can be about a call: it runs the student's code on inputs that are neither empty nor large."""
    *before, (last, tensors) = recipe.requests
    if last["do"] != "call" or last.get("method") in MODES or any(one.get("stored") for one, _ in before):
        return False
    objects = [one["target"] for one, _ in before if one["do"] == "call" and isinstance(one["target"], str)]
    others = [one for one, _ in before if isinstance(one["target"], int) and one.get("method") not in MODES]
    if any(one["do"] != "state" for one in others) or len(objects) > MOST_OBJECTS:
        return False
    target = last["target"] if isinstance(last["target"], str) else objects[last["target"]]
    module, _, name = target.partition(".")
    if module not in program.sources or (isinstance(last["target"], str) and name[:1].isupper()):
        return False
    return sum(array.size for array in tensors.values()) <= LARGEST and all(array.size for array in tensors.values())


def sized_calls(recipes: Sequence[CallReplay], bench: Bench, tiny: bool) -> list[CallReplay]:
    """Return one call of each form in the tests, without weights, with the best small sizes with which it runs."""
    rng, program = random.Random(1 + tiny), bench.program
    forms: dict[str, list[CallReplay]] = {}
    for recipe in recipes:
        if _useful(recipe, program):
            forms.setdefault(_form(_plain_requests(recipe), program), []).append(recipe)
    found = []
    for alike in forms.values():
        recipe = min(alike, key=lambda one: (_alike(one.requests[-1][1].values()), len(_axes(one.requests))))
        requests = _plain_requests(recipe)
        made = [_with_sizes(requests, sizes, program) for sizes in _smaller(requests, rng, tiny)]
        for one in sorted(made, key=lambda one: _cost(one, requests, tiny))[:MOST_TRIED]:
            small = replace(recipe, requests=one, earlier=())
            if (replay := _filled(small, bench, rng)) and bench.run(replay).values:
                found.append(small)
                break
    return found


def with_values(
    small: CallReplay, bench: Bench, rng: random.Random, weights: Fill | None = None, inputs: Fill | None = None
) -> Call | None:
    """A call with new numbers, and a twin; None if it returns no numbers, or different ones each time."""
    first, twin = (_filled(small, bench, rng, weights, inputs) for _ in range(2))
    if first is None or twin is None:
        return None
    base, twin_base = bench.run(first, watch=True), bench.run(twin, watch=True)
    fits = base.values and twin_base.values and same(bench.run(first), base)
    return Call(first, twin, base, twin_base) if fits else None


def _function(request: Mapping[str, Any], requests: Sequence[Request]) -> tuple[str, str]:
    """The module and path of the function that a request calls."""
    target = request["target"]
    if isinstance(target, int):
        makers = [str(one["target"]) for one, _ in requests if isinstance(one.get("target"), str)]
        module, _, name = makers[target].partition(".")
        return module, f"{name}.{request['method'] or 'forward'}"
    module, _, name = target.partition(".")
    return module, f"{name}.__init__" if name[:1].isupper() else name


def _named(request: Mapping[str, Any], requests: Sequence[Request], program: Program) -> list[tuple[str, Any]]:
    """The arguments of a request with their names; those without a name are numbered."""
    names = [*program.parameters(*_function(request, requests)), *(f"argument {number}" for number in range(20))]
    return [*zip(names, request["args"], strict=False), *request["kwargs"].items()]


def _form(requests: Sequence[Request], program: Program) -> str:
    """A string that is the same for calls that differ only in sizes and numbers."""
    parts: list[Any] = []
    for request, own in requests:
        kinds: dict[str, Any] = {}
        for name, one in _named(request, requests, program):
            plain = isinstance(one, bool) or one is None
            kinds[name] = one if plain else own[one["$tensor"]].ndim if _is_tensor(one) else type(one).__name__
        parts.append([_function(request, requests), sorted(kinds.items())])
    return repr(parts)


def _is_tensor(value: Any) -> bool:
    return isinstance(value, dict) and list(value) == ["$tensor"]


def _mapped(value: Any, leaf: Callable[[Any], Any]) -> Any:
    """An argument with its innermost values replaced."""
    if isinstance(value, dict) and not set(value) & LEAVES:
        return {key: _mapped(one, leaf) for key, one in value.items()}
    return [_mapped(one, leaf) for one in value] if isinstance(value, list) else leaf(value)


def _plain_requests(recipe: CallReplay) -> tuple[Request, ...]:
    """The requests without weights and modes; transposed tensors are stored as they are read."""
    found: list[Request] = []
    for request, tensors in recipe.requests:
        if request["do"] == "call" and request.get("method") not in MODES:
            arrays = dict(tensors)

            def plain(value: Any, arrays: dict[str, np.ndarray] = arrays) -> Any:
                if not isinstance(value, dict) or "$transposed" not in value:
                    return value
                name = value["$transposed"]
                arrays[name] = np.ascontiguousarray(arrays[name].swapaxes(-1, -2))
                return {"$tensor": name}

            found.append(({**request, **{key: _mapped(request[key], plain) for key in ("args", "kwargs")}}, arrays))
    return tuple(found)


def _numbers(request: Mapping[str, Any]) -> list[int]:
    """The whole numbers among the arguments of a request."""
    found: list[int] = []
    _mapped([request["args"], request["kwargs"]], lambda one: found.append(one) if type(one) is int else None)
    return found


def _sizes(requests: Sequence[Request]) -> list[int]:
    return [*_axes(requests), *(size for request, _ in requests for size in _numbers(request))]


def _axes(requests: Sequence[Request]) -> list[int]:
    return [size for _, own in requests for array in own.values() for size in array.shape]


def _smaller(requests: Sequence[Request], rng: random.Random, tiny: bool) -> list[dict[int, int]]:
    """Sets of smaller sizes for the sizes of a call, as size -> new size; products of sizes stay products."""
    axes = set(_axes(requests))
    batch = {array.shape[0] for array in requests[-1][1].values() if array.ndim > 1}
    values = sorted({one for one in _sizes(requests) if one > 1 and (one > 3 or one in axes)})
    found: list[dict[int, int]] = [{} for _ in range(TRIES + (not tiny))]
    for mapping in found[0 if tiny else 1 :]:
        for size in values:
            parts = [(a, b) for a, b in itertools.combinations_with_replacement(values, 2) if a * b == size]
            if parts and rng.random() < 0.8:
                a, b = rng.choice(parts)
                mapping[size] = mapping.get(a, a) * mapping.get(b, b)
            elif rng.random() < 0.15:
                mapping[size] = size
            elif size in batch and rng.random() < 0.8:
                mapping[size] = 1 if tiny else rng.choice((2, 2, 3))
            else:
                mapping[size] = min(size, rng.choice((1, 2, 2, 3, 4) if tiny else (2, 3, 4, 5, 6, 6, 8, 9, 12)))
    return found


def _with_sizes(requests: Sequence[Request], sizes: Mapping[int, int], program: Program) -> tuple[Request, ...]:
    """The requests with other sizes. Arguments whose names identify them as indices stay unchanged."""
    axes = set(_axes(requests))

    def number(name: str, value: Any) -> Any:
        return (
            value
            if INDEX.search(name)
            else _mapped(value, lambda one: sizes.get(one, one) if type(one) is int else one)
        )

    def sampled(array: np.ndarray) -> np.ndarray:
        for axis, size in enumerate(array.shape):
            new = sizes.get(size, size)
            array = np.take(array, [one * size // new for one in range(new)] if new <= size else range(size), axis)
        most = int(array.max()) if array.dtype.kind in "iu" and array.size else 0
        if array.ndim == 1 and most in axes and most in sizes and most > 1:  # lengths
            array = np.maximum(1, -(-array * sizes[most] // most)).astype(array.dtype)
        return np.ascontiguousarray(array)

    small = []
    for request, own in requests:
        new = [number(name, value) for name, value in _named(request, requests, program)]
        count = len(request["args"])
        changed = {**request, "args": new[:count], "kwargs": dict(zip(request["kwargs"], new[count:], strict=True))}
        small.append((changed, {name: sampled(array) for name, array in own.items()}))
    return tuple(small)


def _alike(arrays: Iterable[np.ndarray]) -> int:
    """The number of equal sizes within the arrays, by chance or not."""
    return sum(len(array.shape) - len(set(array.shape)) for array in arrays if array.dtype.kind == "f")


def _cost(requests: Sequence[Request], before: Sequence[Request], tiny: bool) -> float:
    """How hard a call is to read. Easy ones have few numbers, no sizes equal by chance, and masks with an effect."""
    arrays = requests[-1][1]
    whole = {name: array for name, array in arrays.items() if array.dtype.kind in "iub"}
    numbers = sum(array.size for array in arrays.values())
    widths = [size for array in arrays.values() for size in array.shape[1:]]
    short = widths.count(1)
    lost = sum(np.unique(before[-1][1][name]).size > 1 == np.unique(array).size for name, array in whole.items())
    given = [_numbers(request) for request, _ in requests]
    if tiny:
        return max(numbers, 16) + 12 * short + 6 * lost + 0.1 * sum(map(sum, given))
    alike = _alike(arrays.values()) + sum(len(one) - len(set(one)) for one in given[:-1])
    large = sum(size > 8 for size in _sizes(requests)) + sum(array.size > DISPLAYED for array in whole.values())
    narrow = sum({2: 4, 3: 2, 7: 3, 8: 5}.get(size, 0) for size in widths)
    return 0.05 * numbers + 60 * (alike + short + lost + large) + narrow


def _filled(
    small: CallReplay, bench: Bench, rng: random.Random, weights: Fill | None = None, inputs: Fill | None = None
) -> CallReplay | None:
    """A call with new numbers in its inputs and in the weights of its objects; None if these cannot be created."""
    dice = np.random.default_rng(rng.randrange(2**32))
    weights = weights or (lambda name, shape: _weight(name, shape, dice))
    *makers, (last, tensors) = small.requests
    inputs = inputs or (lambda name, shape: dice.normal(0, GENTLE, shape))
    new = {name: inputs(name, array.shape) if is_random(array) else array for name, array in tensors.items()}
    new = {name: np.abs(array) if (tensors[name] >= 0).all() else array for name, array in new.items()}
    try:
        states = _states(small, bench)
    except (StudentFault, LookupError):
        return None
    requests: list[Request] = []
    for number, request in enumerate(makers):
        requests.append(request)
        if number < len(states):
            trained, rest = states[number]
            state = {name: weights(name, shape) for name, shape in trained.items()} | rest
            loaded: Request = ({"do": "state", "target": number, "stored": None}, state)
            requests.append(loaded if trained else ({**PLAIN_CALL, "target": number, "method": "eval"}, {}))
    return replace(small, requests=(*requests, (last, new)))


def _states(small: CallReplay, bench: Bench) -> list[tuple[dict[str, tuple[int, ...]], dict[str, np.ndarray]]]:
    """For each object of a call, the shapes of its weights, and the rest of its state.

    Raises:
        StudentFault, LookupError: if the objects cannot be created.
    """
    found = []
    with bench.student.aside(2.0) as ask:
        bench.student.start()
        ask({"do": "change", "module": next(iter(bench.program.sources)), "path": "", "text": ""})
        for handle in prepared(small, ask).values():
            both = [ask({"do": "shapes", "target": handle, "trained": trained}) for trained in (True, False)]
            trained, whole = ({str(name): tuple(shape) for name, shape in one} for one in both)
            if len(whole) > MOST_WEIGHTS or sum(map(np.prod, whole.values())) > LARGEST:
                raise LookupError("too large")
            rest = [name for name in whole if name not in trained]
            kept = {name: np.asarray(ask({"do": "get", "target": handle, "attribute": name})) for name in rest}
            found.append((trained, kept))
    return found


def is_random(array: np.ndarray) -> bool:
    """Whether a tensor of a call contains real numbers rather than a mask."""
    return array.dtype.kind == "f" and array.ndim > 0 and not np.isin(array, (0.0, 1.0)).all()


def _weight(name: str, shape: tuple[int, ...], dice: np.random.Generator) -> np.ndarray:
    """Random weights, also for norms and biases: fresh ones (1 and 0) would hide what they do."""
    if len(shape) < 2:
        return dice.uniform(0.5, 1.5, shape) * dice.choice((1, 1, -1), shape) * (1 if "bias" not in name else 0.4)
    return dice.normal(0, 1 / np.sqrt(shape[-1]), shape)


def words(call: Call, program: Program, whole: bool = False) -> str:
    """A call in words, in Markdown: how the object is created, and each argument.

    Args:
        whole: whether to show all numbers.
    """
    requests, made = call.replay.requests, []
    for request, _ in requests[:-1]:
        if isinstance(request["target"], str):
            named = _named(request, requests, program)
            own = [_shown(one) if name.startswith("argument") else f"{name}={_shown(one)}" for name, one in named]
            made.append(f"`{request['target'].partition('.')[2]}({', '.join(own)})`")
    name = _function(requests[-1][0], requests)[1].rpartition(".")[2]
    subject = "the module" if name == "forward" else f"its `{name}`" if made else f"`{name}`"
    given = [
        f"`{name}` {_described(one, whole)}" if isinstance(one, np.ndarray) else f"`{name}={_shown(one)}`"
        for name, one in call.arguments(program)
    ]
    text = f"{subject} is called with {', '.join(given) or 'no arguments'}"
    text += "; `result` is the first value that it returns" if call.base.several else ""
    weights = (
        " with random weights (in norms too)" if not whole and any(one["do"] == "state" for one, _ in requests) else ""
    )
    return f"{' and '.join(made)}{weights} in eval mode: {text}" if made else text


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_shown, value))}]"
    if not isinstance(value, dict):
        return repr(value)
    ((kind, one),) = list(value.items())[:1]
    if kind == "$tuple":
        return f"({', '.join(map(_shown, one))})"
    return str(one).rpartition(".")[2] if kind == "$function" else "model" if kind == "$handle" else "..."


def _described(array: np.ndarray, whole: bool) -> str:
    shape = f"of shape {shape_text(array.shape)}"
    if not whole and is_random(array):
        return f"{shape} (random numbers)"
    if array.size > 3 and np.unique(array).size == 1:
        return f"{shape}, all {listed(array.flat[0])}"
    return f"= `{listed(array)}`" if array.size <= DISPLAYED else shape


def shape_text(shape: tuple[int, ...]) -> str:
    """A shape as PyTorch shows it."""
    return f"({', '.join(map(str, shape))}{',' * (len(shape) == 1)})"


def listed(array: Any) -> str:
    """An array as nested lists: whole numbers without a point, others with at most two digits."""
    if np.ndim(array):
        return f"[{', '.join(map(listed, array))}]"
    return str(bool(array)) if np.asarray(array).dtype == bool else f"{round(float(array), 2) + 0.0:g}"

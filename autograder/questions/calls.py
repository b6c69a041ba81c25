"""The calls that questions are about: those of the visible tests, made smaller, with new numbers.

No stage has code here. A test shows how an object is made and called; every size in this call becomes a smaller one,
and what the program does then tells whether the sizes fit together.
"""

import itertools
import random
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from autograder.questions.program import Program
from autograder.questions.runs import PLAIN_CALL, Bench, Outcome, same
from autograder.sandbox.call_replay import MODES, CallReplay, Request
from autograder.sandbox.remote_values import body_of
from autograder.sandbox.student_faults import StudentFault

TRIES, MOST_TRIED = 400, 60  # sets of smaller sizes that are made for a call, and the best ones, which are tried
MOST_OBJECTS, MOST_WEIGHTS = 2, 120  # of a call
LARGEST = 20_000  # numbers in the inputs of a call that is worth making smaller
DISPLAYED = 60  # numbers that a question may show of one tensor of whole numbers
GENTLE = 0.7  # spread of random inputs: larger ones let weights vanish
INDEX = re.compile(r"idx|index|_id$|token|seed")  # names of arguments that are no sizes
State = tuple[dict[str, tuple[int, ...]], dict[str, np.ndarray]]  # shapes of weights, and what else a state holds
Fill = Callable[[str, tuple[int, ...]], np.ndarray]  # what a weight holds, by its name and shape


@dataclass(frozen=True, eq=False)
class Call:
    """A call, with values of its own, and a twin with others."""

    replay: CallReplay
    twin: CallReplay
    sizes: tuple[int, ...]  # of all axes and arguments
    base: Outcome  # with lines
    twin_base: Outcome

    @property
    def request(self) -> dict[str, Any]:
        return self.replay.requests[-1][0]

    @property
    def name(self) -> str:
        """The function that is called: "Class.method" or "function"."""
        target = self.request["target"]
        if isinstance(target, str):
            return target.partition(".")[2]
        made = str(self.replay.requests[self.maker(target)][0]["target"])
        return f"{made.partition('.')[2]}.{self.request['method'] or 'forward'}"

    def maker(self, handle: int) -> int:
        """The number of the request that makes an object."""
        made = [number for number, (one, _) in enumerate(self.replay.requests) if isinstance(one.get("target"), str)]
        return made[handle]


def useful(recipe: CallReplay, program: Program) -> bool:
    """Whether questions can be about a call: of what the student wrote, in evaluation mode, with nothing hidden."""
    *before, (last, tensors) = recipe.requests
    if last["do"] != "call" or last.get("method") in MODES or any(one.get("stored") for one, _ in before):
        return False
    kinds = [one["do"] for one, _ in before if not (one["do"] == "call" and one["method"] in MODES)]
    objects = [one for one, _ in before if one["do"] == "call" and isinstance(one["target"], str)]
    if set(kinds) - {"call", "state"} or kinds.count("call") > len(objects) or len(objects) > MOST_OBJECTS:
        return False
    target = last["target"] if isinstance(last["target"], str) else objects[last["target"]]["target"]
    module, _, name = target.partition(".")
    if module not in program.sources or (isinstance(last["target"], str) and name[:1].isupper()):
        return False
    numbers = sum(array.size for array in tensors.values())
    return numbers <= LARGEST and all(array.size for array in tensors.values())


def sized_calls(
    recipes: Sequence[CallReplay], program: Program, bench: Bench, rng: random.Random, tiny: bool
) -> list[CallReplay]:
    """One call of each form that the tests know, without weights, with small sizes that fit together."""
    forms: dict[str, list[CallReplay]] = {}
    for recipe in recipes:
        if useful(recipe, program):
            forms.setdefault(_form(recipe, program), []).append(recipe)
    found = []
    for alike in forms.values():
        recipe = min(alike, key=_weight_of)
        whole = replace(recipe, requests=_plain_requests(recipe), earlier=())
        if best := _fitting(whole, program, bench, rng, tiny):
            found.append(best)
    return found


def _fitting(whole: CallReplay, program: Program, bench: Bench, rng: random.Random, tiny: bool) -> CallReplay | None:
    """The call with the best sizes with which it runs."""
    ranked = []
    for number, mapping in enumerate(_mappings(whole.requests, rng, tiny)):
        small = replace(whole, requests=_with_sizes(whole.requests, mapping, program))
        ranked.append((_cost(small.requests, whole.requests, tiny), number, small))
    for _, _, small in sorted(ranked, key=lambda one: one[:2])[:MOST_TRIED]:
        replay = _filled(small, bench, rng, None)
        if replay and bench.run(replay).ok:
            return small
    return None


def with_values(
    small: CallReplay, bench: Bench, rng: random.Random, fill: Fill | None = None, numbers: Fill | None = None
) -> Call | None:
    """A call with new numbers, and a twin; None if it gives no numbers, or others each time."""
    pair = [_filled(small, bench, rng, fill, numbers) for _ in range(2)]
    if pair[0] is None or pair[1] is None:
        return None
    bases = [bench.run(one, watch=True) for one in pair if one]
    if not all(one.ok for one in bases) or not same(bench.run(pair[0]), bases[0]):
        return None
    sizes = tuple(sorted({*_sizes(small.requests)}))
    return Call(pair[0], pair[1], sizes, bases[0], bases[1])


def _form(recipe: CallReplay, program: Program) -> str:
    """What calls have in common that differ in sizes and numbers only."""
    parts: list[Any] = []
    requests = _plain_requests(recipe)
    for request, own in requests:
        module, path = _constructor(request)
        if isinstance(target := request["target"], int):
            maker = _constructor(requests[target][0])
            module, path = maker[0], maker[1].replace("__init__", request["method"] or "forward")
        names = program.parameters(module, path)
        given = {**dict(zip(names, request["args"], strict=False)), **request["kwargs"]}
        kinds: dict[str, Any] = {
            one: own[value["$tensor"]].ndim if _is_tensor(value) else type(value).__name__
            for one, value in given.items()
        }
        kinds |= {one: value for one, value in given.items() if isinstance(value, bool) or value is None}
        parts.append([module, path, sorted(kinds.items()) if names else len(request["args"])])
    return repr(parts)


def _is_tensor(value: Any) -> bool:
    return isinstance(value, dict) and list(value) == ["$tensor"]


def _plain_requests(recipe: CallReplay) -> tuple[Request, ...]:
    """The requests without weights and modes; every tensor as it is read."""
    found: list[Request] = []
    for request, tensors in recipe.requests:
        if request["do"] == "call" and request.get("method") not in MODES:
            arrays = dict(tensors)

            def plain(value: Any, arrays: dict[str, np.ndarray] = arrays) -> Any:
                if isinstance(value, dict) and list(value) == ["$transposed"]:
                    name = value["$transposed"]
                    arrays[name] = np.ascontiguousarray(arrays[name].swapaxes(-1, -2))
                    return {"$tensor": name}
                if isinstance(value, dict):
                    return {key: plain(one) for key, one in value.items()}
                return [plain(one) for one in value] if isinstance(value, list) else value

            own = {key: plain(value) if key in ("args", "kwargs") else value for key, value in request.items()}
            found.append((own, arrays))
    return tuple(found)


def _numbers(value: Any) -> list[int]:
    """The whole numbers among the arguments of a request."""
    if isinstance(value, dict):
        return [] if set(value) & {"$handle", "$tensor", "$function"} else _numbers(list(value.values()))
    if isinstance(value, list):
        return [number for one in value for number in _numbers(one)]
    return [value] if type(value) is int else []


def _sizes(requests: Sequence[Request]) -> list[int]:
    shapes = [size for _, own in requests for array in own.values() for size in array.shape]
    return shapes + [size for one, _ in requests for size in _numbers([one["args"], one["kwargs"]])]


def _mappings(requests: Sequence[Request], rng: random.Random, tiny: bool) -> list[dict[int, int]]:
    """Smaller sizes for those of a call, in the same order; products of sizes stay products."""
    axes = {size for _, own in requests for array in own.values() for size in array.shape}
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


def _with_sizes(requests: Sequence[Request], mapping: Mapping[int, int], program: Program) -> tuple[Request, ...]:
    """The requests with other sizes. An index stays what it is: its name says so."""

    def number(value: Any) -> Any:
        if isinstance(value, dict) and not set(value) & {"$handle", "$tensor", "$function"}:
            return {key: one if INDEX.search(key) else number(one) for key, one in value.items()}
        if isinstance(value, list):
            return [number(one) for one in value]
        return mapping.get(value, value) if type(value) is int else value

    axes = {size for _, own in requests for array in own.values() for size in array.shape}

    def sampled(array: np.ndarray) -> np.ndarray:
        for axis, size in enumerate(array.shape):
            new = mapping.get(size, size)
            array = np.take(array, [one * size // new for one in range(new)] if new <= size else range(size), axis)
        most = int(array.max()) if array.dtype.kind in "iu" and array.size else 0
        if array.ndim == 1 and most in axes and most in mapping and most > 1:  # lengths
            array = np.maximum(1, -(-array * mapping[most] // most)).astype(array.dtype)
        return np.ascontiguousarray(array)

    small = []
    for one, own in requests:
        names = program.parameters(*_constructor(one))
        at = [INDEX.search(name) is not None for name in names] + [False] * len(one["args"])
        args = [value if fixed else number(value) for value, fixed in zip(one["args"], at, strict=False)]
        changed = {**one, "args": args, "kwargs": number(one["kwargs"])}
        small.append((changed, {name: sampled(array) for name, array in own.items()}))
    return tuple(small)


def _weight_of(recipe: CallReplay) -> tuple[int, int]:
    """How little a call is fit to be made smaller: by sizes that are alike by chance, and by what it holds."""
    numbers = sum(array.nbytes for _, own in recipe.requests for array in own.values())
    return _alike(recipe.requests[-1][1].values()), numbers


def _alike(arrays: Iterable[np.ndarray]) -> int:
    return sum(len(array.shape) - len(set(array.shape)) for array in arrays if array.dtype.kind == "f")


def _constructor(request: Mapping[str, Any]) -> tuple[str, str]:
    module, _, name = str(request["target"]).partition(".")
    return module, f"{name}.__init__" if name[:1].isupper() else name


def _cost(requests: Sequence[Request], before: Sequence[Request], tiny: bool) -> float:
    """How far a call is from what is easy to look at: few numbers, no two sizes alike by chance, masks that mask."""
    arrays = requests[-1][1]
    numbers = sum(array.size for array in arrays.values())
    alike = _alike(arrays.values())
    for request, _ in requests[:-1]:
        given = _numbers([request["args"], request["kwargs"]])
        alike += len(given) - len(set(given))
    short = sum(size == 1 for array in arrays.values() for size in array.shape[1:])
    lost = sum(
        np.unique(before[-1][1][name]).size > 1 and np.unique(array).size == 1
        for name, array in arrays.items()
        if array.dtype.kind in "iub"
    )
    if tiny:
        plain = sum(_numbers([[one["args"], one["kwargs"]] for one, _ in requests]))
        return max(numbers, 16) + 12 * short + 6 * lost + 0.1 * plain
    narrow = sum({2: 4, 3: 2, 7: 3, 8: 5}.get(size, 0) for array in arrays.values() for size in array.shape[1:])
    large = sum(size > 8 for size in _sizes(requests))
    large += sum(array.size > DISPLAYED for array in arrays.values() if array.dtype.kind in "iub")
    return 0.05 * numbers + 60 * (alike + short + lost + large) + narrow


def _filled(
    small: CallReplay, bench: Bench, rng: random.Random, fill: Fill | None, numbers: Fill | None = None
) -> CallReplay | None:
    """A call with new numbers in its inputs and in the weights of its objects; None if these cannot be made."""
    dice = np.random.default_rng(rng.randrange(2**32))
    fill = fill or (lambda name, shape: _weight(name, shape, dice))
    *makers, (last, tensors) = small.requests
    inputs = {
        name: numbers(name, array.shape) if numbers and is_random(array) else _input(array, dice)
        for name, array in tensors.items()
    }
    requests: list[Request] = []
    try:
        states = bench_states(small, bench)
    except (StudentFault, LookupError):
        return None
    for number, (request, own) in enumerate(makers):
        requests.append((request, own))
        if number < len(states):
            trained, rest = states[number]
            if not trained:
                requests.append(({**PLAIN_CALL, "do": "call", "target": number, "method": "eval"}, {}))
                continue
            state = {name: fill(name, shape) for name, shape in trained.items()} | rest
            requests.append(({"do": "state", "target": number, "stored": None}, state))
    return replace(small, requests=(*requests, (last, inputs)))


def bench_states(small: CallReplay, bench: Bench) -> list[State]:
    """Of each object of a call the shapes of its weights, and what else a state holds.

    Raises:
        StudentFault, LookupError: if the objects cannot be made.
    """
    with bench.student.aside(2.0) as ask:
        bench.student.start()
        ask({"do": "change", "module": next(iter(bench.program.sources)), "path": "", "text": ""})
        made = (
            small.prepare(lambda one, own: getattr(ask(one, body_of(own)), "_handle", None))
            if len(small.requests) > 1
            else {}
        )
        found: list[State] = []
        for handle in made.values():
            both = [ask({"do": "shapes", "target": handle, "trained": trained}) for trained in (True, False)]
            trained, whole = ({str(name): tuple(shape) for name, shape in one} for one in both)
            if len(whole) > MOST_WEIGHTS or sum(map(np.prod, whole.values())) > 20_000:
                raise LookupError("too large")
            rest = {
                name: ask({"do": "get", "target": handle, "attribute": name}) for name in whole if name not in trained
            }
            found.append((trained, {name: np.asarray(value) for name, value in rest.items()}))
        return found


def is_random(array: np.ndarray) -> bool:
    """Whether a tensor of a call holds real numbers, rather than a mask."""
    return array.dtype.kind == "f" and array.ndim > 0 and not np.isin(array, (0.0, 1.0)).all()


def _input(array: np.ndarray, dice: np.random.Generator) -> np.ndarray:
    if not is_random(array):
        return array
    new = dice.normal(0, GENTLE, array.shape)
    return np.abs(new) if array.min() >= 0 else new


def _weight(name: str, shape: tuple[int, ...], dice: np.random.Generator) -> np.ndarray:
    """Random weights, those of norms and biases too: fresh ones would hide what they do."""
    if len(shape) < 2:
        return dice.uniform(0.5, 1.5, shape) * dice.choice((1, 1, -1), shape) * (1 if "bias" not in name else 0.4)
    return dice.normal(0, 1 / np.sqrt(shape[-1]), shape)


def arguments(call: Call, program: Program) -> list[tuple[str, Any]]:
    """The arguments of the last request with their names: arrays, or what is no tensor."""
    request, tensors = call.replay.requests[-1]
    target = request["target"]
    module = (target if isinstance(target, str) else call.replay.requests[call.maker(target)][0]["target"]).partition(
        "."
    )[0]
    names = [*program.parameters(module, call.name), *(f"argument {one}" for one in range(20))]
    given = [*zip(names, request["args"], strict=False), *request["kwargs"].items()]
    return [(name, _value(value, tensors)) for name, value in given]


def _value(value: Any, tensors: Mapping[str, np.ndarray]) -> Any:
    if isinstance(value, dict) and list(value) == ["$tensor"]:
        return tensors[value["$tensor"]]
    return value


def words(call: Call, program: Program, whole: bool = False) -> str:
    """A call in words, in Markdown: how the object is made, and each argument.

    Args:
        whole: whether to show all numbers.
    """
    parts = []
    for request, _ in call.replay.requests[:-1]:
        if isinstance(request["target"], str):
            module, _, name = request["target"].partition(".")
            names = program.parameters(module, f"{name}.__init__")
            own = [f"{one}={_shown(value)}" for one, value in zip(names, request["args"], strict=False)]
            own = own if len(own) == len(request["args"]) else [_shown(value) for value in request["args"]]
            own += [f"{one}={_shown(value)}" for one, value in request["kwargs"].items()]
            parts.append(f"`{name}({', '.join(own)})`")
    method = call.name.rpartition(".")[2]
    subject = "the module" if method == "forward" else f"its `{method}`" if parts else f"`{call.name}`"
    made = f"{' and '.join(parts)} in eval mode: " if parts else ""
    text = f"{made}{subject} is called with "
    given = []
    for name, value in arguments(call, program):
        given.append(
            f"`{name}` {_described(value, whole)}" if isinstance(value, np.ndarray) else f"`{name}={_shown(value)}`"
        )
    return text[:1].upper() + text[1:] + (", ".join(given) or "no arguments")


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        if "$tuple" in value:
            return f"({', '.join(map(_shown, value['$tuple']))})"
        kind, one = next(iter(value.items()))
        return str(one).rpartition(".")[2] if kind == "$function" else "model" if kind == "$handle" else "..."
    return f"[{', '.join(map(_shown, value))}]" if isinstance(value, list) else repr(value)


def _described(array: np.ndarray, whole: bool) -> str:
    shape = f"of shape {tuple(map(int, array.shape))}".replace(",)", ",)")
    if not whole and is_random(array):
        return f"{shape} (random numbers)"
    if array.size > 3 and np.unique(array).size == 1:
        return f"{shape}, all {listed(array.flat[0])}"
    if array.size <= DISPLAYED:
        return f"= `{listed(array)}`"
    return shape


def listed(array: Any) -> str:
    """An array as nested lists: whole numbers without a point, others with at most two digits."""
    if np.ndim(array) == 0:
        if np.asarray(array).dtype == bool:
            return str(bool(array))
        value = float(array)
        return "inf" if np.isposinf(value) else f"{round(value, 2) + 0.0:g}" if np.isfinite(value) else str(value)
    return f"[{', '.join(listed(one) for one in array)}]"

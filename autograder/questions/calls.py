"""The calls that questions are about: calls from the visible tests with new numbers, some of them with tiny sizes.

No code here is specific to a stage. The calls in a test show how an object is created and called. For a tiny call,
every size is replaced by a smaller one, and the call is run to check that the sizes fit together.
"""

import itertools
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from autograder.questions.program import Program
from autograder.sandbox.call_replay import MODES, CallReplay, Request

TRIES, MOST_TRIED = 400, 30  # sets of smaller sizes generated for a call; of these, the best are tried
MOST_OBJECTS, LARGEST = 2, 100_000  # objects in a call; numbers in its inputs and weights
DISPLAYED = 60  # elements of the largest tensor of whole numbers that a question shows
LEAVES = {"$handle", "$tensor", "$function", "$transposed"}
Fill = Callable[[str, np.ndarray], np.ndarray]  # name and numbers of a tensor -> its new numbers


def calls_in(recipes: Sequence[CallReplay], program: Program) -> list[CallReplay]:
    """The call with the smallest inputs for each form of call in the tests, in eval mode."""
    forms: dict[str, list[CallReplay]] = {}
    for recipe in recipes:
        if _useful(recipe.requests, program):
            plain = replace(recipe, requests=tuple(_in_eval_mode(recipe.requests)), earlier=())
            form = re.sub(r"\d[-\d., ]*", "0", words(plain.requests, program))  # without sizes and numbers
            forms.setdefault(form, []).append(plain)
    return [min(alike, key=lambda one: _count(one.requests[-1:])) for alike in forms.values()]


def _useful(requests: Sequence[Request], program: Program) -> bool:
    """Whether a call can be used in questions: it must run the student's code on small, nonempty inputs."""
    *_, (last, tensors) = requests
    *makers, _ = calls = _calls(requests) or [requests[-1]]
    if calls[-1][0] is not last or len(makers) > MOST_OBJECTS or _count(requests) > LARGEST:
        return False
    if any(isinstance(one["target"], int) for one, _ in makers) or any(one.get("stored") for one, _ in requests):
        return False
    module, path = _function(last, requests)
    shown = all(array.size <= DISPLAYED or is_random(array) or _pattern(array) for array in tensors.values())
    full = all(array.size for array in tensors.values())
    return module in program.sources and not path.endswith("__init__") and shown and full


def _calls(requests: Sequence[Request]) -> list[Request]:
    """The requests that create objects or call something, but not those that load weights or set a mode."""
    return [one for one in requests if one[0]["do"] == "call" and one[0]["method"] not in MODES]


def _in_eval_mode(requests: Sequence[Request]) -> Iterator[Request]:
    """The requests of a call, with every object in eval mode regardless of the mode that the call sets."""
    objects = itertools.count()
    for request, own in requests:
        if request.get("method") not in MODES:
            yield request, own
            if isinstance(request["target"], str) and request is not requests[-1][0]:
                yield of_mode(request, next(objects), "eval"), {}


def of_mode(request: Mapping[str, Any], target: int, mode: str) -> dict[str, Any]:
    """Turn a call request into a request that switches an object to a mode."""
    return {**request, "target": target, "method": mode, "args": [], "kwargs": {}, "unseen": True}


def smaller(call: CallReplay, program: Program, rng: random.Random) -> list[CallReplay]:
    """Variants of a call with smaller sizes, which may not fit together; the easiest to compute by hand come first."""
    sizes = sorted({int(one) for one in re.findall(r"\d+", words(call.requests, program))} - {0, 1})
    choices = [{size: min(size, rng.choice((1, 2, 2, 3, 4))) for size in sizes} for _ in range(TRIES)]
    made = sorted((_with_sizes(call.requests, one) for one in choices), key=_cost)
    return [replace(call, requests=one) for one in made[:MOST_TRIED]]


def filled(call: CallReplay, inputs: Fill, weights: Fill) -> CallReplay:
    """A call with new numbers in its weights and inputs; inputs without negative numbers stay that way."""
    *before, (last, tensors) = call.requests
    new = {name: inputs(name, array) if is_random(array) else array for name, array in tensors.items()}
    new = {name: np.asarray(np.abs(array)) if (tensors[name] >= 0).all() else array for name, array in new.items()}
    loaded = [(request, {name: weights(name, array) for name, array in own.items()}) for request, own in before]
    return replace(call, requests=(*loaded, (last, new)))


def _function(request: Mapping[str, Any], requests: Sequence[Request]) -> tuple[str, str]:
    """The module and path of the function that a request calls."""
    target = request["target"]
    if isinstance(target, int):
        makers = [str(one["target"]) for one, _ in requests if isinstance(one.get("target"), str)]
        module, _, name = makers[target].partition(".")
        return module, f"{name}.{request['method'] or 'forward'}"
    module, _, name = target.partition(".")
    return module, f"{name}.__init__" if name[:1].isupper() else name


def arguments(one: Request, requests: Sequence[Request], program: Program) -> list[tuple[str, Any]]:
    """The arguments of one of the requests, with their names if they have any; tensors are returned as arrays."""
    request, own = one
    node = program.functions.get(_function(request, requests))
    names = [name.arg for name in node.args.args if name.arg != "self"] if node else []
    names += [f"argument {number}" for number in range(20)]
    named = [*zip(names, request["args"], strict=False), *request["kwargs"].items()]
    arrays = [_array(value, own) for _, value in named]
    return [(name, value if array is None else array) for (name, value), array in zip(named, arrays, strict=True)]


def _array(value: Any, tensors: Mapping[str, np.ndarray]) -> np.ndarray | None:
    """The tensor that is an argument of a request, or None if the argument is not a tensor."""
    ((kind, name),) = value.items() if isinstance(value, dict) and len(value) == 1 else [("", "")]
    return tensors[name] if kind == "$tensor" else tensors[name].swapaxes(-1, -2) if kind == "$transposed" else None


def _mapped(value: Any, leaf: Callable[[Any], Any]) -> Any:
    """An argument with its innermost values replaced."""
    if isinstance(value, dict) and not set(value) & LEAVES:
        return {key: _mapped(one, leaf) for key, one in value.items()}
    return [_mapped(one, leaf) for one in value] if isinstance(value, list) else leaf(value)


def _count(requests: Sequence[Request]) -> int:
    """The total number of elements in the tensors of some requests."""
    return sum(array.size for _, own in requests for array in own.values())


def _with_sizes(requests: Sequence[Request], sizes: Mapping[int, int]) -> tuple[Request, ...]:
    """The requests with different sizes."""

    def number(value: Any) -> Any:
        return sizes.get(value, value) if type(value) is int else value

    def sampled(array: np.ndarray) -> np.ndarray:
        index = [np.arange(number(size)) * size // number(size) for size in array.shape]
        array = np.array(array[np.ix_(*index)], order="C")
        most = int(array.max()) if array.dtype.kind in "iu" and array.size else 0
        return -(-array * sizes[most] // most) if most in sizes else array  # lengths

    return tuple(
        (
            {**request, **{key: _mapped(request[key], number) for key in ("args", "kwargs") if key in request}},
            {name: sampled(array) for name, array in own.items()},
        )
        for request, own in requests
    )


def _cost(requests: Sequence[Request]) -> float:
    """The difficulty of computing a call by hand: low for few numbers and no axis of size 1."""
    short = [size for array in requests[-1][1].values() for size in array.shape[1:]].count(1)
    return max(_count(requests[-1:]), 16) + 12 * short + 0.01 * _count(requests)


def is_random(array: np.ndarray) -> bool:
    """Whether a tensor of a call contains real numbers rather than a mask."""
    return array.dtype.kind == "f" and array.ndim > 0 and not np.isin(array, (0.0, 1.0)).all()


def words(requests: Sequence[Request], program: Program, whole: bool = False) -> str:
    """Describe a call in Markdown: how the object is created, and each argument.

    Args:
        whole: whether to show all numbers.
    """
    *makers, last = _calls(requests)
    made = []
    for request, tensors in makers:
        named = arguments((request, tensors), requests, program)
        own = [_shown(one) if name.startswith("argument") else f"{name}={_shown(one)}" for name, one in named]
        made.append(f"`{request['target'].partition('.')[2]}({', '.join(own)})`")
    name = _function(last[0], requests)[1].rpartition(".")[2]
    its = "its " if isinstance(last[0]["target"], int) else ""  # a method of an object
    subject = "the module" if name == "forward" else f"{its}`{name}`"
    given = [
        f"`{name}` {_described(one, whole)}" if isinstance(one, np.ndarray) else f"`{name}={_shown(one)}`"
        for name, one in arguments(last, requests, program)
    ]
    text = f"{subject} is called with {', '.join(given) or 'no arguments'}"
    weights = not whole and any(one["do"] == "state" for one, _ in requests)
    random_weights = " with random weights" if weights else ""
    return f"{' and '.join(made)}{random_weights} in eval mode: {text}" if made else text


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
    shape = f"of shape {array.shape}"
    if not whole and is_random(array):
        return f"{shape} (random numbers)"
    return f"{shape}, {pattern}" if (pattern := _pattern(array)) else f"= `{listed(array)}`"


def _pattern(array: np.ndarray) -> str:
    """Describe the numbers of a tensor if they have a simple pattern (all equal, or a triangle); else return ""."""
    if array.size > 3 and np.unique(array).size == 1:
        return f"all {listed(array.flat[0])}"
    low = np.tril(np.ones(array.shape[-2:])) if array.ndim > 1 and array.size > 4 else np.zeros(0)
    for where, triangle in (("on and below", low), ("above", 1 - low)):
        if low.size and (array == triangle).all():
            return f"{listed(array.max())} {where} the diagonal and {listed(array.min())} elsewhere"
    return ""


def listed(array: Any) -> str:
    """An array as nested lists; whole numbers have no decimal point, other numbers at most two decimal places."""
    if np.ndim(array):
        return f"[{', '.join(map(listed, array))}]"
    return str(bool(array)) if np.asarray(array).dtype == bool else f"{round(float(array), 2) + 0.0:g}"

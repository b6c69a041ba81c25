"""Refuse the parts that the manifest forbids in a stage, and permit the parts that it allows.

Stand-ins may use forbidden parts, and torch may use them when a stand-in calls it. The same rule applies to the parts
that are forbidden in all stages (`ready_made_parts`).
"""

import functools
import inspect
import operator
import sys
from collections.abc import Callable, Iterator, Sequence, Set
from types import FunctionType, ModuleType
from typing import Any

import torch
from torch._ops import OpOverloadPacket

from autograder.forbidden.parts import named, named_arguments, part, plain
from autograder.worker import ready_made_parts
from autograder.worker.allowed_modules import FUNCTIONS, HIDDEN
from autograder.worker.disable_builtins import empty, words_of

# The modules of torch in which students find parts, by prefix; "torch" itself is added below.
PLACES = (
    *("torch.nn", "torch.optim", "torch.special", "torch.masked", "torch.nested", "torch.functional"),
    *("torch._C._nn", "torch._VF"),
)
OWNERS = ("torch.Tensor", "torch._C._VariableFunctions")
METHODS = ("__new__", "__init__", "forward", "step")
OPERATORS = {
    name.removeprefix("aten::").partition(".")[0]
    for name in torch._C._dispatch_get_all_op_names()
    if name.startswith("aten::")
}


def texts_of(allows: Sequence[str]) -> list[str]:
    """Return the words that a stand-in would contain if it used these parts; see `disable_builtins`."""
    within = ["F.scaled_dot_product_attention", "nn.multi_head_attention_forward"] if allows else []
    return [*(f"nn.{written.rpartition('.')[2]}" for written in allows), *within]


def name_parts(forbids: Sequence[str], allows: Sequence[str], standins: Sequence[str] = ()) -> None:
    """Refuse the parts that a stage forbids, and permit the parts that it allows.

    A forbidden Python function or class that no stand-in names also loses its code. Whoever gets past the guard then
    finds nothing.
    """
    if allows:
        ready_made_parts.ALLOWED.update(plain(written.rpartition(".")[2]) for written in allows)
        torch.backends.mha.set_fastpath_enabled(False)  # the fast path uses operators that workers lack
    guards: dict[int, Any] = {}
    words = words_of(standins)
    wanted = {part(written).name for written in forbids} - words
    for letters in FUNCTIONS if wanted else ():
        for hidden in FUNCTIONS[letters] if any(word in letters for word in wanted) else ():
            if named(hidden.__name__, forbids):
                empty(hidden.__name__, hidden)
    for owner, path, name in list(_candidates(forbids)) if forbids else ():
        value = getattr(owner, name)
        whole = _holds(path, getattr(value, "__module__", None), forbids)
        arguments = {
            forbidden.argument for forbidden in map(part, forbids) if named_arguments(path, forbidden.argument, forbids)
        }
        if isinstance(value, ModuleType) or not callable(value) or not (whole or arguments):
            continue
        whole = whole or owner is torch.ops.aten  # operators do not name their arguments
        guard = functools.partial(_guarded, path=path, arguments=set() if whole else arguments)
        if whole and plain(name) not in words:
            _remove_code(value, name)
        if not isinstance(value, type):
            if id(value) not in guards:
                guards[id(value)] = guard(value)
                guards[id(guards[id(value)])] = guards[id(value)]
            setattr(owner, name, guards[id(value)])
        elif id(value) not in guards:
            guards[id(value)] = value
            for method in METHODS:
                if isinstance(function := getattr(value, method, None), FunctionType):
                    setattr(value, method, guard(function, method=True))


def _remove_code(value: Any, name: str) -> None:
    """Empty a Python function, or all functions of a class; those of an optimizer are in its module."""
    functions = [value]
    if isinstance(value, type):
        functions = list(vars(value).values())
        home = sys.modules.get(value.__module__)
        if home is not None and value.__module__.startswith("torch.optim."):
            functions += [each for each in vars(home).values() if getattr(each, "__module__", "") == home.__name__]
    for function in functions:
        function = getattr(function, "__func__", function)  # of a static method
        while isinstance(function, FunctionType) and function.__module__.startswith("torch"):
            empty(name, function)
            function = getattr(function, "__wrapped__", None)


def _holds(path: str, home: str | None, forbids: Sequence[str]) -> bool:
    """Whether a path leads to a forbidden part, or into a forbidden module."""
    module, names = path.rpartition(".")[0], path.split(".")
    ends = range(2, len(names)) if home and f"{home}.".startswith(f"{module}.") else ()
    return any(named(".".join(names[:end]), forbids) for end in (*ends, len(names)))


def _candidates(forbids: Sequence[str]) -> Iterator[tuple[Any, str, str]]:
    """Yield the parts whose names suggest that they may be forbidden, each as (owner, path, name in the owner)."""
    words = [part(written).name for written in forbids]
    owners: list[tuple[str, Any]] = [(path, operator.attrgetter(path[6:])(torch)) for path in OWNERS]
    loaded = HIDDEN | sys.modules
    owners += [(path, module) for path, module in loaded.items() if path == "torch" or path.startswith(PLACES)]
    for path, owner in sorted(owners, key=lambda pair: len(pair[0])):  # messages use the shortest path
        names = [name for name in dir(owner) if not name.startswith("__")]
        if not _holds(f"{path}.", path, forbids):
            letters = " ".join(names).replace("_", "").lower()
            if not any(word in letters for word in words):  # true of most modules
                continue
            names = [name for name in names if any(word in name.replace("_", "").lower() for word in words)]
        yield from ((owner, f"{path}.{name}", name) for name in names)
    for name in OPERATORS:
        if plain(name) in words:
            yield torch.ops.aten, f"torch.ops.aten.{name}", name


def _guarded(function: Callable[..., Any], path: str, arguments: Set[str], method: bool = False) -> Callable[..., Any]:
    """Wrap a function to check its caller; with `arguments`, check only if one of them differs from its default."""
    title = path.replace("torch.nn.functional.", "F.").replace("torch.nn.", "nn.")
    if not arguments:
        return ready_made_parts.refusing(function, path, title, method)
    refused = ready_made_parts.refusing(function, path, f"{title}({', '.join(sorted(arguments))}=...)")
    defaults = _defaults(function)

    def look_at_arguments(*args: Any, **kwargs: Any) -> Any:
        given = {**dict(zip(defaults, args, strict=False)), **kwargs}
        used = any(name in given and not _same(given[name], defaults[name]) for name in arguments & defaults.keys())
        return (refused if used else function)(*args, **kwargs)

    return ready_made_parts.like(look_at_arguments, function)


def _defaults(function: Callable[..., Any]) -> dict[str, Any]:
    """Return a function's arguments with their defaults; those of an operator come from torch's schema."""
    try:
        return {name: parameter.default for name, parameter in inspect.signature(function).parameters.items()}
    except ValueError:  # a C function
        packet = getattr(torch.ops.aten, getattr(function, "__name__", ""), None)
        schemas = packet._schemas.values() if isinstance(packet, OpOverloadPacket) else ()
        return {argument.name: argument.default_value for schema in schemas for argument in schema.arguments}


def _same(value: Any, default: Any) -> bool:
    """Whether an argument has its default value; never true for a student's own type, which could fake equality."""
    return type(value) in (bool, int, float, str, type(None)) and value == default

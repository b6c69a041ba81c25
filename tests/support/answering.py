"""Answers questions about code as a reader would who has a Python at hand: from their text, with new numbers.

Nothing of the generator is used but the text of a question and its options.
"""

import ast
import importlib
import re
import sys
from contextlib import contextmanager
from typing import Any

import torch

END = r"\. (?=How often|What |Which |Line \d|In line \d|After only|A second call|One picture|Weights:)"  # of a call
CALL = re.compile(rf"^(?:`(\w+\(.*?\))` in eval mode: )?(?:the module|its `(\w+)`|`(\w+)`) is called with (.*?){END}")
ARGUMENT = re.compile(
    r"`(\w+)` of shape \(([\d, ]*)\)(?: (\(random numbers\))|, all ([-\d.e]+|True|False))?"
    r"|`(\w+)` = `([^`]*)`|`(\w+)=([^`]*)`"
)
WHOLE = re.compile(r"mask|len|token|src$|tgt$|ids|targets|positions|labels|prompt")  # names of whole numbers
CHANGE = re.compile(r"(?i)line (\d+)(?: becomes|:) `([^`]+)`|line (\d+) is deleted")
INDEX = re.compile(r"The numbers of `result\[(.*)\]` change, all others stay\.")


class Unreadable(Exception):
    """A question that this reader does not understand."""


def changed(source: str, words: str) -> str:
    """A module with the change that some words name."""
    found = CHANGE.search(words)
    if found is None:
        raise Unreadable(words)
    number, new = int(found[1] or found[3]), found[2] or "pass"
    return replaced(source, number, new)


def replaced(source: str, number: int, new: str) -> str:
    """A module with another text for the statement, or the head of one, that begins in a line."""
    lines = source.splitlines()
    node = next(one for one in ast.walk(ast.parse(source)) if isinstance(one, ast.stmt) and one.lineno == number)
    body = getattr(node, "body", None)
    end = body[0].lineno - 1 if body else node.end_lineno or number
    indent = lines[number - 1][: len(lines[number - 1]) - len(lines[number - 1].lstrip())]
    return "\n".join([*lines[: number - 1], indent + new, *[""] * (end - number), *lines[end:]]) + "\n"


@contextmanager
def imported(sources, folder):
    """The modules of a program; they are gone afterwards."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in sources.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    sys.path.insert(0, str(folder))
    before = {name: sys.modules.pop(name) for name in sources if name in sys.modules}
    importlib.invalidate_caches()
    try:
        yield {name: importlib.import_module(name) for name in sources}
    finally:
        sys.path.remove(str(folder))
        for name in sources:
            sys.modules.pop(name, None)
        sys.modules.update(before)


class Named(str):
    """The name of something in the modules."""


class Asked:
    """The call of a question, with random numbers of its own."""

    def __init__(self, text: str, seed: int) -> None:
        if (found := CALL.match(text[:1].lower() + text[1:] if text[:1] != "`" else text)) is None:
            raise Unreadable(text)
        self.text, self.made, self.seed = text, found[1], seed
        self.method, self.function = found[2] or "forward", found[3]
        dice = torch.Generator().manual_seed(seed)
        self.arguments: dict[str, Any] = {}
        for one in ARGUMENT.finditer(found[4]):
            name = one[1] or one[5] or one[7]
            if one[1]:
                shape = [int(size) for size in one[2].split(",") if size.strip()]
                kind = torch.long if WHOLE.search(name) else torch.float64
                if one[4] is None and not one[3]:
                    raise Unreadable(text)
                self.arguments[name] = (
                    0.7 * torch.randn(shape, generator=dice, dtype=torch.float64)
                    if one[3]
                    else torch.full(shape, ast.literal_eval(one[4])).to(kind if one[4][0] not in "TF" else torch.bool)
                )
            elif one[5]:
                whole = WHOLE.search(name) and "." not in one[6]
                truth = torch.bool if "True" in one[6] or "False" in one[6] else None
                self.arguments[name] = torch.tensor(
                    ast.literal_eval(one[6]), dtype=truth or (torch.long if whole else torch.float64)
                )
            else:
                try:
                    self.arguments[name] = ast.literal_eval(one[8])
                except ValueError:  # the name of a function
                    self.arguments[name] = Named(one[8])

    def run(self, modules, mode: str = "eval", **other) -> Any:
        """What the call gives; an exception is given back."""
        names = {key: value for module in modules.values() for key, value in vars(module).items()}
        given = {
            key: value.clone() if isinstance(value, torch.Tensor) else value for key, value in self.arguments.items()
        }
        given = {key: names[value] if isinstance(value, Named) else value for key, value in given.items()}
        try:
            with torch.no_grad():
                if not self.made:
                    return names[self.function](**{**given, **other})
                model = eval(self.made, dict(names))
                self._fill(model)
                getattr(model, mode)()
                torch.manual_seed(self.seed)
                method = model if self.method == "forward" else getattr(model, self.method)
                return method(**{**given, **other})
        except Exception as error:
            return error

    def _fill(self, model) -> None:
        dice = torch.Generator().manual_seed(self.seed + 1)
        patterns = self._patterns()
        for name, weight in model.named_parameters():
            if patterns:
                weight.copy_(
                    patterns[name] * torch.eye(len(weight)) if name in patterns and name in self.eyes else weight
                )
                weight.fill_(patterns.get(name, 0.0)) if name not in self.eyes else None
            else:
                spread = (
                    0.4
                    if "bias" in name
                    else 1 / (*weight.shape, 1)[-1 if weight.ndim == 0 else weight.ndim - 1] ** 0.5
                )
                weight.copy_(spread * torch.randn(weight.shape, generator=dice, dtype=torch.float64))
                weight.add_(1.0) if weight.ndim == 1 and "bias" not in name else None

    def _patterns(self) -> dict[str, float]:
        self.eyes: set[str] = set()
        found: dict[str, float] = {}
        words = re.search(r"Weights: (.*); biases are 0\.", self.text)
        for part in words[1].split("; ") if words else ():
            names = re.findall(r"`([^`]+)`", part)
            if "identity" in part:
                self.eyes.update(names)
            value = re.search(r"all ([-\d.]+)|([\d.]+) times", part)
            number = float(value[1] or value[2]) if value else 1.0
            found |= dict.fromkeys(names, number)
        return found


def holds(statement: str, base: Any, other: Any) -> bool:
    """Whether a sentence about the result of a changed call is true."""
    if statement == "The call raises an exception.":
        return isinstance(other, Exception)
    if isinstance(other, Exception) or isinstance(base, Exception):
        return False
    if statement == "Another number of values is returned.":
        return isinstance(base, (tuple, list)) != isinstance(other, (tuple, list)) or len(base) != len(other)
    if isinstance(base, (tuple, list)):
        return _holds_of_several(statement, list(_flat(base)), list(_flat(other)))
    one, two = torch.as_tensor(base).double(), torch.as_tensor(other).double()
    if found := re.fullmatch(r"The result has the shape (\(.*\))\.", statement):
        return one.shape != two.shape and tuple(two.shape) == ast.literal_eval(found[1])
    if one.shape != two.shape:
        return False
    if statement == "The result holds NaN or infinite numbers.":
        return not bool(two.isfinite().all())
    off = ~torch.isclose(one, two, rtol=1e-6, atol=1e-9, equal_nan=True)
    if statement == "The result is the same.":
        return not off.any()
    if statement in ("The result is larger.", "The result is smaller."):
        return bool(off.any()) and bool((two > one) if "larger" in statement else (two < one))
    if statement == "Every position of the result changes.":
        return bool((off.any(-1) if off.ndim > 2 else off).all()) and bool(two.isfinite().all())
    if statement == "The result holds the same numbers in a different order.":
        return bool(off.any()) and torch.allclose(one.flatten().sort()[0], two.flatten().sort()[0])
    if statement == "All numbers of the result are multiplied by one and the same factor.":
        ratio = two / one
        return bool(off.any()) and bool(((ratio - ratio.flatten()[0]).abs() < 1e-6).all())
    if statement == "One and the same number is added to all numbers of the result.":
        return bool(off.any()) and bool(((two - one) - (two - one).flatten()[0]).abs().max() < 1e-6)
    if found := INDEX.fullmatch(statement):
        inside = torch.zeros_like(off)
        inside[eval(f"slicer[{found[1]}]", {"slicer": _Slicer()})] = True
        positions = off.any(-1) if off.ndim > 2 and found[1].count(",") < off.ndim - 1 else off
        wanted = inside.any(-1) if positions.ndim < inside.ndim else inside
        return bool((positions == wanted).all()) and not bool((off & ~inside).any())
    raise Unreadable(statement)


class _Slicer:
    def __getitem__(self, index):
        return index


def _flat(value):
    for one in value:
        if isinstance(one, (tuple, list)):
            yield from _flat(one)
        elif one is not None:
            yield torch.as_tensor(one).double()


def _holds_of_several(statement, base, other) -> bool:
    if len(base) != len(other):
        return False
    shapes = [at for at, (a, b) in enumerate(zip(base, other, strict=True)) if a.shape != b.shape]
    named = [int(one) for one in re.findall(r"result\[(\d+)\]", statement)]
    if "another shape" in statement:
        return shapes == named
    if shapes:
        return False
    off = [at for at, (a, b) in enumerate(zip(base, other, strict=True)) if not torch.allclose(a, b, equal_nan=True)]
    if statement == "The result is the same.":
        return not off
    if statement == "All returned values change.":
        return len(off) == len(base)
    if statement.startswith("Of the returned values only"):
        return off == named and len(off) < len(base)
    return False


def counted(run, folder, line: int, file: str) -> int:
    """How often a line is reached while something runs."""
    reached = 0

    def trace(frame, event, arg):
        nonlocal reached
        if not frame.f_code.co_filename.endswith(f"{folder.name}/{file}"):
            return None
        reached += event == "line" and frame.f_lineno == line
        return trace

    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(None)
    return reached

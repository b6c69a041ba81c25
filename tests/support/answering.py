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
from torch.overrides import TorchFunctionMode

END = r"\. (?=How often|What |Line \d|One picture|Square weights)"  # of a call
MADE = r"(?:`(\w+\(.*?\))`(?: with random weights)? in eval mode: )?"
CALL = re.compile(rf"^{MADE}(?:the module|its `(\w+)`|`(\w+)`) is called with (.*?){END}")
ARGUMENT = re.compile(
    r"`(\w+)` of shape \(([\d, ]*)\)"
    r"(?: (\(random numbers\))|, all ([-\d.e]+|True|False)|, (\w+ (?:on and below|above)) the diagonal)?"
    r"|`(\w+)` = `([^`]*)`|`(\w+)=([^`]*)`"
)
WHOLE = re.compile(r"mask|len|token|src$|tgt$|ids|targets|positions|labels|prompt")  # names of whole numbers
CHANGE = re.compile(r"(?i)line (\d+)(?: of (\w+)\.py)?(?:(?: becomes|:) `([^`]+)`| is deleted)")
INDEX = re.compile(r"The numbers of `result\[(.*)\]` change; all others stay the same\.")


class Unreadable(Exception):
    """A question that this reader does not understand."""


def changed(sources: dict[str, str], module: str, words: str) -> dict[str, str]:
    """The modules of a program with the change that some words name.

    Args:
        module: the one that is meant where no file is named.
    """
    found = [*CHANGE.finditer(words)]
    if not found:
        raise Unreadable(words)
    name = found[-1][2] or module
    return {**sources, name: replaced(sources[name], int(found[-1][1]), found[-1][3] or "pass")}


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
            name = one[1] or one[6] or one[8]
            if one[1]:
                shape = [int(size) for size in one[2].split(",") if size.strip()]
                kind = torch.long if WHOLE.search(name) else torch.float64
                if one[5]:
                    ones = torch.ones(shape).tril() if "below" in one[5] else torch.ones(shape).triu(1)
                    self.arguments[name] = ones.to(kind if one[5][0] not in "TF" else torch.bool)
                    continue
                if one[4] is None and not one[3]:
                    raise Unreadable(text)
                self.arguments[name] = (
                    0.7 * torch.randn(shape, generator=dice, dtype=torch.float64)
                    if one[3]
                    else torch.full(shape, ast.literal_eval(one[4])).to(kind if one[4][0] not in "TF" else torch.bool)
                )
            elif one[6]:
                whole = WHOLE.search(name) and "." not in one[7]
                truth = torch.bool if "True" in one[7] or "False" in one[7] else None
                self.arguments[name] = torch.tensor(
                    ast.literal_eval(one[7]), dtype=truth or (torch.long if whole else torch.float64)
                )
            else:
                try:
                    self.arguments[name] = ast.literal_eval(one[9])
                except ValueError:  # the name of a function
                    self.arguments[name] = Named(one[9])

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
        easy = "Square weights are identity matrices, all other weights are 1, biases are 0." in self.text
        for name, weight in model.named_parameters():
            if easy:
                square = weight.ndim == 2 and weight.shape[0] == weight.shape[1]
                weight.copy_(torch.eye(len(weight)) if square else torch.full_like(weight, float("bias" not in name)))
            else:
                spread = 0.4 if "bias" in name else 1 / (*weight.shape, 1)[max(weight.ndim - 1, 0)] ** 0.5
                weight.copy_(spread * torch.randn(weight.shape, generator=dice, dtype=torch.float64))
                weight.add_(1.0) if weight.ndim == 1 and "bias" not in name else None


def holds(statement: str, base: Any, other: Any) -> bool:
    """Whether a sentence about the result of a changed call is true."""
    if statement == "The call raises an exception.":
        return isinstance(other, Exception)
    if isinstance(other, Exception) or isinstance(base, Exception):
        return False
    if isinstance(base, (tuple, list)) != isinstance(other, (tuple, list)):
        return False
    base, other = first_value(base), first_value(other)
    one, two = torch.as_tensor(base).double(), torch.as_tensor(other).double()
    if found := re.fullmatch(r"The result has the shape (\(.*\))\.", statement):
        return one.shape != two.shape and tuple(two.shape) == ast.literal_eval(found[1])
    if one.shape != two.shape:
        return False
    off = ~torch.isclose(one, two, rtol=1e-6, atol=1e-9, equal_nan=True)
    if statement == "The result is the same.":
        return not off.any()
    if statement == "The result is a different number.":
        return one.numel() == 1 and bool(off.any())
    if statement == "Every position of the result changes.":
        return bool((off.any(-1) if off.ndim > 2 else off).all()) and bool(two.isfinite().all())
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


def first_value(value: Any) -> Any:
    """The first value that a call returns."""
    while isinstance(value, (tuple, list)):
        value = value[0]
    return value


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


def seen_after(run, folder, line: int, file: str, name: str | None) -> list[Any]:
    """What a name holds whenever a line has ended, or, without a name, what is returned there."""
    found: list[Any] = []
    last: dict[int, int] = {}

    def end(frame, now: int) -> None:
        begin, stop = spans.get(last.get(id(frame), 0), (0, 0))
        if begin == line and not begin <= now <= stop and name in frame.f_locals:
            value = frame.f_locals[name]
            found.append(value.detach().clone() if isinstance(value, torch.Tensor) else value)

    def trace(frame, event, arg):
        if not frame.f_code.co_filename.endswith(f"{folder.name}/{file}"):
            return None
        if event == "line":
            end(frame, frame.f_lineno)
            last[id(frame)] = frame.f_lineno
        elif event == "return":
            end(frame, -1)
            if name is None and spans.get(frame.f_lineno, (0, 0))[0] == line and arg is not None:
                found.append(arg)
            last.pop(id(frame), None)
        return trace

    tree = ast.parse((folder / file).read_text(encoding="utf-8"))
    statements = [node for node in ast.walk(tree) if isinstance(node, ast.stmt) and not hasattr(node, "body")]
    ranges = [(node.lineno, node.end_lineno or node.lineno) for node in statements]
    spans = {number: (first, final) for first, final in ranges for number in range(first, final + 1)}
    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(None)
    return found


class Weights(TorchFunctionMode):
    """Keeps the last tensor of at least three axes whose rows are weights: none below 0, their sum 1."""

    def __init__(self) -> None:
        super().__init__()
        self.last: Any = None

    def __torch_function__(self, func, types, args=(), kwargs=None):
        value = func(*args, **(kwargs or {}))
        if type(value) is torch.Tensor and value.ndim > 2 and value.is_floating_point() and value.numel():
            with torch._C.DisableTorchFunction():
                if value.min() >= 0 and ((value.sum(-1) - 1).abs() < 1e-6).all():
                    self.last = value.detach().clone()
        return value


def looks(before: Any, after: Any, exact: bool) -> list[Any]:
    """What somebody sees in a picture: cells that stay, empty cells, and five facts that are true or false."""
    near = 1e-9 if exact else 0.011
    old, new = torch.as_tensor(before).double(), torch.as_tensor(after).double()

    def equal(a: Any, b: Any) -> bool:
        return bool(((a - b).abs() <= near).all())

    many = 1 if exact else max(new.shape)
    order = [(new[row].argsort() == old[row].argsort()).all() for row in range(len(new))]
    return [
        (new - old).abs() <= near,
        new.abs() <= (1e-9 if exact else 0.0051),
        bool(((new.sum(1) - 1).abs() <= near * many).all()),
        bool(((new.sum(0) - 1).abs() <= near * many).all()),
        equal(new, new.roll(1, 0)),
        equal(new, new.roll(1, 1)),
        equal(new.flatten().sort()[0], old.flatten().sort()[0]),
        all(order),
    ]


def unlike(one: list[Any], two: list[Any]) -> float:
    """How much two such descriptions differ: the share of cells, and a whole one for each fact."""
    cells = sum(float((a != b).double().mean()) for a, b in zip(one[:2], two[:2], strict=True))
    return cells + sum(a != b for a, b in zip(one[2:], two[2:], strict=True))


def exchanged(source: str, first: int, second: int) -> str:
    """A module with the texts of two lines in each other's place."""
    lines = source.splitlines()
    lines[first - 1], lines[second - 1] = lines[second - 1], lines[first - 1]
    return "\n".join(lines) + "\n"

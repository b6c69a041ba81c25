"""The untrusted side: loads the student's modules from their source text and answers calls.

Nothing in this process is secret and nothing that it says is believed: it never sees an expected value, a tolerance
or a verdict, and the grader looks at the tensors themselves. Requests (see `frames` for values):

    load    sources: {module: text}, own: the names of the student's modules, dtype,
            replace: {module: functions and methods that are taken from its stand-in},
            lent: {module: the student's text behind a stand-in}, withheld: {module: why that must not be run}
    import  module
    call    target: "module.Name" or a handle, method, args, kwargs; cotangents: give gradients as well;
            dropout: the factor by which dropout multiplies, or null; arguments: give these back after the call;
            take: the part of the result to send, or null; fresh: call a new object, made as the target was
    get     target: a handle, attribute: "dotted.path"
    state   target: a handle; stored: the name of a checkpoint, or null if the body holds the tensors
    shapes  target: a handle; the names and shapes of its state_dict
    seed    seed: of torch's random numbers
    check   sources: {module: text} to be searched for what is forbidden, and not to be loaded

The reply is {"value": ...} or {"error": {kind, message, where}}.
"""

import contextlib
import importlib
import importlib.abc
import importlib.util
import linecache
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from importlib.machinery import ModuleSpec
from types import CodeType, ModuleType, SimpleNamespace
from typing import Any, BinaryIO

from autograder.forbidden import rules
from autograder.sandbox.lent_names import Lender
from autograder.sandbox.wire import flatten, read_frame, unflatten, write_frame

STANDIN = "standin_"
# The weights of the checkpoints by name. They are no secret, and in a fork they are there already.
STORED: dict[str, dict[str, Any]] = {}


class SourceFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports modules from text that is held in memory."""

    def __init__(self, request: dict[str, Any]) -> None:
        self.sources, self.own, self.replace = request["sources"], request["own"], request["replace"]
        self.lent, self.withheld = request["lent"], request["withheld"]

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in self.sources:
            return None
        return importlib.util.spec_from_loader(fullname, self, origin=f"{fullname}.py")

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        # Only the student's own modules have names that `describe` shows.
        if name in self.own:
            self.run_own(module, self.sources[name])
            return
        standin = compiled(f"<stand-in {name}>", self.sources[name])
        if name not in self.lent and name not in self.withheld:
            exec(standin, module.__dict__)
            return
        text = self.lent.get(name, "")
        lender = Lender(module, standin, lambda: self.lend(name, text, lender), text, self.withheld.get(name, ""))

    def run_own(self, module: ModuleType, text: str) -> None:
        """Run the student's text as a file that lies in the working folder."""
        module.__file__ = f"{module.__name__}.py"
        exec(compiled(module.__file__, text), module.__dict__)

    def lend(self, name: str, text: str, lender: Lender) -> ModuleType:
        """The student's module behind a stand-in; its classes have the stand-in's methods."""
        module = ModuleType(name)
        self.run_own(module, text)
        put_in(module, SimpleNamespace(**lender.interface), self.replace.get(name, []))
        return module


def compiled(filename: str, text: str) -> CodeType:
    """A text as code; messages show its lines."""
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    code: CodeType = compile(text, filename, "exec", dont_inherit=True)
    return code


def put_in(module: Any, standins: Any, paths: list[str]) -> None:
    """Replace functions and methods of the student, "function" or "Class.method", by those of the stand-in."""
    for path in paths:
        class_name, _, name = path.rpartition(".")
        own, standin = module, standins
        if class_name:
            own, standin = getattr(module, class_name, None), getattr(standins, class_name)
        # What has no stand-in (extra credit) is not called while other stages are graded.
        if own is not None and name in vars(standin):
            setattr(own, name, vars(standin)[name])


class Worker:
    """The modules and objects of one submission."""

    def __init__(self) -> None:
        self.objects: dict[int, Any] = {}
        self.makers: dict[int, Callable[[], Any]] = {}  # what made an object, by its id
        self.weights: dict[int, dict[str, Any]] = {}  # what it was loaded with last
        self.finder: SourceFinder | None = None

    def load(self, request: dict[str, Any], body: bytes) -> None:
        """Take the source texts."""
        import torch

        if self.finder is not None:
            sys.meta_path.remove(self.finder)
            for name in self.finder.sources:
                sys.modules.pop(name, None)
        self.objects.clear()
        self.makers.clear()
        self.weights.clear()
        self.finder = SourceFinder(request)
        sys.meta_path.insert(0, self.finder)
        torch.set_default_dtype(getattr(torch, request["dtype"]))

    def import_module(self, request: dict[str, Any], body: bytes) -> None:
        """Import one module, then replace the functions and methods that are not part of the stage."""
        assert self.finder is not None
        name = request["module"]
        module = importlib.import_module(name)
        if paths := self.finder.replace.get(name):
            put_in(module, importlib.import_module(STANDIN + name), paths)

    def call(self, request: dict[str, Any], body: bytes) -> Any:
        """Call a function, construct an object, or call an object or one of its methods."""
        import torch
        from safetensors.torch import load

        tensors = load(body) if body else {}
        target = request["target"]
        if isinstance(target, str):
            function = named(target)
        else:
            function = self.fresh(self.objects[target]) if request.get("fresh") else self.objects[target]
            if request["method"] is not None:
                function = getattr(function, request["method"])

        inputs: list[torch.Tensor] = []

        def leaf(kind: str, key: Any) -> Any:
            if kind == "$handle":
                return self.objects[key]
            if kind == "$function":
                return named(key)
            tensor = tensors[key] if kind == "$tensor" else tensors[key].transpose(-1, -2)
            if tensor.is_floating_point() and "cotangents" in request:
                inputs.append(tensor.requires_grad_())
            return tensor

        arguments = unflatten(request["args"], leaf)
        keywords = {name: unflatten(value, leaf) for name, value in request["kwargs"].items()}
        if "cotangents" not in request:
            with torch.no_grad(), dropout_as(request["dropout"]):
                value = function(*arguments, **keywords)
            if isinstance(target, str):
                self.makers[id(value)] = lambda: function(*arguments, **keywords)
            if request["take"]:
                return take(value, **request["take"])
            if request["arguments"]:  # functions and objects stay here
                return [None if callable(argument) else argument for argument in (*arguments, *keywords.values())]
            return value
        parameters = [] if isinstance(target, str) else list(self.objects[target].named_parameters())
        for _, parameter in parameters:
            parameter.grad = None
        with dropout_as(request["dropout"]):
            value = function(*arguments, **keywords)
        outputs = value if isinstance(value, (tuple, list)) else [value]
        cotangents = [tensors[name] for name in request["cotangents"]]
        total = sum((out * cotangent).sum() for out, cotangent in zip(outputs, cotangents, strict=True))
        if total.requires_grad:  # it does not where the code leaves the graph
            total.backward()
        return [value, [tensor.grad for tensor in inputs], [[name, parameter.grad] for name, parameter in parameters]]

    def get(self, request: dict[str, Any], body: bytes) -> Any:
        """Read an attribute, for instance "self_attn.W_q.weight"."""
        value = self.objects[request["target"]]
        for name in request["attribute"].split("."):
            value = getattr(value, name)
        return value

    def state(self, request: dict[str, Any], body: bytes) -> None:
        """Load weights, every name and shape exactly, and switch to evaluation mode."""
        from safetensors.torch import load

        weights = STORED[request["stored"]] if request["stored"] else load(body) if body else {}
        target = self.objects[request["target"]]
        target.load_state_dict(weights, strict=True)
        target.eval()
        self.weights[id(target)] = weights

    def fresh(self, target: Any) -> Any:
        """A new object in evaluation mode, made and loaded as this one was: nothing has been called on it."""
        made = self.makers[id(target)]()
        made.load_state_dict(self.weights.get(id(target), made.state_dict()), strict=True)
        return made.eval()

    def shapes(self, request: dict[str, Any], body: bytes) -> Any:
        """Names and shapes of all weights and buffers."""
        state = self.objects[request["target"]].state_dict()
        return [[name, list(tensor.shape)] for name, tensor in state.items()]

    def seed(self, request: dict[str, Any], body: bytes) -> None:
        """Start torch's random numbers anew."""
        import torch

        torch.manual_seed(request["seed"])

    def check(self, request: dict[str, Any], body: bytes) -> Any:
        """Search the source texts for what is forbidden; for a worker in which no such text was loaded."""
        return rules.answer(request["sources"])

    def answer(self, request: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
        """Do what a request asks; whatever the student's code raises becomes an error reply."""
        handlers: dict[str, Callable[[dict[str, Any], bytes], Any]] = {
            "load": self.load,
            "import": self.import_module,
            "call": self.call,
            "get": self.get,
            "state": self.state,
            "shapes": self.shapes,
            "seed": self.seed,
            "check": self.check,
        }
        try:
            return self.pack(handlers[request["do"]](request, body))
        except BaseException as error:  # sys.exit() and KeyboardInterrupt included
            return {"error": describe(error)}, b""

    def pack(self, value: Any) -> tuple[dict[str, Any], bytes]:
        """A reply with a value: tensors go into the body, modules stay here and are known by a number."""
        import torch
        from safetensors.torch import save

        tensors: dict[str, Any] = {}

        def leaf(item: Any) -> dict[str, Any] | None:
            if isinstance(item, torch.Tensor):
                name = str(len(tensors))
                # A copy, since safetensors refuses tensors that share memory.
                tensors[name] = item.detach().as_subclass(torch.Tensor).cpu().contiguous().clone()
                return {"$tensor": name}
            if isinstance(item, torch.nn.Module):
                handle = len(self.objects)
                self.objects[handle] = item
                return {"$handle": handle}
            return None

        try:
            header = {"value": flatten(value, leaf)}
        except TypeError:
            header = {"value": None, "type": type(value).__name__}
        return header, save(tensors) if tensors else b""


def named(path: str) -> Any:
    """A function or class: "module.name"."""
    module, _, name = path.partition(".")
    return getattr(importlib.import_module(module), name)


@contextlib.contextmanager
def dropout_as(factor: float | None) -> Iterator[None]:
    """Make dropout visible: let it multiply by a factor, in evaluation mode too, unless its probability is 0."""
    import torch.nn.functional as F

    if factor is None:
        yield
        return

    def multiply(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
        return input * factor if p else input

    dropout = F.dropout  # every nn.Dropout calls it
    F.dropout = multiply
    try:
        yield
    finally:
        F.dropout = dropout


def take(value: Any, shape: list[int], columns: list[int] | None) -> Any:
    """Some columns of scores, or the best one of each row: much less to send. Scores of a wrong form are sent whole."""
    import torch

    right = isinstance(value, torch.Tensor) and list(value.shape) == shape
    if not right or value.dtype not in (torch.float64, torch.float32) or not value.isfinite().all():
        return value
    return ["taken", value.argmax(dim=-1) if columns is None else value[..., columns]]


def describe(error: BaseException) -> dict[str, Any]:
    """An exception as text: its kind, its message, and the lines of the student's modules it went through."""
    frames = traceback.extract_tb(error.__traceback__)
    where = [[f.filename, f.lineno, f.name, f.line] for f in frames if re.fullmatch(r"\w+\.py", f.filename)]
    if isinstance(error, SyntaxError):
        where.append([error.filename, error.lineno, "", (error.text or "").strip()])
        message = error.msg
    else:
        message = str(error)
    return {"kind": type(error).__name__, "message": str(message)[:4000], "where": where[-8:]}


def prepare_torch() -> None:
    """Import torch the way every worker needs it, and read the checkpoints."""
    import torch
    import torch.nn.functional as F
    from safetensors.torch import load, load_file, save

    from course.config import CHECKPOINTS, WEIGHTS

    for file in CHECKPOINTS.glob(f"*/{WEIGHTS}"):
        with contextlib.suppress(Exception):  # the grader reads the file too and tells what is wrong with it
            STORED[file.parent.name] = load_file(file)

    torch.set_num_threads(1)
    # Every weight comes from the grader, so random initial values would be time lost.
    for name in vars(torch.nn.init):
        if name.endswith("_") and not name.startswith("_"):
            setattr(torch.nn.init, name, lambda tensor, *args, **kwargs: tensor)
    # First calls set up tables inside torch; done here, every fork has them.
    with torch.no_grad():
        x = load(save({"x": torch.ones(2, 8, 8, dtype=torch.float64)}))["x"]
        F.layer_norm(torch.softmax(x @ x, dim=-1), (8,))


def serve(reader: BinaryIO, writer: BinaryIO) -> None:
    """Answer requests until the grader closes the connection."""
    worker = Worker()
    while True:
        try:
            request, body = read_frame(reader)
        except EOFError:
            return
        reply = worker.answer(request, body)
        with contextlib.suppress(Exception):  # the student's code may have replaced or closed them
            sys.stdout.flush()
            sys.stderr.flush()
        write_frame(writer, *reply)


def main() -> None:
    """A worker of its own process: requests on stdin, replies on stdout, the student's prints on stderr."""
    import os

    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    requests = os.fdopen(os.dup(0), "rb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    prepare_torch()
    serve(requests, replies)

"""The untrusted side: load the student's modules from their source code and answer calls.

Nothing in this process is secret: it never sees an expected value, a tolerance or a verdict. Nothing that it sends is
trusted: the grader checks the tensors itself. The possible requests are as follows (see `wire` for the encoding of
values):

    load    sources: {module: text}, own: the names of the student's modules, dtype,
            replace: {module: functions and methods to take from its stand-in},
            lent: {module: the student's code that a stand-in replaces}, withheld: {module: why that code must not run},
            locked: {module: functions and methods of its stand-in hidden from the graded ones},
            graded: the graded functions, forbids, allows: parts of torch as named in the manifest
    call    target: "module.Name" or a handle, method, args, kwargs; cotangents: also return gradients;
            steady: whether dropout is deterministic; arguments: return the arguments after the call;
            take: the part of the result to send, or null; rows: a width, to return the largest number of such rows
            instead of the result; fresh: call a new object, created like the target; signed: return signatures;
            change: the arguments of a `change` request to run first
    get     target: a handle, attribute: "dotted.path"
    state   target: a handle; stored: the name of a checkpoint, or null if the body contains the tensors
    shapes  target: a handle; returns the names and shapes of its state_dict; trained: only of its parameters
    seed    seed: for all random number generators
    follow  files, seconds: trace the operations of later calls, for lines of these files (see `tracing.tracer`);
            turned: the number of a result to compare with its axes in every order, or -1
            opposite: the number of a mask to invert, or -1
    record  send the trace, and stop tracing
    watch   files: count the statements of these files in later calls, and keep their values (`tracing.line_values`)
    watched send the counts and values, and stop
    change  module, path, text: run a function with the code of this text until the next change (see
            `localization.trials`); if it is empty, undo the last change
    check   sources: {module: text} to search for forbidden parts without loading them; known, parts: see
            `rules`

The reply is {"value": ...} or {"error": {kind, message, where, unwritten}}. A request may set `within`, its time limit
in seconds. When the limit is exceeded, a stack dump is sent instead of the reply (see `timeout_location`).
"""

import contextlib
import importlib
import random
import sys
from collections.abc import Callable, Sequence
from typing import Any

import torch
from safetensors.torch import load

from autograder.forbidden import rules
from autograder.sandbox.wire import STANDIN, flatten, pack_tensors, unflatten
from autograder.worker import ready_made_parts
from autograder.worker.count_rows import CountRows
from autograder.worker.deterministic_dropout import deterministic_dropout
from autograder.worker.disable_builtins import disable, disable_parts
from autograder.worker.early_imports import import_all
from autograder.worker.exception_report import describe
from autograder.worker.modules_from_text import Sources, put_in
from autograder.worker.parts_of_stage import name_parts, texts_of
from autograder.worker.patched_function import ChangedFunction
from autograder.worker.plain_results import is_plain, plain_result
from autograder.worker.tracing import signatures
from autograder.worker.tracing.line_values import LineValues
from autograder.worker.tracing.tracer import Tracer

# The weights of the checkpoints by name. They are not secret, and every fork has them at once.
STORED: dict[str, dict[str, Any]] = {}


def versions_of(target: Any) -> int:
    """The number of in-place changes made to an object's weights so far."""
    return sum(tensor._version for tensor in target.state_dict(keep_vars=True).values())


class Worker:
    """The modules and objects of one submission."""

    def __init__(self, before: Sequence[Callable[[], None]] = ()) -> None:
        self.before = before  # called before any code of a submission runs
        self.objects: dict[int, Any] = {}
        self.target: Any = None  # the target of the current request
        self.makers: dict[int, Callable[[], Any]] = {}  # object id -> a function that creates the object again
        self.origins: dict[int, str] = {}  # object id -> "module.Class" it was created from
        self.weights: dict[int, dict[str, Any]] = {}  # object id -> the weights loaded last
        self.versions: dict[int, int] = {}  # object id -> number of weight changes at the start of a trial
        self.code: Sources | None = None
        self.tracer: Any = None  # while calls are traced
        self.watching: Any = None  # while the values of statements are kept
        self.changed: Any = None  # the patched function

    def load(self, request: dict[str, Any], body: bytes) -> None:
        """Receive the source code."""
        self.code = Sources(request)
        import_all([*request["sources"].values(), *request["lent"].values()], request["sources"])
        for close in self.before:
            close()
        standins = [text for name, text in request["sources"].items() if name not in request["own"]]
        disable([*standins, *texts_of(request["allows"])])
        disable_parts(request["forbids"], standins)
        name_parts(request["forbids"], request["allows"], standins)
        sys.meta_path.insert(0, self.code.finder())
        torch.set_default_dtype(getattr(torch, request["dtype"]))

    def import_module(self, request: dict[str, Any], body: bytes) -> None:
        """Import one module, then replace the functions and methods that are not part of the stage."""
        assert self.code is not None
        name = request["module"]
        module = importlib.import_module(name)
        if paths := self.code.replace.get(name):
            put_in(module, importlib.import_module(STANDIN + name), paths)

    def call(self, request: dict[str, Any], body: bytes) -> Any:
        """Call a function, construct an object, or call an object or one of its methods."""
        torch.set_grad_enabled(True)  # whatever a module has set at import
        if request.get("signed"):
            self.restore()
        if request.get("change"):
            self.change(request["change"], b"")
        tensors = load(body) if body else {}
        target = request["target"]
        function = owner = named(target) if isinstance(target, str) else self.objects[target]
        if not isinstance(target, str):
            function = owner = self.fresh(owner) if request.get("fresh") else owner
            function = owner if request["method"] is None else getattr(owner, request["method"])

        inputs: list[torch.Tensor] = []

        def leaf(kind: str, key: Any) -> Any:
            if kind == "$handle":
                return self.objects[key]
            if kind == "$function":
                return named(key)
            tensor = tensors[key] if kind == "$tensor" else tensors[key].transpose(-1, -2)
            if tensor.is_floating_point() and "cotangents" in request:
                inputs.append(tensor.requires_grad_())
                return tensor.clone()  # not a leaf of the graph (as in a model), so it may be changed in place
            return tensor

        arguments = unflatten(request["args"], leaf, tuples=tuple)  # student code may compare an argument with a tuple
        keywords = {name: unflatten(value, leaf, tuples=tuple) for name, value in request["kwargs"].items()}
        standins = ready_made_parts.Opened(not self.is_graded(target, request["method"]))
        chance = deterministic_dropout() if request["steady"] else contextlib.nullcontext()
        if "cotangents" not in request:
            if request["rows"]:
                with torch.no_grad(), standins, CountRows(request["rows"]) as counted:
                    function(*arguments, **keywords)
                return counted.most
            with torch.no_grad(), standins, chance, self.following(target, request):
                value = function(*arguments, **keywords)
            value = plain_result(value)
            if self.tracer is not None:
                self.tracer.returned(value)
            if isinstance(target, str):
                self.makers[id(value)] = lambda: function(*arguments, **keywords)
                self.origins[id(value)] = target
            if request.get("signed"):
                return signed(value)
            if request["take"]:
                return take(value, **request["take"])
            if request["arguments"]:  # functions and objects are not sent
                after = [None if callable(argument) else argument for argument in (*arguments, *keywords.values())]
                return plain_result(after)
            return value
        parameters = [] if isinstance(target, str) else list(owner.named_parameters())
        for _, parameter in parameters:
            parameter.grad = None
        with standins, chance:
            value = function(*arguments, **keywords)
        value = plain_result(value)
        outputs = value if isinstance(value, (tuple, list)) else [value]
        cotangents = [tensors[name] for name in request["cotangents"]]
        total = sum((out * cotangent).sum() for out, cotangent in zip(outputs, cotangents, strict=True))
        if total.requires_grad:  # false if the code detaches its result from the graph
            total.backward()
        return [value, [tensor.grad for tensor in inputs], [[name, parameter.grad] for name, parameter in parameters]]

    def get(self, request: dict[str, Any], body: bytes) -> Any:
        """Read an attribute, for instance "self_attn.W_q.weight"."""

        value = self.objects[request["target"]]
        for name in request["attribute"].split("."):
            value = getattr(value, name)
        value = plain_result(value)
        if self.tracer is not None:
            self.tracer.returned(value)
        return signed(value) if request.get("signed") else value

    def state(self, request: dict[str, Any], body: bytes) -> None:
        """Load weights whose names and shapes match exactly, and switch to evaluation mode."""
        weights = STORED[request["stored"]] if request["stored"] else load(body) if body else {}
        target = self.objects[request["target"]]
        target.load_state_dict(weights, strict=True)
        target.eval()
        self.weights[id(target)] = weights
        self.versions.pop(id(target), None)

    def restore(self) -> None:
        """Reload the weights of all objects that a trial has changed."""
        for target in self.objects.values():
            if (weights := self.weights.get(id(target))) is None:
                continue
            if self.versions.get(id(target), version := versions_of(target)) != version:
                target.load_state_dict(weights, strict=True)
                target.zero_grad()
            self.versions[id(target)] = versions_of(target)

    def fresh(self, target: Any) -> Any:
        """Return a new object in evaluation mode, created and loaded like this one, but never called."""
        with ready_made_parts.Opened(not self.is_graded(self.origins[id(target)], None)):
            made = self.makers[id(target)]()
        made.load_state_dict(self.weights.get(id(target), made.state_dict()), strict=True)
        return made.eval()

    def is_graded(self, target: str | int, method: str | None) -> bool:
        """Whether a call runs code that the stage grades, so that other stages' stand-ins are locked during the call.

        The kind of an object is recorded when it is created, since students choose the names of their classes.
        """
        if self.code is None:
            return False
        if isinstance(target, str):
            return not {target, f"{target}.__init__"}.isdisjoint(self.code.paths)
        model, method = self.objects[target], method or "forward"
        by_origin = f"{self.origins.get(id(model), '')}.{method}" in self.code.paths
        return by_origin or ready_made_parts.is_graded(model, method, self.code.graded)

    def shapes(self, request: dict[str, Any], body: bytes) -> Any:
        """Return the names and shapes of all weights and buffers, or only of the weights."""
        state = self.objects[request["target"]].state_dict()
        if request.get("trained"):
            state = dict(self.objects[request["target"]].named_parameters(remove_duplicate=False))
        return [[name, list(tensor.shape)] for name, tensor in state.items()]

    def seed(self, request: dict[str, Any], body: bytes) -> None:
        """Seed all random number generators."""
        torch.manual_seed(request["seed"])
        random.seed(request["seed"])
        if numpy := sys.modules.get("numpy"):
            numpy.random.seed(request["seed"] % 2**32)  # NumPy accepts no larger seeds

    def follow(self, request: dict[str, Any], body: bytes) -> None:
        """Trace the calls that follow."""
        self.tracer = Tracer(set(request["files"]), request["seconds"])

    def record(self, request: dict[str, Any], body: bytes) -> Any:
        """Return the trace of the calls since `follow`."""
        tracer, self.tracer = self.tracer, None
        return tracer.reply()

    def watch(self, request: dict[str, Any], body: bytes) -> None:
        """Count the statements that the following calls execute, and keep their values."""
        self.watching = LineValues(set(request["files"]))

    def watched(self, request: dict[str, Any], body: bytes) -> Any:
        """Return the counts and values since `watch`."""
        watching, self.watching = self.watching, None
        return watching.reply()

    def change(self, request: dict[str, Any], body: bytes) -> None:
        """Run a function with different code."""
        assert self.code is not None
        self.changed = self.changed or ChangedFunction()
        if request["module"] not in self.code.own:
            raise LookupError(request["module"])
        self.changed.put(request["module"], request["path"], request["text"])

    def following(self, target: Any, request: dict[str, Any]) -> Any:
        """Trace the calls inside the block, if tracing is on."""
        if self.watching is not None and not request.get("unseen"):
            return self.watching
        if self.tracer is None or request.get("unseen"):
            return contextlib.nullcontext()
        return self.tracer.running(self.objects.get(target) if isinstance(target, int) else None)

    def check(self, request: dict[str, Any], body: bytes) -> Any:
        """Search source code for forbidden parts, in a worker that has not loaded this code."""
        return rules.answer(request["sources"], request["known"], request["parts"])

    def answer(self, request: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
        """Handle a request; any exception raised by the student's code becomes an error reply."""
        handlers: dict[str, Callable[[dict[str, Any], bytes], Any]] = {
            "load": self.load,
            "import": self.import_module,
            "call": self.call,
            "get": self.get,
            "state": self.state,
            "shapes": self.shapes,
            "seed": self.seed,
            "follow": self.follow,
            "record": self.record,
            "watch": self.watch,
            "watched": self.watched,
            "change": self.change,
            "check": self.check,
        }
        self.target = request.get("target")
        try:
            return self.pack(handlers[request["do"]](request, body))
        except BaseException as error:  # including sys.exit() and KeyboardInterrupt
            # Nobody needs to know why a trial change fails.
            return {"error": {} if request.get("signed") else describe(error)}, b""

    def pack(self, value: Any) -> tuple[dict[str, Any], bytes]:
        """Pack a value into a reply: tensors go into the body; modules stay here and are referred to by number."""
        tensors: dict[str, torch.Tensor] = {}

        def leaf(item: Any) -> dict[str, Any] | None:
            if is_plain(item):
                name = str(len(tensors))
                tensors[name] = item.detach().cpu().resolve_neg().contiguous()
                return {"$tensor": name}
            if issubclass(type(item), torch.nn.Module):
                itself = isinstance(self.target, int) and item is self.objects.get(self.target)
                handle = self.target if itself else len(self.objects)
                self.objects[handle] = item
                return {"$handle": handle}
            return None

        try:
            header = {"value": flatten(value, leaf)}
        except TypeError:
            header = {"value": None, "type": type(value).__name__}
        return header, in_bytes(tensors) if tensors else b""


def signed(value: Any) -> Any:
    """Return the signatures of a result."""

    return signatures.signed(value)


# The names of types in the safetensors format.
TYPES = {"float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "complex64": "C64", "bool": "BOOL"}
TYPES |= {f"{kind}int{bits}": f"{kind.upper() or 'I'}{bits}" for kind in ("", "u") for bits in (8, 16, 32, 64)}


def in_bytes(tensors: dict[str, Any]) -> bytes:
    """Serialise tensors in the safetensors format. The library would need `ctypes`, which student code cannot use."""
    packed = []
    for key, x in tensors.items():
        kind = str(x.dtype).removeprefix("torch.")
        if kind not in TYPES:  # no result of a test has such a type
            kind, x = "complex64", x.to(torch.complex64).resolve_conj()
        packed.append((key, TYPES[kind], x.shape, x.reshape(-1).view(torch.uint8).numpy().tobytes()))
    return pack_tensors(packed)


def named(path: str) -> Any:
    """Look up a function or class by "module.name"."""
    module, _, name = path.partition(".")
    return getattr(importlib.import_module(module), name)


def take(value: Any, shape: list[int], columns: list[int] | None) -> Any:
    """Select columns of scores, or each row's argmax, to send less data; return any other value unchanged."""

    right = isinstance(value, torch.Tensor) and list(value.shape) == shape
    if not right or value.dtype not in (torch.float64, torch.float32) or not value.isfinite().all():
        return value
    return ["taken", value.argmax(dim=-1) if columns is None else value[..., columns]]

"""Trace a computation inside the worker: every tensor operation, its line, and a short signature of its result.

The tracer runs only after a test has failed, when the grader requests the same call again. The trace shows how the
numbers were computed from each other. It contains signatures, not the numbers themselves. The student's code could
forge it, so the grader uses it only as a hint about a line (see `localization.trace`).

The format of the recorded data is described in `trace_recorder`. An in-place operation adds a node for every tensor
that shares the memory. Operations inside another stage's stand-in are not traced: a call to it counts as one operation.
"""

import contextlib
import sys
import time
from collections.abc import Callable, Iterable
from types import FrameType, FunctionType
from typing import Any

import numpy as np
import torch
from torch.overrides import TorchFunctionMode

from autograder.sandbox.limits import TRACE_NODES, TRACE_SECONDS
from autograder.worker.operation_costs import more
from autograder.worker.ready_made_parts import is_trusted, methods
from autograder.worker.tracing.function_calls import FunctionCalls
from autograder.worker.tracing.signature_weights import COLUMNS
from autograder.worker.tracing.signatures import looked_at, signature, tensors_in
from autograder.worker.tracing.tensor_memory import memory_of, version_of
from autograder.worker.tracing.trace_recorder import GIVEN, GRADIENT, MADE, TRAINED, Record
from autograder.worker.tracing.traced_values import REPEATED, Series, is_array, plain

# Queries about a tensor that return no tensor: nothing to trace, and called often.
QUESTIONS = {
    *("size", "dim", "numel", "item", "tolist", "stride", "is_floating_point", "is_complex", "__len__", "__bool__"),
    *("__int__", "__float__", "__index__", "__format__", "__repr__", "is_contiguous", "data_ptr", "storage_offset"),
    *("requires_grad_", "__hash__", "ndimension", "nelement", "element_size", "type", "numpy"),
}
EMPTY = {"empty", "empty_like", "new_empty", "empty_strided"}


def _tensor(array: np.ndarray) -> torch.Tensor:
    with torch._C.DisableTorchFunction():
        return torch.from_numpy(np.array(array, dtype=np.float64))  # torch supports fewer types


class Tracer(Record, TorchFunctionMode):
    """Observes calls and records their operations."""

    def __init__(self, files: set[str], seconds: float = TRACE_SECONDS) -> None:
        TorchFunctionMode.__init__(self)
        Record.__init__(self, files, seconds)
        self._now: dict[int, tuple[int, int]] = {}  # tensor id -> its node, and the tensor's version at that time
        self._kept: list[torch.Tensor] = []  # keeps tensors alive, so that no id and no memory is reused
        self._sharing: dict[int, list[torch.Tensor]] = {}
        self._unseen = False  # true while a stand-in runs
        self._forward = 0  # the cost so far when gradients were last computed
        self._standins: dict[int, tuple[torch.nn.Module, bool]] = {}  # by id; kept alive, so that no id is reused
        self.plain_result: tuple[int, Any] = (-1, None)  # the number, string or list that a function returned last
        self.functions: FunctionCalls | None = None  # set while a call runs
        self._series: dict[tuple[int, str], Series] = {}  # by statement and name
        self.arrays: set[int] = set()  # nodes of NumPy arrays
        self._modules: dict[int, str] = {}
        self._weights: dict[int, str] = {}

    # Called by the worker

    def running(self, target: Any) -> "_Running":
        """Trace the `with` block: a call to an object or a function."""
        if isinstance(target, torch.nn.Module):
            self._modules |= {id(module): name or "it" for name, module in target.named_modules()}
            self._weights |= {id(weight): name for name, weight in target.named_parameters()}
        self.end = time.process_time() + self.seconds
        return _Running(self)

    def returned(self, value: Any) -> None:
        """Record the result of a call; results of several calls are appended."""
        if self.whole:
            self.raised = None  # an exception raised before an attribute is read no longer matters
            self.results += [self._node(tensor) for tensor in tensors_in(value)]
            self.shapes += [list(tensor.shape) for tensor in tensors_in(value)]
            if plain(value):
                node, returned = self.plain_result
                from_function = node >= 0 and (returned is value or returned == value)
                if not from_function:  # a driver computed it from the result of the student's function
                    node = self.append(GIVEN, "", (-1, -1), [], Series().of(value))
                self.results, self.shapes = [*self.results, node], [*self.shapes, []]
        self.results, self.shapes = ([], []) if not self.whole else (self.results[:1000], self.shapes[:1000])

    def step(self, name: str, value: Any) -> Any:
        """Record a named step of the reference and return the value."""
        if self.whole:
            self.steps += [(name, self._node(tensor)) for tensor in tensors_in(value)]
            if plain(value) and self.functions and self.functions.open:
                function = self.functions.open[-1][0]
                statement = function.running
                inputs = function.inputs(statement) if statement else []
                self.steps.append((name, self.plain_node(name, function.frame, function.frame.f_lineno, inputs, value)))
        return value

    # Called by torch

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None) -> Any:
        kwargs, name = kwargs or {}, getattr(func, "__name__", "")
        self.ran += 1
        if not self.whole or self._unseen or name in QUESTIONS:
            value = func(*args, **kwargs)
            self._count(name, tensors_in(args), value)
            return value
        used = list(tensors_in((args, kwargs)))
        before = [version_of(tensor) for tensor in used]
        try:
            value = func(*args, **kwargs)
        except Exception:
            if self.whole and name != "__get__":
                self.raised = [self._node(tensor) for tensor in used]
                self.raised_at = self.place(sys._getframe(1))[0]
            raise
        self._count(name, used, value)
        made = list(tensors_in(value)) if name != "__get__" or isinstance(value, torch.Tensor) else []
        changed = [x for x, version in zip(used, before, strict=True) if version_of(x) != version]
        if made or changed:
            others = [
                argument for argument in (*args, *kwargs.values()) if type(argument) is float or is_array(argument)
            ]
            self._operation(name, used, before, made, changed, others)
        return value

    def _count(self, name: str, used: Iterable[torch.Tensor], value: Any) -> None:
        self.ran += more(name, used, value)
        if name == "backward":  # the backward pass is not seen: count the cost of the forward pass again
            self.ran += self.ran - self._forward
            self._forward = self.ran

    def _operation(
        self,
        name: str,
        used: list[torch.Tensor],
        before: list[int],
        made: list[torch.Tensor],
        changed: list[torch.Tensor],
        others: list[Any],
    ) -> None:
        known = {id(tensor) for tensor in used}
        if name == "__get__" and made and used[0].is_leaf and used[0].grad is made[0]:
            name = GRADIENT
            known |= {id(x) for x in made if self._now.get(id(x), (-1, -1))[1] == version_of(x)}  # it was read before
        inputs = [self._node(x, version) for x, version in zip(used, before, strict=True)]
        place = self.place(sys._getframe(2))
        if self.functions and self.functions.open:
            running, arrays = self.functions.open[-1][0], [argument for argument in others if is_array(argument)]
            inputs += running.fractions([argument for argument in others if type(argument) is float])
            inputs += running.of_arrays(arrays) if arrays else []
        for tensor in {id(x): x for x in changed}.values():
            trained = isinstance(tensor, torch.nn.Parameter)
            node = self._add(MADE, TRAINED if trained else name, place, inputs, tensor)
            for other in self._sharing.get(memory_of(tensor), ()):
                # A tensor that shares the memory may be a different part of it, so its values are compared.
                if id(other) in self._now and other is not tensor:
                    old = self._now[id(other)][0]
                    current = old if self._unchanged(old, other) else self._add(MADE, name, place, [node, old], other)
                    self._now[id(other)] = (current, version_of(other))
            self._know(tensor, node)
        for tensor in made:
            if name in EMPTY:  # uninitialised memory would have random contents
                with torch._C.DisableTorchFunction(), torch.no_grad():
                    tensor.zero_()
            if id(tensor) not in known:
                self._know(tensor, self._add(MADE, name, place, inputs, tensor))

    # Nodes of the trace

    def _node(self, tensor: torch.Tensor, version: int | None = None) -> int:
        """Return the node of a tensor's current (or given) version; a new node if the tensor's origin is unknown."""
        now = version_of(tensor) if version is None else version
        if (known := self._now.get(id(tensor))) and known[1] == now:
            return known[0]
        node = self._from_numpy(tensor)
        if node < 0:
            node = self._add(GIVEN, self._weights.get(id(tensor), ""), (-1, -1), [], tensor)
        self._know(tensor, node)
        if version is not None:
            self._now[id(tensor)] = (node, version)
        return node

    def _from_numpy(self, tensor: torch.Tensor) -> int:
        """Return a node for a tensor of unknown origin, if the line uses arrays that it may come from; else -1."""
        function = self.functions.open[-1][0] if self.functions and self.functions.open else None
        arrays = function.of_arrays([]) if function and not isinstance(tensor, torch.nn.Parameter) else []
        return self._add(MADE, "from_numpy", self.place(function.frame), arrays, tensor) if function and arrays else -1

    def _unchanged(self, node: int, tensor: torch.Tensor) -> bool:
        """Whether a tensor is unchanged even though other elements of its shared memory have changed."""
        with contextlib.suppress(Exception):
            return signature(tensor) == self.signatures[node]
        return False

    def _know(self, tensor: torch.Tensor, node: int) -> None:
        if id(tensor) not in self._now:
            self._kept.append(tensor)
            self._sharing.setdefault(memory_of(tensor), []).append(tensor)
        self._now[id(tensor)] = (node, version_of(tensor))

    def _add(self, kind: int, label: str, place: tuple[int, int], inputs: list[int], tensor: torch.Tensor) -> int:
        means, nan = (float("nan"),) * COLUMNS, False
        # Weights are given, and empty tensors have no values yet: computing signatures of them would dominate the cost.
        weight = kind == GIVEN and isinstance(tensor, torch.nn.Parameter)
        if label not in EMPTY and not weight:
            with contextlib.suppress(Exception):  # a tensor without its own values, as inside vmap
                means, nan = looked_at(tensor)
        self.bytes += tensor.numel() * tensor.element_size()
        return self.append(kind, label, place, inputs, means, nan)

    # Numbers, strings and lists

    def plain_node(self, label: str, frame: FrameType | None, line: int, inputs: list[int], value: Any) -> int:
        """Return a node for a value other than a tensor, computed on a line; without a line, the value is an input."""
        place = (-1, -1)
        if frame is not None:
            number = self.places.setdefault((frame.f_code.co_filename, line), len(self.places))
            place = number, self.place(frame.f_back)[0]
        series = self._series.setdefault((place[0], label), Series())
        if series.runs < REPEATED and (self.whole or not series.runs):
            kind = GIVEN if frame is None else MADE
            if is_array(value):
                series.runs += 1
                series.node = self._add(kind, label, place, inputs, _tensor(value))
                self.arrays.add(series.node)
            else:
                series.node = self.append(kind, label, place, inputs, series.of(value))
        return series.node

    def look_again(self, node: int, array: np.ndarray) -> None:
        """Update the node of an array that has been written into again."""
        self.signatures[node] = signature(_tensor(array))

    def node_of(self, value: Any) -> int:
        """Return the node of a tensor in its current state; -1 for anything else."""
        return self._node(value) if isinstance(value, torch.Tensor) else -1

    def called(self, call: Callable[..., Any], module: Any, args: Any, kwargs: Any) -> Any:
        """Trace a call to a module; a call to a stand-in counts as one operation."""
        if not self.whole or self._unseen:
            return call(module, *args, **kwargs)
        path = self._modules.get(id(module)) or type(module).__name__[:80]
        place = self.place(sys._getframe(2))
        number, outside = self._open(path, place[0], (args, kwargs))
        weights = [self._now.get(id(weight), (-1,))[0] for weight in module.parameters()]
        inputs = [*self.calls[number][3], *(node for node in weights if node >= 0 and self.nodes[node][0] == MADE)]
        self._unseen = unseen = self._is_standin(module)
        try:
            value = call(module, *args, **kwargs)
            self._unseen = False
            for tensor in tensors_in(value) if unseen else ():
                if self._now.get(id(tensor), (0, -1))[1] != version_of(tensor):
                    self._know(tensor, self._add(MADE, type(module).__name__, place, inputs, tensor))
        except Exception:
            if unseen:
                self.raised, self.raised_at = inputs, place[0]
            raise
        finally:
            self._unseen, self.inside = False, outside
        if self.whole:
            self.calls[number][4] += [self._node(tensor) for tensor in tensors_in(value)]
        return value

    def _is_standin(self, module: torch.nn.Module) -> bool:
        """Whether a call to a module runs only code from stand-ins and torch."""
        if (entry := self._standins.get(id(module))) is None:
            parts = [*module.modules()]
            codes = [code for part in parts for code in methods(type(part))]
            codes += [
                value.__code__ for part in parts for value in vars(part).values() if isinstance(value, FunctionType)
            ]
            names = {code.co_filename for code in codes}
            known = any(map(is_trusted, methods(type(module)))) and names.isdisjoint(self.files)
            entry = self._standins[id(module)] = module, known
        return entry[1]

    def entered(self, name: str, caller: FrameType | None, given: list[Any]) -> tuple[int, int] | None:
        """Open a function call: return its number and that of the enclosing call; None if there are too many calls."""
        if not self.whole or len(self.calls) > TRACE_NODES // 8:
            return None
        around = self.inside
        while around >= 0 and self.calls[around][0].endswith("()"):
            around = self.calls[around][2]
        path = f"{self.calls[around][0]}." if around >= 0 else ""
        # A method belongs to its module, wherever it is called from: methods of two layers are distinguished.
        if given and isinstance(given[0], torch.nn.Module) and (module := self._modules.get(id(given[0]))):
            path = f"{module}."
        return self._open(f"{path}{name}()"[-80:], self.place(caller)[0], given)

    def left(self, number: int, outside: int, frame: FrameType | None, value: Any) -> None:
        """Close a call to a function at the current line of its frame; the frame is None for a stand-in's function."""
        self.inside = outside
        if self.whole:
            self.calls[number][4] += [self._node(tensor) for tensor in tensors_in(value)]
            self.calls[number][5] = self.place(frame)[0]

    def _open(self, path: str, place: int, given: Any) -> tuple[int, int]:
        inputs = [self._node(tensor) for tensor in tensors_in(given)]
        outside, self.inside = self.inside, len(self.calls)
        self.calls.append([path, place, outside, inputs, [], -1])
        self.whole = self.whole and len(self.calls) < TRACE_NODES // 2
        return self.inside, outside


class _Running:
    """A block in which a tracer observes operations and calls to modules."""

    current: Tracer | None = None

    def __init__(self, tracer: Tracer) -> None:
        self.tracer = tracer

    def __enter__(self) -> None:
        self.call = torch.nn.Module.__call__
        tracer, call = self.tracer, self.call
        tracer.raised = None
        setattr(torch.nn.Module, "__call__", lambda self, *a, **k: tracer.called(call, self, a, k))  # noqa: B010
        _Running.current = tracer
        tracer.__enter__()  # type: ignore[no-untyped-call]
        tracer.functions = self.functions = FunctionCalls(tracer)
        self.functions.start()

    def __exit__(self, *error: Any) -> None:
        self.functions.end()
        self.tracer.functions = None
        self.tracer.__exit__(*error)  # type: ignore[no-untyped-call]
        _Running.current = None
        setattr(torch.nn.Module, "__call__", self.call)  # noqa: B010


def step(name: str, value: Any) -> Any:
    """Mark a named step of the reference; the grader inserts calls to `step` (see `localization.named_steps`)."""
    return _Running.current.step(name, value) if _Running.current else value

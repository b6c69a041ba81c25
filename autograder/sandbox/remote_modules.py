"""Proxies for the student's modules: tests call them, and a worker's tensors come back as NumPy arrays."""

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from autograder.sandbox.call_replay import CallHistory, CallReplay
from autograder.sandbox.exchange import Late, exchange
from autograder.sandbox.last_call import LastCall
from autograder.sandbox.limits import CALL_SECONDS, MAX_NUMBER, START_SECONDS
from autograder.sandbox.read_reply import are_shapes, read_gradients
from autograder.sandbox.remote_values import MODULE, Code, Foreign, Gradients, Named, body_of, shown
from autograder.sandbox.student_faults import (
    Blocked,
    Crashed,
    NoFile,
    PrintedTooMuch,
    StudentFault,
    TimedOut,
    ending,
    fault_of,
    other_weights,
)
from autograder.sandbox.submission_clock import Clock, Seconds
from autograder.sandbox.timeout_location import places, too_late
from autograder.sandbox.wire import STANDIN, FrameError, flatten
from autograder.sandbox.worker_processes import WorkerProcess, Workers

MOST_SHOWN = 1000  # characters of a call in a message
# The fields of Code that a worker needs.
LOADED = ("sources", "replace", "lent", "withheld", "locked", "graded", "forbids", "allows")


class Student:
    """The modules of one submission in one worker: `student.mha.MultiHeadAttention(...)`.

    The worker is started on the first call, and restarted if it has died.
    """

    def __init__(self, workers: Workers, code: Code, dtype: str = "float64", clock: Clock | None = None) -> None:
        self.dtype, self.last_call, self.import_failure = dtype, "", ""
        self.last_inputs: list[tuple[str, Any]] = []  # the last call's arguments, with the names of keyword arguments
        self.kept: dict[str, Any] = {}  # values that tests share by name because computing them takes time
        self.code = code
        self.noted: dict[str, CallReplay] | None = None  # if not None, records a replay of every call
        self._workers, self._seconds = workers, CALL_SECONDS
        self._worker: WorkerProcess | None = None
        self.lives = 0  # number of workers started so far
        self._failed: StudentFault | None = None
        self._again, self._recipes = LastCall(), CallHistory()
        self._newest = -1  # the number of the newest object in the worker
        self._rests, self._printed = False, ""
        self._clock = clock or Clock()

    def with_code(self, code: Code) -> "Student":
        """Return the same submission with different code, in its own worker."""
        return Student(self._workers, code, self.dtype, self._clock)

    def __getattr__(self, module: str) -> "ModuleProxy":
        if module.startswith("_"):
            raise AttributeError(module)
        return ModuleProxy(self, module)

    def start(self) -> None:
        """Start a worker and import the modules, unless this has already been done.

        Raises:
            StudentFault: if a module cannot be imported. Later calls raise it again without another attempt.
        """
        self._clock.check()
        if self._failed is not None:
            raise self._failed
        if self._worker is not None:
            return
        self._workers.provide(
            [*(self.code.sources.get(module, "") for module in self.code.modules), *self.code.lent.values()]
        )
        self._worker = self._workers.start()
        self.lives += 1
        code = self.code
        texts = {name: getattr(code, name) for name in LOADED}
        self._ask({"do": "load", "own": code.modules, "dtype": self.dtype, **texts})
        for module in self.code.modules:
            try:
                if module in self.code.unreadable:
                    raise NoFile(self.code.unreadable[module])
                if stage := self.code.reported.get(module):
                    raise Blocked(f"{module}.py cannot be imported; see stage {stage} for the reason")
                self._ask({"do": "import", "module": module}, call=f"import {module}")
            except StudentFault as fault:
                if fault.message.startswith("ModuleNotFoundError"):
                    files = ", ".join(f"{name}.py" for name in code.sources if not name.startswith(STANDIN))
                    fault.message += f"\nOf your files, only {files} are read."
                self._failed = fault
                self.import_failure = "" if isinstance(fault, Blocked) else module
                raise

    def seed(self, number: int) -> None:
        """Seed the worker's random number generators."""
        self.request({"do": "seed", "seed": number}, {}, f"torch.manual_seed({number})")

    def request(self, request: dict[str, Any], tensors: Mapping[str, np.ndarray], call: str) -> Any:
        """Send one request, starting the worker if needed, and return the value of the reply."""
        self.start()
        self.last_call = call
        self._recipes.note(request, tensors)
        if self.noted is not None and (recipe := self.recipe()):
            self.noted.setdefault(recipe.digest, recipe)
        body = body_of(tensors)
        value = self._again.first(request, lambda **options: self._ask({**request, **options}, body, call))
        if isinstance(value, ObjectProxy):
            self._recipes.made(value._handle)
        return value

    @contextlib.contextmanager
    def unnoted(self) -> Iterator[None]:
        """Do not record the block's calls in `noted`, so that no line is reported for them."""
        noted, self.noted = self.noted, None
        try:
            yield
        finally:
            self.noted = noted

    def recipe(self) -> CallReplay | None:
        """Return a replay of the last call, or None if it cannot be replayed."""
        return self._recipes.last(self.code, self.dtype)

    @contextlib.contextmanager
    def aside(self, seconds: float) -> Iterator[Callable[..., Any]]:
        """Yield a function that sends diagnostic requests with this time limit; they do not use the tests' time.

        Raises:
            TimedOut: if no time is left for diagnostics.
        """
        if self._clock.short:
            raise TimedOut("the remaining time is for the tests")
        kept, self._clock = (self._seconds, self._clock), self._clock.aside
        try:
            self.start()
            self._seconds = seconds
            yield self._ask
        finally:
            self._seconds, self._clock = kept

    def changing(self, equal: Callable[[Any, Any], bool]) -> str:
        """Return the reason if the last call (in eval mode) has a different result on a new object; see `LastCall`."""
        return self._again.changing(equal, lambda: self._ask({"do": "seed", "seed": 0}))

    def _ask(self, request: dict[str, Any], body: bytes = b"", call: str = "") -> Any:
        worker = self._worker
        assert worker is not None
        if self._rests:
            worker.wake()
            self._rests = False
        # Loading is the grader's own work, and an import may read large libraries for the first time.
        is_call = request["do"] not in ("load", "import")
        usual = min(self._seconds, self._clock.each) if is_call else self._seconds
        seconds = min(usual, self._clock.most)
        if request["do"] == "load":
            seconds = min(max(usual, START_SECONDS), self._clock.left)
        try:
            with self._clock.running(is_call):
                proxy = functools.partial(self._object, request.get("target"))
                header, value = exchange(worker, request, body, seconds, proxy)
        except Late as error:
            self._end_worker()
            sources = {f"{module}.py": self.code.sources.get(module, "") for module in self.code.modules}
            raise too_late(self._clock.expired(seconds), call, places(error.message, sources)) from error
        except FrameError as error:
            self._end_worker()
            raise Crashed(f"the answer cannot be read: {error}", call) from error
        except (EOFError, OSError) as error:
            raise Crashed(f"the Python process {ending(self._end_worker())}", call) from error
        if "error" in header:
            fault = fault_of(header["error"], call)
            if isinstance(fault, PrintedTooMuch):
                self._end_worker()
            raise fault
        return value

    def _object(self, target: Any, handle: int) -> "ObjectProxy | Foreign":
        """Return a proxy for an object in a reply.

        A worker could send any object number. Only a class or a function may return new objects, with unused numbers; a
        method may return its own object, as `eval` does. Any other object is treated as a foreign value.

        Raises:
            FrameError: if a new object has the number of an older one.
        """
        if handle != target:
            if not isinstance(target, str):
                return Foreign(MODULE)
            if not self._newest < handle < MAX_NUMBER:
                raise FrameError("a new object has the number of another one")
            self._newest = handle
        return ObjectProxy(self, handle)

    def _end_worker(self) -> int:
        assert self._worker is not None
        self.kept.clear()
        self._again, self._recipes = LastCall(), CallHistory()
        self._newest = -1
        self._worker.kill()
        code = self._worker.exit_code()
        self._printed += self._worker.printed.take()
        self._worker.printed.close()
        self._worker, self._rests = None, False
        return code

    def computed(self) -> float:
        """Return the worker's processor time in seconds, measured from outside; 0 if the system does not report it."""
        return self._worker.computed() if self._worker is not None else 0.0

    def take_printed(self) -> str:
        """Return the output that the student's code has printed since the last call to this method."""
        text = self._printed
        if self._worker is not None:
            text += self._worker.printed.take()
        self._printed = ""
        return text

    def rest(self) -> None:
        """Pause the worker until the next call, while other workers run."""
        if self._worker is not None:
            self._rests = self._worker.rest()
            if not self._rests:
                self._end_worker()

    def close(self) -> None:
        """End the worker."""
        if self._worker is not None:
            self._end_worker()


class ModuleProxy:
    """A proxy for a student's module, whose functions and classes can be called."""

    def __init__(self, student: Student, name: str) -> None:
        self._student, self._name = student, name

    def __getattr__(self, name: str) -> "RemoteFunction":
        return RemoteFunction(self._student, f"{self._name}.{name}", None, name)


class ObjectProxy(Named):
    """A proxy for a student's `nn.Module` object in the worker. Calling the proxy calls the object's `forward`."""

    def __init__(self, student: Student, handle: int, name: str = "object", **options: Any) -> None:
        self._student, self._handle, self._name, self._options = student, handle, name, options

    def __getattr__(self, method: str) -> "RemoteFunction":
        if method.startswith("__"):  # NumPy looks for these on any value, and a worker must not supply them
            raise AttributeError(method)
        return self._function(method)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(None)(*args, **kwargs)

    def _function(self, method: str | None) -> "RemoteFunction":
        name = f"{self._name}.{method}" if method else self._name
        return RemoteFunction(self._student, self._handle, method, name, **self._options)

    def load_state(self, tensors: Mapping[str, np.ndarray], stored: str | None = None) -> None:
        """Load all weights by name and switch to evaluation mode.

        Args:
            stored: the checkpoint to load instead.
        """
        request = {"do": "state", "target": self._handle, "stored": stored}
        try:
            self._student.request(request, tensors, f"{self._name}.load_state_dict(...)")
        except StudentFault as fault:
            given = not any(path.endswith("__init__") for _, path in self._student.code.graded)
            fault.message = other_weights(fault.message, given)
            raise

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the names and shapes of all weights and buffers."""
        request = {"do": "shapes", "target": self._handle}
        reply = self._student.request(request, {}, f"{self._name}.state_dict()")
        if not are_shapes(reply):
            raise Crashed("the names and shapes of the weights cannot be read", self._student.last_call)
        return {name: tuple(shape) for name, shape in reply}

    def deterministic_dropout(self) -> "ObjectProxy":
        """The same object with deterministic dropout: all elements are kept if p < 0.5 and dropped otherwise."""
        return ObjectProxy(self._student, self._handle, self._name, steady=True)

    def taking(self, shape: tuple[int, ...], columns: list[int] | None = None) -> "ObjectProxy":
        """The same object, but its calls return scores of this shape as ["taken", columns or each row's argmax]."""
        return ObjectProxy(self._student, self._handle, self._name, take={"shape": shape, "columns": columns})

    def counting(self, width: int) -> "ObjectProxy":
        """The same object, but its calls return the largest number of rows of this width that torch computed."""
        return ObjectProxy(self._student, self._handle, self._name, rows=width)

    def timed(self, method: str | None = None, **kwargs: Any) -> tuple[Any, float]:
        """Call the object (or a method); return the result and the time in seconds; see `Student.computed`."""
        before = self._student.computed()
        return self._function(method)(**kwargs), Seconds(self._student.computed() - before)

    def arguments_after(self, method: str | None = None, **kwargs: Any) -> dict[str, Any]:
        """Call the object (or a method) and return the arguments, which the call may have changed."""
        return self._function(method).arguments_after(**kwargs)

    def gradients(
        self, cotangents: list[np.ndarray], *args: Any, method: str | None = None, **kwargs: Any
    ) -> Gradients:
        """Call the object (or a method) and differentiate the sum of its outputs times `cotangents`."""
        return self._function(method).gradients(cotangents, *args, **kwargs)

    def attribute(self, path: str) -> Any:
        """The value of an attribute, for instance "self_attn.W_q.weight"."""
        request = {"do": "get", "target": self._handle, "attribute": path}
        return self._student.request(request, {}, f"{self._name}.{path}")


class RemoteFunction(Named):
    """A proxy for a function, class or method in the worker."""

    def __init__(
        self,
        student: Student,
        target: str | int,
        method: str | None,
        name: str,
        steady: bool = False,
        take: dict[str, Any] | None = None,
        rows: int | None = None,
    ) -> None:
        self._student, self._target, self._method, self._name = student, target, method, name
        self._options = {"steady": steady, "take": take, "rows": rows}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._call(args, kwargs)

    def arguments_after(self, **kwargs: Any) -> dict[str, Any]:
        """Call the function and return the arguments, which the call may have changed."""
        values = self._call((), kwargs, arguments=True)
        if not isinstance(values, list) or len(values) != len(kwargs):
            raise Crashed("the arguments cannot be read", self._student.last_call)
        return dict(zip(kwargs, values, strict=True))

    def gradients(self, cotangents: list[np.ndarray], *args: Any, **kwargs: Any) -> Gradients:
        """Call the function and differentiate the sum of its outputs times `cotangents`."""
        reply = self._call(args, kwargs, cotangents)
        try:
            return read_gradients(reply)
        except ValueError as error:
            raise Crashed("the gradients cannot be read", self._student.last_call) from error

    def _call(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        cotangents: list[np.ndarray] | None = None,
        arguments: bool = False,
    ) -> Any:
        tensors: dict[str, np.ndarray] = {}

        def leaf(value: Any) -> dict[str, Any] | None:
            if isinstance(value, ObjectProxy):
                return {"$handle": value._handle}
            if isinstance(value, RemoteFunction):
                return {"$function": value._target}
            if isinstance(value, Foreign):  # a test passes the result of an earlier call
                raise StudentFault(f"returned {value.description}, which cannot be used", self._student.last_call)
            if not isinstance(value, np.ndarray):
                return None
            # A transposed array arrives as a transposed tensor, so tests can pass non-contiguous tensors.
            transposed = value.ndim > 1 and not value.flags.c_contiguous
            name = f"t{len(tensors)}"
            sent = value.swapaxes(-1, -2) if transposed else value
            floating = value.dtype.kind == "f"
            tensors[name] = np.asarray(sent, self._student.dtype if floating else None, order="C")
            return {"$transposed" if transposed else "$tensor": name}

        request: dict[str, Any] = {
            "do": "call",
            "target": self._target,
            "method": self._method,
            "args": [flatten(value, leaf) for value in args],
            "kwargs": {name: flatten(value, leaf) for name, value in kwargs.items()},
            "arguments": arguments,
            **self._options,
        }
        if cotangents is not None:
            request["cotangents"] = [flatten(value, leaf)["$tensor"] for value in cotangents]
        self._student.last_inputs = [*(("", value) for value in args), *kwargs.items()]
        words = [shown(value) for value in args] + [f"{name}={shown(value)}" for name, value in kwargs.items()]
        result = self._student.request(request, tensors, f"{self._name}({', '.join(words)})"[:MOST_SHOWN])
        if isinstance(self._target, str) and self._name[0].isupper() and not isinstance(result, ObjectProxy):
            raise StudentFault(f"{self._name}(...) did not create an nn.Module", self._student.last_call)
        if isinstance(result, ObjectProxy):
            made = f"{self._name}({', '.join(words)})" if isinstance(self._target, str) else self._name
            # With its arguments, so that students can create it themselves; a long list would hide the called method.
            named = made if len(made) <= 60 else self._name
            result._name = named.removesuffix(".eval").removesuffix(".train")
        return result

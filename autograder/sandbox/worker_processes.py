"""Start, stop and watch workers: forks of a warm process on Linux, separate processes elsewhere."""

import contextlib
import functools
import os
import re
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Protocol

from autograder import with_project
from autograder.sandbox.confine import unsupported
from autograder.sandbox.limits import KEPT_OUTPUT, LAST_WORDS_SECONDS, WAITING
from autograder.sandbox.wire import PROCESS_ID as ID
from autograder.sandbox.wire import FrameError, read_frame
from course.errors import UserError
from course.location import ENGINE, VARIABLE, course_folder

# Slow imports, and the words in source code that need them. torch and others import parts of themselves when a
# function is called, and a confined worker cannot. `tests/sandbox/test_confine_names.py` has the full list.
OPTIONAL = {
    "matplotlib.pyplot": r"\b(matplotlib|pylab|course)\b",
    "course": r"\bcourse\b",
    "torch._dynamo": (
        r"\boptim\b|torch\.func\b|import func\b|functorch|checkpoint\(|\bcompiler\b|saved_tensors|\bfx\b|LoggingTensor"
    ),
    "torch._inductor.config": "use_deterministic_algorithms",
    "torch.profiler": "profile",
    "torch.fx.experimental.symbolic_shapes": (
        r"gradcheck|gradgradcheck|backward\([^)]|\bgrad\(|autograd\.functional|distributions|broadcast_shapes"
        r"|unravel_index|dim_order|BCELoss|binary_cross_entropy|MaxUnpool|max_unpool"
    ),
    "torch.distributed.tensor": r"assert_close|assert_allclose|jit\.trace",
    "torch._decomp.decompositions_for_jvp": r"forward_ad|make_dual|\bjvp\b|jacfwd|hessian|linearize",
    "torch.nested._internal.ops": r"\bnested\b",
    "contourpy": r"\bcontourf?\b",
    "matplotlib.style.core": r"rcdefaults|rc_context|\bstyle\b|xkcd",
    "matplotlib.patheffects": r"xkcd|patheffects",
    "torch.autograd._functions": r"\bresize(_as)?\b",
    # These need system libraries, which a confined worker cannot read.
    **{name: rf"\b{name}\b" for name in ("sqlite3", "curses", "readline", "crypt", "nis")},
}


@functools.lru_cache(maxsize=32)  # the same texts are searched in every stage of a submission
def optional_in(source: str) -> frozenset[str]:
    """Return the modules in OPTIONAL that this source code may need."""
    return frozenset(name for name, words in OPTIONAL.items() if re.search(words, source))


def python_command(call: str) -> list[str]:
    """Return a command that runs `call` in a Python process isolated from the environment, with our own import path.

    The import path excludes the current folder and the script's folder, so that a torch.py there is never imported.
    """
    package_root = str(ENGINE)
    left_out = {os.getcwd(), os.path.dirname(os.path.abspath(sys.argv[0])), package_root}
    left_out -= {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}  # where a kernel's launcher is
    path = [entry for entry in sys.path if os.path.isabs(entry) and entry not in left_out]
    return [sys.executable, "-I", "-c", f"import sys; sys.path[:] = {with_project(path, package_root)!r}; {call}"]


def clean_environment() -> dict[str, str]:
    """Return a worker's environment variables: only those that the system needs to start a program."""
    kept = ("PATH", "SYSTEMROOT", "TEMP", "TMP", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "LANG", "HOME")
    environment = {name: os.environ[name] for name in kept if name in os.environ}
    # Grading uses only the CPU: a GPU would be one more difference between machines.
    # Let glibc keep freed memory in the process, and use pages of 2 MB. With pages of 4 KB, a fork spends a third of
    # its time on page faults.
    malloc = {"hugetlb": 1, "mmap_threshold": 2**30, "trim_threshold": 2**30, "top_pad": 2**26}
    memory = {"GLIBC_TUNABLES": ":".join(f"glibc.malloc.{name}={value}" for name, value in malloc.items())}
    threads = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    with contextlib.suppress(UserError):  # `doctor` starts workers outside a course
        environment[VARIABLE] = str(course_folder())  # they read its trained models, before any submission arrives
    return {**environment, **memory, **threads, "CUDA_VISIBLE_DEVICES": "-1"}


class Printed:
    """A worker's output: a temporary file that the worker writes to and the grader reads."""

    def __init__(self) -> None:
        self.descriptor, self._path = tempfile.mkstemp(prefix="printed-")
        # Opened a second time, since a duplicate descriptor would share the file position.
        self._reader = Path(self._path).open("rb")  # noqa: SIM115, closed by close()
        self._named = os.name == "nt"
        if not self._named:
            os.unlink(self._path)  # nothing is left behind, even if this process is killed

    def take(self) -> str:
        """Return the output since the last call, limited to the last 16 KiB."""
        start = self._reader.tell()
        end = self._reader.seek(0, os.SEEK_END)
        self._reader.seek(max(start, end - KEPT_OUTPUT))
        text = self._reader.read(KEPT_OUTPUT).decode("utf-8", errors="replace")
        # Truncated, so that the limit applies to each test. The worker shares this descriptor's position.
        os.ftruncate(self.descriptor, 0)
        os.lseek(self.descriptor, 0, os.SEEK_SET)
        self._reader.seek(0)
        return text

    def close(self) -> None:
        self._reader.close()
        os.close(self.descriptor)
        if self._named:
            os.unlink(self._path)


class WorkerProcess(Protocol):
    """A running worker."""

    reader: Any  # a binary stream, like writer
    writer: Any
    printed: Printed

    def rest(self) -> bool:
        """Pause the worker until `wake` is called. Return False if it uses too much memory to be paused."""

    def wake(self) -> None:
        """Resume the worker."""

    def computed(self) -> float:
        """Return the processor time used, in seconds, as counted by the system, or 0 if it is unknown."""

    def timed(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Add the time limit to a request, if the worker enforces it itself."""

    def ask_where(self) -> None:
        """Ask the worker for its location; see `timeout_location`."""

    def kill(self) -> None:
        """Kill the worker immediately; if the grader is blocked in a read or write, this unblocks it."""

    def exit_code(self) -> int:
        """Wait until the worker ends and return its exit code, which is negative if a signal ended it."""


def not_started(code: int, complaints: str) -> RuntimeError:
    """Return the exception for a process that ended before any student code ran: this is a fault in the grader."""
    last = complaints.strip().rpartition("\n")[2]
    return RuntimeError(f"the process that imports torch ended with exit code {code}: {last}\n{complaints}")


class ForkedWorker:
    """A fork of the warm process."""

    def __init__(self, pid: int, channel: socket.socket, printed: Printed, wait: Callable[[int], int]) -> None:
        self.pid, self.channel, self.printed, self._wait = pid, channel, printed, wait
        self.reader = self.writer = channel.makefile("rwb")
        self._code: int | None = None

    def rest(self) -> bool:
        # It may be paused anywhere in its code: time between two calls is not counted.
        os.kill(self.pid, signal.SIGSTOP)
        _, resident, shared, *_ = map(int, Path(f"/proc/{self.pid}/statm").read_text().split())
        return (resident - shared) * os.sysconf("SC_PAGESIZE") <= WAITING

    def wake(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def computed(self) -> float:
        try:  # the first number, in ns (proc(5)); `stat` counts hundredths of a second
            return int(Path(f"/proc/{self.pid}/schedstat").read_text().split()[0]) / 1e9
        except (OSError, ValueError, IndexError):  # this kernel does not report it
            return 0.0

    def timed(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        return request

    def ask_where(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGUSR1)

    def kill(self) -> None:
        if self._code is None:
            # Only exit_code waits for the process, so its number cannot be reused before then.
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
        with contextlib.suppress(OSError):
            self.channel.shutdown(socket.SHUT_RDWR)

    def exit_code(self) -> int:
        if self._code is None:
            self._code = self._wait(self.pid)
        return self._code


class ForkingWorkers:
    """Creates workers by forking the warm process, which starts immediately and prepares itself in the background."""

    def __init__(self, confined: bool = False, landlock: bool = True, bare: bool = False) -> None:
        self.confined = confined
        self._control, theirs = socket.socketpair()
        self._provided: set[str] = set()
        self._asking = threading.Lock()  # stages may be graded at the same time
        self._complaints, self._reason = Printed(), ""
        arguments = f"{theirs.fileno()}, {confined=}, {landlock=}, {bare=}"
        command = python_command(f"from autograder.worker.warm_process import main; main({arguments})")
        self._process = subprocess.Popen(
            command,
            pass_fds=[theirs.fileno()],
            env=clean_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._complaints.descriptor,
            start_new_session=True,  # keyboard interrupts are for the grader
        )
        theirs.close()

    def start(self) -> WorkerProcess:
        ours, theirs = socket.socketpair()
        printed = Printed()
        with theirs, self._asking:
            with contextlib.suppress(ConnectionError):  # the process has ended; the reply will contain the reason
                socket.send_fds(self._control, [b"F" + ID.pack(0)], [theirs.fileno(), printed.descriptor])
            return ForkedWorker(self._answer(), ours, printed, self._wait)

    def provide(self, sources: Iterable[str]) -> None:
        """Let the warm process import the libraries that these modules need but confined workers cannot import."""
        needed = set().union(*map(optional_in, sources)) if self.confined else set()
        for name in needed - self._provided:
            self._provided.add(name)
            with self._asking:
                self._control.sendall(b"I" + ID.pack([*OPTIONAL].index(name)))

    def _wait(self, pid: int) -> int:
        with self._asking:
            self._control.sendall(b"W" + ID.pack(pid))
            return self._answer()

    def _answer(self) -> int:
        data = b""
        with contextlib.suppress(ConnectionError):
            data = self._control.recv(ID.size, socket.MSG_WAITALL)
        if len(data) < ID.size:
            self._reason = self._reason or self._complaints.take()
            raise not_started(self._process.wait(), self._reason)
        return int(ID.unpack(data)[0])

    def close(self) -> None:
        self._control.close()
        self._process.kill()
        self._process.wait()
        self._complaints.close()


class PlainWorker:
    """A separate process, with requests on its stdin and replies on its stdout."""

    def __init__(self) -> None:
        self.printed = Printed()
        self._process = subprocess.Popen(
            python_command("from autograder.worker.serve import main; main()"),
            env=clean_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.printed.descriptor,
            start_new_session=True,  # as above
        )
        self.writer: Any = self._process.stdin
        self.reader: Any = self._process.stdout

    def begin(self) -> None:
        """Wait until the worker has imported torch.

        Raises:
            RuntimeError: if it has ended instead. No student code has run in it.
        """
        try:
            read_frame(self.reader)
        except (EOFError, OSError, FrameError):
            self.kill()
            raise not_started(self.exit_code(), self.printed.take()) from None

    def rest(self) -> bool:
        return True

    def wake(self) -> None:
        """Do nothing: trusted code is never paused, since each system would need its own system call for that."""

    def computed(self) -> float:
        return 0.0

    def timed(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        # A little after our own timeout: an earlier message would be mistaken for a reply.
        return {**request, "within": seconds + min(LAST_WORDS_SECONDS, seconds) / 2}

    def ask_where(self) -> None:
        """Do nothing: the worker reports its location on its own."""

    def kill(self) -> None:
        self._process.kill()

    def exit_code(self) -> int:
        return self._process.wait()


class PlainWorkers:
    """Creates workers that import torch themselves; some are started early and import torch while other workers run."""

    confined = False

    def __init__(self, ahead: int = 2) -> None:
        self._spare = [PlainWorker() for _ in range(ahead)]

    def start(self) -> WorkerProcess:
        self._spare.append(PlainWorker())
        worker = self._spare.pop(0)
        worker.begin()
        return worker

    def provide(self, sources: Iterable[str]) -> None:
        """Do nothing: these workers can import whatever is installed."""

    def close(self) -> None:
        for worker in self._spare:
            worker.kill()
            worker.exit_code()
            worker.printed.close()


Workers = ForkingWorkers | PlainWorkers


def make_workers(plain: bool = False, confined: bool = False, landlock: bool = True, bare: bool = False) -> Any:
    """Return the fastest kind of worker that this system supports.

    Args:
        plain: whether to use separate processes, as on systems that cannot fork.
        confined: workers for untrusted code, which can reach nothing but the grader (see `confine`).
        landlock: whether Landlock denies confined workers access to files; otherwise, a change of user does (as root).
        bare: forked workers that refuse nothing in Python, for tests of what the kernel refuses.

    Raises:
        UserError: if workers cannot be confined here.
    """
    if confined and (reason := "plain workers are never confined" if plain else unsupported(landlock)):
        raise UserError(f"other people's code cannot be confined here: {reason}")
    return PlainWorkers() if plain or not sys.platform.startswith("linux") else ForkingWorkers(confined, landlock, bare)

"""Start, stop and watch workers: forks of a warm process on Linux, processes of their own elsewhere."""

import contextlib
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

# What takes long to import, and the words of a text that ask for it: torch and others import parts of themselves when a
# function is called, and a confined worker cannot. `tests/sandbox/test_confine_names.py` knows which one needs which.
OPTIONAL = {
    "matplotlib.pyplot": r"\b(matplotlib|pylab|course)\b",
    "course": r"\bcourse\b",
    "torch._dynamo": r"\boptim\b|torch\.func\b|import func\b|functorch|checkpoint\(|\bcompiler\b|saved_tensors|\bfx\b",
    "torch._inductor.config": "use_deterministic_algorithms",
    "torch.profiler": "profile",
    "torch.fx.experimental.symbolic_shapes": (
        r"gradcheck|gradgradcheck|backward\([^)]|\bgrad\(|autograd\.functional|distributions|broadcast_shapes"
        r"|unravel_index|dim_order|BCELoss|binary_cross_entropy|MaxUnpool|max_unpool"
    ),
    "torch.distributed.tensor": r"assert_close|assert_allclose|jit\.trace",
    "torch._decomp.decompositions_for_jvp": r"forward_ad|make_dual|\bjvp\b|jacfwd|hessian|linearize",
    "torch.nested._internal.ops": r"\bnested\b",
}


def python_command(call: str) -> list[str]:
    """A Python that runs `call`, isolated from the environment, with our own import path.

    The current folder and the folder of the script are left out: a torch.py that lies there must not be imported.
    """
    package_root = str(Path(__file__).absolute().parent.parent.parent)
    left_out = {os.getcwd(), os.path.dirname(os.path.abspath(sys.argv[0])), package_root}
    left_out -= {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}  # where a kernel's launcher lies
    path = [entry for entry in sys.path if os.path.isabs(entry) and entry not in left_out]
    return [sys.executable, "-I", "-c", f"import sys; sys.path[:] = {with_project(path, package_root)!r}; {call}"]


def clean_environment() -> dict[str, str]:
    """What a worker may know of the environment: nothing that the system does not need to start a program."""
    kept = ("PATH", "SYSTEMROOT", "TEMP", "TMP", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "LANG", "HOME")
    environment = {name: os.environ[name] for name in kept if name in os.environ}
    # Graded on the processor: a graphics card would be one more thing that differs between machines.
    # With glibc: memory that was in use once stays with the process, and comes in pages of 2 MB. A fork that gets its
    # memory in pages of 4 KB spends a third of its time on them.
    malloc = {"hugetlb": 1, "mmap_threshold": 2**30, "trim_threshold": 2**30, "top_pad": 2**26}
    memory = {"GLIBC_TUNABLES": ":".join(f"glibc.malloc.{name}={value}" for name, value in malloc.items())}
    threads = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    return {**environment, **memory, **threads, "CUDA_VISIBLE_DEVICES": "-1"}


class Printed:
    """What a worker prints: a temporary file that the worker writes and the grader reads."""

    def __init__(self) -> None:
        self.descriptor, self._path = tempfile.mkstemp(prefix="printed-")
        # Opened a second time, since a duplicate would share the position in the file.
        self._reader = Path(self._path).open("rb")  # noqa: SIM115, closed by close()
        self._named = os.name == "nt"
        if not self._named:
            os.unlink(self._path)  # nothing is left behind, even if this process is killed

    def take(self) -> str:
        """What came since the last call, the last 16 KiB of it."""
        start = self._reader.tell()
        end = self._reader.seek(0, os.SEEK_END)
        self._reader.seek(max(start, end - KEPT_OUTPUT))
        text = self._reader.read(KEPT_OUTPUT).decode("utf-8", errors="replace")
        # Emptied, so that the limit is one for each test. The position is the worker's as well.
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

    reader: Any  # a binary stream, as writer
    writer: Any
    printed: Printed

    def rest(self) -> bool:
        """Have the worker stand still until `wake`; whether it may, since one that holds much memory may not."""

    def wake(self) -> None:
        """Have it go on."""

    def computed(self) -> float:
        """Seconds of processor time that it has used, as the system counts them; 0 where nobody tells."""

    def timed(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        """A request, with the time that it has if the worker looks at the clock itself."""

    def ask_where(self) -> None:
        """Have it say where it is; see `timeout_location`."""

    def kill(self) -> None:
        """End the worker now, whatever it does; a blocked read or write of ours returns."""

    def exit_code(self) -> int:
        """Wait for the end of the worker; negative numbers are signals."""


def not_started(code: int, complaints: str) -> RuntimeError:
    """What a process that did not get as far as any student's code has ended with: a fault of the grader."""
    last = complaints.strip().rpartition("\n")[2]
    return RuntimeError(f"the process that imports torch ended with exit code {code}: {last}\n{complaints}")


class ForkedWorker:
    """A fork of the warm process."""

    def __init__(self, pid: int, channel: socket.socket, printed: Printed, wait: Callable[[int], int]) -> None:
        self.pid, self.channel, self.printed, self._wait = pid, channel, printed, wait
        self.reader = self.writer = channel.makefile("rwb")
        self._code: int | None = None

    def rest(self) -> bool:
        # Whatever its code is at: between two calls nobody counts what it takes.
        os.kill(self.pid, signal.SIGSTOP)
        _, resident, shared, *_ = map(int, Path(f"/proc/{self.pid}/statm").read_text().split())
        return (resident - shared) * os.sysconf("SC_PAGESIZE") <= WAITING

    def wake(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def computed(self) -> float:
        try:  # the first number, in ns (proc(5)); `stat` counts hundredths of a second
            return int(Path(f"/proc/{self.pid}/schedstat").read_text().split()[0]) / 1e9
        except (OSError, ValueError, IndexError):  # a kernel that does not count
            return 0.0

    def timed(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        return request

    def ask_where(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGUSR1)

    def kill(self) -> None:
        if self._code is None:
            # The process is not waited for before exit_code, so its number cannot belong to another one.
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
    """Makes workers by forking the warm process, which starts at once and gets ready in the background."""

    def __init__(self, confined: bool = False, landlock: bool = True) -> None:
        self.confined = confined
        self._control, theirs = socket.socketpair()
        self._provided: set[str] = set()
        self._asking = threading.Lock()  # stages may be graded at the same time
        self._complaints, self._said = Printed(), ""
        command = python_command(
            f"from autograder.worker.warm_process import main; main({theirs.fileno()}, {confined=}, {landlock=})"
        )
        self._process = subprocess.Popen(
            command,
            pass_fds=[theirs.fileno()],
            env=clean_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._complaints.descriptor,
            start_new_session=True,  # an interrupt from the keyboard or of a notebook is for the grader
        )
        theirs.close()

    def start(self) -> WorkerProcess:
        ours, theirs = socket.socketpair()
        printed = Printed()
        with theirs, self._asking:
            with contextlib.suppress(ConnectionError):  # the process has ended; the answer will say why
                socket.send_fds(self._control, [b"F" + ID.pack(0)], [theirs.fileno(), printed.descriptor])
            return ForkedWorker(self._answer(), ours, printed, self._wait)

    def provide(self, sources: Iterable[str]) -> None:
        """Have what confined workers cannot import ready for modules with these texts."""
        text = "\n".join(sources) if self.confined else ""
        wanted = [name for name, words in OPTIONAL.items() if re.search(words, text)]
        for name in set(wanted) - self._provided:
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
            self._said = self._said or self._complaints.take()
            raise not_started(self._process.wait(), self._said)
        return int(ID.unpack(data)[0])

    def close(self) -> None:
        self._control.close()
        self._process.kill()
        self._process.wait()
        self._complaints.close()


class PlainWorker:
    """A process of its own, with requests on its stdin and replies on its stdout."""

    def __init__(self) -> None:
        self.printed = Printed()
        self._process = subprocess.Popen(
            python_command("from autograder.worker.answer_requests import main; main()"),
            env=clean_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.printed.descriptor,
            start_new_session=True,  # as above
        )
        self.writer: Any = self._process.stdin
        self.reader: Any = self._process.stdout

    def begin(self) -> None:
        """Wait until it has imported torch.

        Raises:
            RuntimeError: if it has ended instead. No student's code has run in it.
        """
        try:
            read_frame(self.reader)
        except (EOFError, OSError, FrameError):
            self.kill()
            raise not_started(self.exit_code(), self.printed.take()) from None

    def rest(self) -> bool:
        return True

    def wake(self) -> None:
        """It was not stopped: this code is trusted, and stopping needs another call on each system."""

    def computed(self) -> float:
        return 0.0

    def timed(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        # A little later than we end it: what it says before that would be no answer.
        return {**request, "within": seconds + min(LAST_WORDS_SECONDS, seconds) / 2}

    def ask_where(self) -> None:
        """It says so itself."""

    def kill(self) -> None:
        self._process.kill()

    def exit_code(self) -> int:
        return self._process.wait()


class PlainWorkers:
    """Makes workers that import torch themselves; some are started ahead, to import while others work."""

    confined = False

    def __init__(self, ahead: int = 2) -> None:
        self._spare = [PlainWorker() for _ in range(ahead)]

    def start(self) -> WorkerProcess:
        self._spare.append(PlainWorker())
        worker = self._spare.pop(0)
        worker.begin()
        return worker

    def provide(self, sources: Iterable[str]) -> None:
        """Nothing to do: these workers can import whatever is installed."""

    def close(self) -> None:
        for worker in self._spare:
            worker.kill()
            worker.exit_code()
            worker.printed.close()


Workers = ForkingWorkers | PlainWorkers


def make_workers(plain: bool = False, confined: bool = False, landlock: bool = True) -> Any:
    """The quickest kind of workers that this system has.

    Args:
        plain: processes of their own, as on systems that cannot fork.
        confined: workers for code of others, which can reach nothing but the grader (see `confine`).
        landlock: whether confined workers are kept from files by Landlock, or only by being another user (when root).

    Raises:
        UserError: if workers cannot be confined here.
    """
    if confined and (reason := "plain workers are never confined" if plain else unsupported(landlock)):
        raise UserError(f"code of others cannot be confined here: {reason}")
    return PlainWorkers() if plain or not sys.platform.startswith("linux") else ForkingWorkers(confined, landlock)

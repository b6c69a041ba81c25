"""Start, stop and watch workers: forks of a warm process on Linux, processes of their own elsewhere."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any, BinaryIO, Protocol

from autograder.warm import ID

KEPT_OUTPUT = 16 * 1024


def python_command(call: str) -> list[str]:
    """A Python that runs `call`, isolated from the environment, with our own import path.

    The current folder and the folder of the script are left out: a torch.py that lies there must not be imported.
    """
    package_root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    left_out = {os.getcwd(), os.path.dirname(os.path.abspath(sys.argv[0])), package_root}
    path = [entry for entry in sys.path if os.path.isabs(entry) and entry not in left_out]
    return [sys.executable, "-I", "-c", f"import sys; sys.path[:] = {[*path, package_root]!r}; {call}"]


def clean_environment() -> dict[str, str]:
    """What a worker may know of the environment: nothing that the system does not need to start a program."""
    kept = ("PATH", "SYSTEMROOT", "TEMP", "TMP", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "LANG", "HOME")
    environment = {name: os.environ[name] for name in kept if name in os.environ}
    return {**environment, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


class Printed:
    """Drains what a worker prints, so that it never blocks, and keeps the last 16 KiB."""

    def __init__(self, stream: BinaryIO) -> None:
        self.data = bytearray()
        self.thread = threading.Thread(target=self._drain, args=(stream,), daemon=True)
        self.thread.start()

    def _drain(self, stream: BinaryIO) -> None:
        with stream, contextlib.suppress(OSError, ValueError):
            while chunk := stream.read1(4096):  # type: ignore[attr-defined]
                self.data += chunk
                del self.data[:-KEPT_OUTPUT]

    def take(self) -> str:
        """What came since the last call; what was printed just now may still be on its way."""
        data = bytes(self.data)
        del self.data[: len(data)]
        return data.decode("utf-8", errors="replace")

    def rest(self) -> str:
        """What came until the end of the worker, which must be over."""
        self.thread.join(timeout=1)
        return self.take()


class WorkerProcess(Protocol):
    """A running worker."""

    reader: BinaryIO
    writer: BinaryIO
    printed: Printed

    def kill(self) -> None:
        """End the worker now, whatever it does; a blocked read or write of ours returns."""

    def exit_code(self) -> int:
        """Wait for the end of the worker; negative numbers are signals."""


class ForkedWorker:
    """A fork of the warm process."""

    def __init__(self, pid: int, channel: socket.socket, output: BinaryIO, wait: Callable[[int], int]) -> None:
        self.pid, self.channel, self._wait = pid, channel, wait
        self.reader = self.writer = channel.makefile("rwb")  # type: ignore[assignment]
        self.printed = Printed(output)
        self._code: int | None = None

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

    def __init__(self) -> None:
        self._control, theirs = socket.socketpair()
        command = python_command(f"from autograder.warm import main; main({theirs.fileno()})")
        self._process = subprocess.Popen(
            command,
            pass_fds=[theirs.fileno()],
            env=clean_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        assert self._process.stderr
        self._complaints = Printed(self._process.stderr)  # type: ignore[arg-type]
        theirs.close()

    def start(self) -> WorkerProcess:
        ours, theirs = socket.socketpair()
        output_read, output_write = os.pipe()
        try:
            socket.send_fds(self._control, [b"F" + ID.pack(0)], [theirs.fileno(), output_write])
            pid = self._answer()
        finally:
            theirs.close()
            os.close(output_write)
        return ForkedWorker(pid, ours, os.fdopen(output_read, "rb"), self._wait)

    def _wait(self, pid: int) -> int:
        self._control.sendall(b"W" + ID.pack(pid))
        return self._answer()

    def _answer(self) -> int:
        data = b""
        with contextlib.suppress(ConnectionError):
            data = self._control.recv(ID.size, socket.MSG_WAITALL)
        if len(data) < ID.size:
            code = self._process.wait()
            raise RuntimeError(f"the process that imports torch ended with exit code {code}:\n{self._complaints.rest()}")
        return int(ID.unpack(data)[0])

    def close(self) -> None:
        self._control.close()
        self._process.kill()
        self._process.wait()


class PlainWorker:
    """A process of its own, with requests on its stdin and replies on its stdout."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            python_command("from autograder.worker import main; main()"),
            env=clean_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert self._process.stdin and self._process.stdout and self._process.stderr
        self.writer: BinaryIO = self._process.stdin  # type: ignore[assignment]
        self.reader: BinaryIO = self._process.stdout  # type: ignore[assignment]
        self.printed = Printed(self._process.stderr)  # type: ignore[arg-type]

    def kill(self) -> None:
        self._process.kill()

    def exit_code(self) -> int:
        return self._process.wait()


class PlainWorkers:
    """Makes workers that import torch themselves; some are started ahead, to import while others work."""

    def __init__(self, ahead: int = 2) -> None:
        self._spare = [PlainWorker() for _ in range(ahead)]

    def start(self) -> WorkerProcess:
        self._spare.append(PlainWorker())
        return self._spare.pop(0)

    def close(self) -> None:
        for worker in self._spare:
            worker.kill()
            worker.exit_code()


Workers = ForkingWorkers | PlainWorkers


def make_workers(plain: bool = False) -> Any:
    """The quickest kind of workers that this system has."""
    return PlainWorkers() if plain or not sys.platform.startswith("linux") else ForkingWorkers()

"""A warm process (Linux): has torch imported and holds nothing secret; every worker is a fork of it.

Importing torch takes seconds, a fork milliseconds. The grader talks to this process over a Unix socket: one byte
"F" with two file descriptors (the worker's socket, the file for what it prints) asks for a worker and is answered by
its process id; "W" and a process id asks how that worker ended. The process stays single-threaded, which forking needs.
"""

import os
import resource
import signal
import socket
import sys

from autograder.frames import PROCESS_ID as ID
from autograder.worker import prepare_torch, serve

MAX_PRINTED = 16 * 1024 * 1024


def die_with_parent() -> None:
    """Let the kernel end this process when the one that started it ends (prctl(2), PR_SET_PDEATHSIG)."""
    import ctypes

    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def be_worker(connection: int, output: int) -> None:
    """The life of a worker, from the fork to its end."""
    os.setpgid(0, 0)  # a group of its own, so that it is killed with everything it started
    die_with_parent()
    resource.setrlimit(resource.RLIMIT_FSIZE, (MAX_PRINTED, MAX_PRINTED))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    with socket.socket(fileno=connection) as channel:
        stream = channel.makefile("rwb")
        os.closerange(3, connection)
        os.closerange(connection + 1, 256)
        serve(stream, stream)  # type: ignore[arg-type]


def main(control_fd: int) -> None:
    """Fork workers until the grader is gone."""
    die_with_parent()
    prepare_torch()
    control = socket.socket(fileno=control_fd)
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 1 + ID.size, 2)
        if not message:
            os._exit(0)
        if message[:1] == b"F":
            pid = os.fork()
            if pid == 0:
                try:
                    control.close()
                    be_worker(*descriptors)
                finally:
                    sys.stdout.flush()
                    os._exit(0)
            for descriptor in descriptors:
                os.close(descriptor)
            control.sendall(ID.pack(pid))
        else:
            _, status = os.waitpid(ID.unpack(message[1:])[0], 0)
            control.sendall(ID.pack(os.waitstatus_to_exitcode(status)))

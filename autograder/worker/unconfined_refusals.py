"""Make an unconfined worker refuse all actions that confinement prevents, so that students notice before submitting.

This is not a security measure. Without it, a module that reads or writes files, or starts a process or a thread, would
work in the student's own run but fail in the graded run. Python reports such actions before they happen (PEP 578).
"""

import errno
import os
import sys
import sysconfig
import threading
from types import FrameType
from typing import Any, NoReturn

import torch

from autograder.worker.reflection import STUDENT, getframe

FILES = "graded code can neither read nor write files"
PROCESSES = "graded code cannot start processes"
NETWORK = "graded code cannot use the network"
EVENTS = {
    **dict.fromkeys(("open", "os.listdir", "os.scandir", "os.mkdir", "os.remove", "os.rename", "os.rmdir"), FILES),
    **dict.fromkeys(("os.chdir", "os.chmod", "os.chown", "os.link", "os.symlink", "os.truncate", "os.utime"), FILES),
    **dict.fromkeys(("subprocess.Popen", "os.system", "os.fork", "os.forkpty", "os.exec", "os.posix_spawn"), PROCESSES),
    "os.startfile": PROCESSES,
    "socket.__new__": NETWORK,
}
READING = {"open", "os.listdir", "os.scandir"}
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC

PACKAGES = tuple({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")})
TAKES_NAMES = tuple(os.path.join(folder, name, "") for folder in PACKAGES for name in ("torch", "numpy"))

_refusing = False


def refuse() -> None:
    """Start refusing the actions that confinement prevents."""
    global _refusing
    if not _refusing:
        _refusing = True
        sys.addaudithook(_look)
        # Neither is reported: only the newest Python versions report threads, and none reports files that torch writes.
        setattr(threading.Thread, "start", _refuse_thread)  # noqa: B010 - mypy knows both as different types
        setattr(torch._C, "PyTorchFileWriter", _Writer)  # noqa: B010


def _refuse_thread(thread: threading.Thread) -> NoReturn:
    raise RuntimeError("graded code cannot start threads")


class _Writer(torch._C.PyTorchFileWriter):
    def __init__(self, target: Any, *arguments: Any, **options: Any) -> None:
        if isinstance(target, str):
            raise PermissionError(errno.EPERM, FILES, target)
        super().__init__(target, *arguments, **options)


def _look(event: str, arguments: tuple[Any, ...]) -> None:
    why = EVENTS.get(event)
    if why is None or (event in READING and isinstance(arguments[0], int)):
        return
    mode, flags = arguments[1:] if event == "open" else ("r", 0)
    reads = event in READING and not (set(mode or "") & set("wax+") or (flags or 0) & WRITING)
    if _is_of_student(getframe(1), reads):
        raise PermissionError(errno.EPERM, why, *(str(argument) for argument in arguments[:1] if why == FILES))


def _is_of_student(frame: FrameType | None, reads: bool) -> bool:
    """Whether student code, rather than an import, causes this action.

    A library reads its own files, such as fonts for a drawing, which are also available in the graded run. However,
    torch and numpy would also read any file that a student names.
    """
    asked, library = False, False
    while frame is not None:
        file = frame.f_code.co_filename
        if not asked and file.startswith("<frozen importlib"):
            return False  # an import, by the student's code or any other
        if STUDENT.fullmatch(file):
            asked = True
        elif not asked and file.startswith(PACKAGES) and not file.startswith(TAKES_NAMES):
            library = True
        frame = frame.f_back
    return asked and not (library and reads)

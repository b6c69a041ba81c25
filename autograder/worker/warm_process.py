"""A warm process (Linux) that has imported torch and contains no secrets; every worker is a fork of it.

Importing torch takes seconds; a fork takes milliseconds. The grader sends requests to this process over a Unix socket:

- "F" with two file descriptors (the worker's socket and the file for its output) requests a worker; the reply is its
  process id.
- "W" with a process id requests that worker's exit code.
- "I" with a number requests the import of an OPTIONAL module, which would be too slow to import for every worker.

The process stays single-threaded, since it forks.
"""

import contextlib
import faulthandler
import gc
import importlib
import importlib.abc
import os
import resource
import signal
import socket
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType, SimpleNamespace

from autograder.sandbox.confine import PR_SET_PDEATHSIG, confine, end_reading, libraries_are_public, packages, prepare
from autograder.sandbox.limits import PRINTED
from autograder.sandbox.wire import PROCESS_ID as ID
from autograder.sandbox.worker_processes import OPTIONAL
from autograder.worker.serve import serve
from autograder.worker.warm_torch import prepare_torch

PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h, prctl(2)
# Common imports, and modules that Python and torch import late: every fork has them without reading a file.
MODULES = (
    "__future__ abc array bisect cmath collections.abc copy csv dataclasses datetime decimal enum fractions functools "
    "getpass heapq inspect io itertools json linecache logging math numbers operator os.path pathlib pprint random re "
    "secrets statistics string struct textwrap time timeit token tokenize traceback types typing unittest warnings "
    "weakref numpy.fft numpy.linalg numpy.ma numpy.random numpy.testing torch.linalg torch.nn.functional "
    "torch.nn.init torch.nn.utils.rnn typing_extensions encodings.ascii encodings.cp1252 encodings.idna "
    "encodings.latin_1 encodings.punycode encodings.utf_16 encodings.utf_32 encodings.utf_8_sig _strptime einops tqdm "
    "torch.profiler._cupti_monitor torch.utils.serialization.config torch._subclasses.schema_check_mode "
    "torch.utils._device functorch"
)


def import_late(name: str) -> None:
    """Import a module that a worker cannot import later, and run the parts of it that need files."""
    from autograder.worker.allowed_modules import shown

    try:
        with shown():
            module = importlib.import_module(name)
    except ImportError:
        return  # this version of Python or torch does not have it
    if name == "course":
        for public in module.__all__:
            getattr(module, public)
        for inner in ("course.figure_with_alt_text", "editdistance", "rapidfuzz.distance.Levenshtein"):
            with contextlib.suppress(ImportError):
                importlib.import_module(inner)
    if name == "torch.profiler":
        with module.profile():  # starts two threads, which then stay idle; a fork does without them
            pass
    if name == "matplotlib.pyplot":
        import io

        module.switch_backend("agg")
        figure = module.figure()
        figure.suptitle("$x^2$", style="italic", weight="bold")
        module.plot([0, 1], label="x")
        module.legend()
        figure.savefig(io.BytesIO())  # finds and reads the fonts
        module.close(figure)
        # A worker cannot check whether a font file still exists.
        manager, mathtext = map(importlib.import_module, ("matplotlib.font_manager", "matplotlib._mathtext"))
        fonts = {font.fname for font in vars(manager)["fontManager"].ttflist}
        there = lambda name: str(name) in fonts  # noqa: E731
        path = SimpleNamespace(**{**vars(os.path), "isfile": there, "exists": there})
        for user in (manager, mathtext):
            vars(user)["os"] = SimpleNamespace(**{**vars(os), "path": path})


Rules = tuple[int | None, bool]  # the arguments of `confine`


def call_prctl(option: int, value: int) -> None:
    """Set an attribute of this process (prctl(2))."""
    import ctypes

    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


class LibraryFinder(importlib.abc.MetaPathFinder):
    """Finds the modules that a confined worker can read; other modules appear to be missing, rather than unreadable."""

    def __init__(self) -> None:
        self.known = packages() | sys.stdlib_module_names

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return PathFinder.find_spec(fullname, path, target) if fullname.partition(".")[0] in self.known else None


def be_worker(
    connection: int, output: int, rules: Rules | None, finder: LibraryFinder, parent: int, bare: bool
) -> None:
    """Run a worker in this fork until the worker ends. A bare worker refuses nothing in Python."""
    os.setpgid(0, 0)  # its own process group, so that everything it starts is killed with it
    call_prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    from autograder.worker import reflection, unconfined_refusals  # already imported by `prepare_torch`

    before: list[Callable[[], None]] = []
    if rules is None:
        before += [] if bare else [unconfined_refusals.refuse]
        resource.setrlimit(resource.RLIMIT_FSIZE, (PRINTED, PRINTED))
        os.closerange(3, connection)
        os.closerange(connection + 1, 256)
    else:
        os.environ.clear()
        # torch's optimizers look up the user and folders, but write nothing to them.
        os.environ.update(HOME="/", USER="student", TORCHINDUCTOR_CACHE_DIR="/", OMP_NUM_THREADS="1")
        sys.meta_path[sys.meta_path.index(PathFinder)] = finder
        tempfile.tempdir = "/"
        confine(rules[0], connection, rules[1])
        before.append(end_reading)
    before += [] if bare else [lambda: reflection.close(to_libraries=rules is not None)]
    faulthandler.register(signal.SIGUSR1, connection, all_threads=False)  # see `timeout_location`
    if os.getppid() != parent:
        return  # the parent ended before this process asked to be killed with it
    with os.fdopen(connection, "rb") as requests, os.fdopen(connection, "wb", closefd=False) as replies:
        serve(requests, replies, before)


def prepare_confinement(landlock: bool) -> Rules:
    """Import everything that modules may need, create the confinement rules, and check that a fork can be confined.

    Args:
        landlock: whether to create rules; without them, workers must change their user.

    Returns:
        The arguments of `confine`: the rules, and whether workers change their user.

    Raises:
        RuntimeError: if a fork cannot be confined; in that case, there are no workers at all.
    """
    import torch

    for name in MODULES.split():
        with contextlib.suppress(ImportError):
            import_late(name)
    # Threads are forbidden, and OpenMP aborts a process that cannot start the requested threads.
    torch.set_num_threads = lambda nthreads: None
    rules = prepare() if landlock else None, libraries_are_public()
    pid = os.fork()
    if pid == 0:
        try:
            confine(rules[0], 2, rules[1])
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    if os.waitpid(pid, 0)[1] != 0:
        raise RuntimeError("a worker cannot be confined")
    return rules


def end_strays(workers: set[int]) -> None:
    """End processes that dead workers left behind: as orphans, they become children of this process."""
    mine = Path(f"/proc/self/task/{os.getpid()}/children")
    while mine.exists() and (strays := {int(pid) for pid in mine.read_text().split()} - workers):
        for pid in strays:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def main(control_fd: int, confined: bool = False, landlock: bool = True, bare: bool = False) -> None:
    """Fork workers until the grader exits."""
    # The connection closes when the grader exits. PR_SET_PDEATHSIG would watch only the thread that started this
    # process, and that thread may end earlier.
    call_prctl(PR_SET_CHILD_SUBREAPER, 1)
    gc.disable()  # imports leave no garbage, but many objects to scan
    prepare_torch()
    rules = prepare_confinement(landlock) if confined else None
    finder = LibraryFinder()  # created before forking, since a fork would copy the scanned memory
    # Nothing loaded so far is ever garbage. A fork that scanned it would copy the shared memory.
    gc.freeze()
    gc.enable()
    control = socket.socket(fileno=control_fd)
    workers: set[int] = set()
    parent = os.getpid()
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 1 + ID.size, 2)
        if not message:
            os._exit(0)
        if message[:1] == b"F":
            pid = os.fork()
            if pid == 0:
                with contextlib.suppress(BaseException):
                    control.close()
                    connection, output = descriptors
                    be_worker(connection, output, rules, finder, parent, bare)
                with contextlib.suppress(BaseException):
                    sys.stdout.flush()
                os._exit(0)
            workers.add(pid)
            for descriptor in descriptors:
                os.close(descriptor)
            control.sendall(ID.pack(pid))
        elif message[:1] == b"I":
            with contextlib.suppress(Exception):
                import_late([*OPTIONAL][ID.unpack(message[1:])[0]])
            finder = LibraryFinder()
        else:
            pid = ID.unpack(message[1:])[0]
            _, status = os.waitpid(pid, 0)
            workers.discard(pid)
            end_strays(workers)
            control.sendall(ID.pack(os.waitstatus_to_exitcode(status)))

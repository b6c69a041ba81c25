"""Confine a worker (Linux): no files but Python's libraries, no network, no other processes, limited memory and time.

`prepare` runs once in the warm process, and `confine` runs in each fork before any student code arrives. There are two
independent layers, and neither needs privileges: Landlock denies access to files and TCP, and blocks signals; seccomp
allows only a short list of system calls. Resource limits are a third layer. If the grader runs as root, a change of
user is the fourth layer.

All numbers are from the kernel's headers, which are named beside the constants. The headers are linux/landlock.h,
linux/seccomp.h, linux/filter.h, linux/bpf_common.h, linux/audit.h, linux/prctl.h, linux/capability.h, asm/unistd_64.h
(x86_64) and asm-generic/unistd.h (aarch64, and all newer calls on both).
"""

import contextlib
import ctypes
import importlib.util
import os
import platform
import signal
import struct
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from autograder.sandbox.limits import CPU_SECONDS, DESCRIPTORS, MEMORY, PRINTED

NOBODY = 65534  # unprivileged user and group: the kernel's overflow id, see user_namespaces(7)
# Packages that torch imports late, and packages whose files a worker reads, such as fonts.
NEEDED_LATE = ("filelock", "fsspec", "jinja2", "markupsafe", "matplotlib", "mpmath", "networkx", "sympy", "triton")
OURS = ("autograder", "course", "__main__")  # contain tests and expected values; may be installed next to torch

# From linux/landlock.h, see landlock(7). Access rights are single bits, numbered in the order of their introduction.
LANDLOCK_CREATE_RULESET, LANDLOCK_ADD_RULE, LANDLOCK_RESTRICT_SELF, CLOSE_RANGE = 444, 445, 446, 436
LANDLOCK_CREATE_RULESET_VERSION = 1
LANDLOCK_RULE_PATH_BENEATH = 1
ACCESS_FS_READ_FILE, ACCESS_FS_READ_DIR = 1 << 2, 1 << 3
RIGHTS_OF_FILES = {1: 13, 2: 14, 3: 15, 5: 16}  # version -> number of rights; added: REFER, TRUNCATE, IOCTL_DEV
ACCESS_NET_BIND_AND_CONNECT_TCP = 0b11  # since version 4
SCOPE_ABSTRACT_UNIX_SOCKET_AND_SIGNAL = 0b11  # since version 6

# From linux/prctl.h, see prctl(2).
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_GET_SECCOMP, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 1, 4, 21, 22, 38
LINUX_CAPABILITY_VERSION_3 = 0x20080522  # linux/capability.h, capset(2)

# From linux/seccomp.h, linux/filter.h and linux/bpf_common.h, see seccomp(2).
SECCOMP_MODE_FILTER = 2
SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_ERRNO, SECCOMP_RET_ALLOW = 0x80000000, 0x00050000, 0x7FFF0000
LOAD, JUMP_IF_EQUAL, JUMP_IF_SET, RETURN = 0x20, 0x15, 0x45, 0x06  # LD|W|ABS, JMP|JEQ|K, JMP|JSET|K, RET|K
NUMBER, ARCHITECTURE, ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data
EPERM, ENOENT = 1, 2  # asm-generic/errno-base.h

ARCHITECTURES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}  # AUDIT_ARCH_* in linux/audit.h, column below
CALLS: dict[str, tuple[int | None, int | None]] = {
    # on open descriptors: the connection, printed output, files that Landlock lets a worker open
    "read": (0, 63), "write": (1, 64), "readv": (19, 65), "writev": (20, 66), "pread64": (17, 67),
    "lseek": (8, 62), "close": (3, 57), "fstat": (5, 80), "getdents64": (217, 61),
    # file names, only during imports: Landlock does not hide whether a file exists; see NAMES
    "stat": (4, None), "lstat": (6, None), "newfstatat": (262, 79), "statx": (332, 291), "access": (21, None),
    "faccessat": (269, 48), "faccessat2": (439, 439), "readlink": (89, None), "readlinkat": (267, 78),
    "getcwd": (79, 17),
    # memory
    "mmap": (9, 222), "munmap": (11, 215), "mremap": (25, 216), "mprotect": (10, 226), "madvise": (28, 233),
    "brk": (12, 214),
    # waiting and time
    "futex": (202, 98), "sched_yield": (24, 124), "clock_gettime": (228, 113), "clock_getres": (229, 114),
    "clock_nanosleep": (230, 115), "nanosleep": (35, 101), "gettimeofday": (96, 169), "time": (201, None),
    "times": (100, 153), "getrusage": (98, 165), "select": (23, None), "pselect6": (270, 72), "poll": (7, None),
    "ppoll": (271, 73), "restart_syscall": (219, 128),
    # the process's own signal handlers
    "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139), "sigaltstack": (131, 132),
    # about the process itself
    "getpid": (39, 172), "getppid": (110, 173), "gettid": (186, 178), "getuid": (102, 174), "geteuid": (107, 175),
    "getgid": (104, 176), "getegid": (108, 177), "uname": (63, 160), "sysinfo": (99, 179), "getcpu": (309, 168),
    "sched_getaffinity": (204, 123), "getrandom": (318, 278), "exit": (60, 93), "exit_group": (231, 94),
    # only with certain arguments, see `allowed`
    "openat": (257, 56), "fcntl": (72, 25), "prlimit64": (302, 261), "tgkill": (234, 131), "prctl": (157, 167),
}  # fmt: skip
# Calls that take a file name or list names: denied once the imports are done.
LOOKS = ("stat", "lstat", "newfstatat", "statx", "access", "faccessat", "faccessat2", "readlink", "readlinkat")
NAMES = {"openat", "getdents64", *LOOKS}
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC if sys.platform.startswith("linux") else 0
F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL = 1030, 1, 2, 3  # linux/fcntl.h, asm-generic/fcntl.h

Check = tuple[int, int, int]  # offset of a word; JUMP_IF_EQUAL and its value, or JUMP_IF_SET and unset bits


def unsupported(landlock: bool = True) -> str:
    """Return a sentence that explains why this machine cannot confine workers; "" if it can.

    Args:
        landlock: whether to use Landlock. Without it, only a change of user keeps workers from reading files.
    """
    if not sys.platform.startswith("linux"):
        return "workers can be confined only on Linux"
    if platform.machine() not in ARCHITECTURES or sys.maxsize < 2**32:
        return f"workers can be confined only on {' and '.join(ARCHITECTURES)}, with a 64-bit Python"
    if not landlock and os.geteuid() != 0:
        return "without Landlock, workers must switch to a different user, which requires root"
    if not landlock and not libraries_are_public():
        return f"without Landlock, workers must switch to a different user, who cannot read Python in {sys.prefix}"
    if landlock and landlock_version() < 1:
        return "this Linux kernel has no Landlock (it needs version 5.13 or later, with Landlock switched on)"
    if _libc().prctl(PR_GET_SECCOMP, 0, 0, 0, 0) < 0:
        return "this Linux kernel has no seccomp"
    return ""


def landlock_version() -> int:
    """The version of Landlock's interface, or 0 if there is none (landlock_create_ruleset(2))."""
    version = _libc().syscall(LANDLOCK_CREATE_RULESET, None, ctypes.c_size_t(0), LANDLOCK_CREATE_RULESET_VERSION)
    return max(0, version)


def prepare() -> int:
    """Create the Landlock rules, once for all forks: read access to Python's libraries and nothing else.

    Returns:
        The descriptor of the rules.

    Raises:
        OSError: if the kernel refuses.
    """
    version = landlock_version()
    files = (1 << max(number for since, number in RIGHTS_OF_FILES.items() if since <= version)) - 1
    network = ACCESS_NET_BIND_AND_CONNECT_TCP if version >= 4 else 0
    scope = SCOPE_ABSTRACT_UNIX_SOCKET_AND_SIGNAL if version >= 6 else 0
    attributes = struct.pack("=QQQ", files, network, scope)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    rules = _checked(_libc().syscall(LANDLOCK_CREATE_RULESET, attributes, ctypes.c_size_t(size), 0))
    for path in libraries():
        with contextlib.suppress(FileNotFoundError, PermissionError):
            descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
            access = ACCESS_FS_READ_FILE | (ACCESS_FS_READ_DIR if os.path.isdir(path) else 0)
            rule = struct.pack("=Qi", access, descriptor)
            _checked(_libc().syscall(LANDLOCK_ADD_RULE, rules, LANDLOCK_RULE_PATH_BENEATH, rule, 0))
            os.close(descriptor)
    return rules


def packages() -> set[str]:
    """The packages that a worker may import besides the standard library: loaded packages, and torch's late imports."""
    return {name.partition(".")[0] for name in sys.modules} | {*NEEDED_LATE}


def libraries() -> Iterator[str]:
    """The files and folders that a worker may read: the standard library and `packages`, but no grader code."""
    for name in ("stdlib", "platstdlib"):
        folder = sysconfig.get_path(name)
        # Packages, our own included, are often installed in a folder of the standard library.
        yield from (entry.path for entry in os.scandir(folder) if not entry.name.endswith("-packages"))
    for name in sorted(packages() - {*sys.builtin_module_names, *sys.stdlib_module_names, *OURS}):
        with contextlib.suppress(ImportError, ValueError):
            if spec := importlib.util.find_spec(name):
                # torch.distributed creates a module at run time whose origin is not a path.
                yield from filter(os.path.isabs, spec.submodule_search_locations or [spec.origin or ""])


def libraries_are_public() -> bool:
    """Whether the unprivileged user can read the libraries, too. That user cannot read root's home folder."""
    paths = {Path(path) for path in libraries()}
    folders = {parent for path in paths for parent in path.parents}
    return all(path.stat().st_mode & 0o004 for path in paths) and all(path.stat().st_mode & 0o001 for path in folders)


def confine(rules: int | None, keep: int, drop: bool) -> None:
    """Confine this process for good.

    Args:
        rules: the descriptor of the Landlock rules, from `prepare`; without them, the process must change its user.
        keep: the descriptor of the connection; of the other descriptors, only 0, 1 and 2 stay open.
        drop: whether to change to an unprivileged user if root; see `libraries_are_public`.

    Raises:
        OSError: if the kernel refuses a step, or nothing protects the files; then the process must not continue.
    """
    import resource

    os.chdir("/")
    with open("/proc/self/statm", encoding="ascii") as statm:
        mapped = int(statm.read().split()[0]) * resource.getpagesize()
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as score:
        score.write("1000")  # if memory runs out, the kernel kills this process, not the grader
    limit(resource.RLIMIT_AS, mapped + MEMORY)
    limit(resource.RLIMIT_CPU, CPU_SECONDS)
    limit(resource.RLIMIT_FSIZE, PRINTED)
    limit(resource.RLIMIT_CORE, 0)
    limit(resource.RLIMIT_NPROC, 0)
    limit(resource.RLIMIT_STACK, 8 << 20)
    if drop:
        drop_user()
    if rules is None and os.geteuid() == 0:
        raise PermissionError("without Landlock, a worker must switch to a different user, but it cannot")
    libc = _libc()
    _checked(libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0))  # the change of user cleared this setting
    _checked(libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))  # even processes of the same user may not inspect this one
    _checked(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    if rules is not None:
        _checked(libc.syscall(LANDLOCK_RESTRICT_SELF, rules, 0))
    _checked(libc.capset(struct.pack("=Ii", LINUX_CAPABILITY_VERSION_3, 0), bytes(24)))
    for first, last in ((3, keep - 1), (keep + 1, 0xFFFFFFFF)):
        if first <= last:
            _checked(libc.syscall(CLOSE_RANGE, ctypes.c_uint(first), ctypes.c_uint(last), 0))
    limit(resource.RLIMIT_NOFILE, DESCRIPTORS)
    _filter(reading=True)


def end_reading() -> None:
    """Stop this confined process from opening, searching or listing any files."""
    _filter(reading=False)


def _filter(reading: bool) -> None:
    """Add a seccomp filter. A call must pass all filters."""
    code = b"".join(program(platform.machine(), os.getpid(), reading))
    buffer = ctypes.create_string_buffer(code)
    filter_ = struct.pack("@HP", len(code) // 8, ctypes.addressof(buffer))  # struct sock_fprog
    _checked(_libc().prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filter_, 0, 0))


def limit(kind: int, most: int) -> None:
    """Set a resource limit, no higher than the current one (setrlimit(2))."""
    import resource  # Unix only; the rest of this module must also work on Windows

    hard = resource.getrlimit(kind)[1]
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(kind, (most, most))


def drop_user() -> None:
    """If root, become `nobody`. If the system has no such user, Landlock and seccomp still apply."""
    if os.geteuid() == 0:
        with contextlib.suppress(OSError):
            os.setgroups([])
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)


def program(machine: str, pid: int, reading: bool) -> Iterator[bytes]:
    """The seccomp filter: a BPF program that allows the calls listed in the rules and nothing else.

    Args:
        reading: whether to also allow the calls that imports need, and the call that adds another filter.
    """
    architecture, column = ARCHITECTURES[machine]
    # On another architecture, the same number means a different call.
    yield _instruction(LOAD, ARCHITECTURE)
    yield _instruction(JUMP_IF_EQUAL, architecture, 1, 0)
    yield _instruction(RETURN, SECCOMP_RET_KILL_PROCESS)
    for name, checks in allowed(pid, reading):
        if (number := CALLS[name][column]) is not None:
            steps = [(NUMBER, JUMP_IF_EQUAL, number), *checks]
            for place, (word, test, value) in enumerate(steps):
                leave = 2 * (len(steps) - place) - 1  # to the instruction after this rule
                yield _instruction(LOAD, word)
                yield _instruction(test, value, *((0, leave) if test == JUMP_IF_EQUAL else (leave, 0)))
            yield _instruction(RETURN, SECCOMP_RET_ALLOW)
    if not reading:  # pretend that the file does not exist, which may be true on other machines
        for name in LOOKS:
            if (number := CALLS[name][column]) is not None:
                yield _instruction(LOAD, NUMBER)
                yield _instruction(JUMP_IF_EQUAL, number, 0, 1)
                yield _instruction(RETURN, SECCOMP_RET_ERRNO | ENOENT)
    # Return an error instead of killing the process: libraries try calls that they can do without.
    yield _instruction(RETURN, SECCOMP_RET_ERRNO | EPERM)


def allowed(pid: int, reading: bool) -> Iterator[tuple[str, list[Check]]]:
    """Yield every allowed call with the checks on its arguments. None of them creates a process or thread."""
    restricted = ("openat", "fcntl", "prlimit64", "tgkill", "prctl")
    yield from ((name, []) for name in CALLS if name not in restricted and (reading or name not in NAMES))
    if reading:
        yield "openat", [(_low(2), JUMP_IF_SET, WRITING)]
        yield "prctl", [(_low(0), JUMP_IF_EQUAL, PR_SET_SECCOMP)]
    for command in (F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL):  # not F_SETOWN, which sends signals
        yield "fcntl", [(_low(1), JUMP_IF_EQUAL, command)]
    # Limits may be read, not set.
    yield "prlimit64", [(_low(2), JUMP_IF_EQUAL, 0), (_low(2) + 4, JUMP_IF_EQUAL, 0)]
    yield "tgkill", [(_low(0), JUMP_IF_EQUAL, pid)]  # abort(3) sends a signal to itself


def _low(argument: int) -> int:
    """The offset of an argument's lower half; both architectures are little-endian."""
    return ARGUMENTS + 8 * argument


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)  # struct sock_filter


def _libc() -> Any:
    return ctypes.CDLL(None, use_errno=True)


def _checked(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result

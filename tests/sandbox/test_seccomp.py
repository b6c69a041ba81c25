"""The seccomp filter by itself: what it lets through, by an interpreter of its program."""

import os
import re
import struct
import sys
from pathlib import Path

import pytest

from autograder.sandbox import confine

needs_linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="about Linux")

# Numbers on x86_64 and aarch64, from asm/unistd_64.h and asm-generic/unistd.h.
DANGEROUS = {
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kill": (62, 129),
    "pidfd_open": (434, 434), "pidfd_getfd": (438, 438), "execve": (59, 221), "execveat": (322, 281),
    "clone": (56, 220), "clone3": (435, 435), "unshare": (272, 97), "setns": (308, 268), "mount": (165, 40),
    "chroot": (161, 51), "keyctl": (250, 219), "add_key": (248, 217), "bpf": (321, 280),
    "perf_event_open": (298, 241), "io_uring_setup": (425, 425), "userfaultfd": (323, 282), "shmget": (29, 194),
    "msgget": (68, 186), "semget": (64, 190), "mq_open": (240, 180), "memfd_create": (319, 279),
    "socket": (41, 198), "sendmsg": (46, 211), "setuid": (105, 146), "setresuid": (117, 147), "capset": (126, 91),
    "prctl": (157, 167), "seccomp": (317, 277), "openat2": (437, 437), "open_by_handle_at": (304, 265),
    "truncate": (76, 45), "ftruncate": (77, 46), "ioctl": (16, 29), "sched_setaffinity": (203, 122),
    "timer_create": (222, 107), "setsid": (112, 157), "landlock_restrict_self": (446, 446), "mlock": (149, 228),
}  # fmt: skip


def verdict(machine, architecture, number, *arguments, pid=77, reading=True):
    """What the filter decides, by an interpreter of the four instructions that it uses."""
    data = struct.pack("<IIQ6Q", number, architecture, 0, *arguments, *[0] * (6 - len(arguments)))
    program = [struct.unpack("=HBBI", instruction) for instruction in confine.program(machine, pid, reading)]
    place = accumulator = 0
    while True:
        code, if_true, if_false, value = program[place]
        place += 1
        if code == confine.RETURN:
            return value
        if code == confine.LOAD:
            accumulator = struct.unpack_from("<I", data, value)[0]
        else:
            true = accumulator == value if code == confine.JUMP_IF_EQUAL else bool(accumulator & value)
            place += if_true if true else if_false


@needs_linux
@pytest.mark.parametrize("machine", confine.ARCHITECTURES)
def test_the_filter(machine):
    architecture, column = confine.ARCHITECTURES[machine]
    allow, refuse = confine.SECCOMP_RET_ALLOW, confine.SECCOMP_RET_ERRNO | 1

    def decide(name, *arguments):
        number = confine.CALLS[name][column]
        return verdict(machine, architecture, number, *arguments)

    assert decide("read", 5) == allow
    assert decide("openat", 0, 0, os.O_RDONLY | os.O_CLOEXEC) == allow
    for flag in (os.O_WRONLY, os.O_RDWR, os.O_CREAT, os.O_TRUNC):
        assert decide("openat", 0, 0, flag) == refuse
    for name in confine.NAMES:
        if (number := confine.CALLS[name][column]) is not None:
            assert verdict(machine, architecture, number) == allow
            missing = confine.SECCOMP_RET_ERRNO | 2 if name in confine.LOOKS else refuse
            assert verdict(machine, architecture, number, reading=False) == missing
    assert decide("prctl", confine.PR_SET_SECCOMP) == allow  # one filter more, after the imports
    assert verdict(machine, architecture, confine.CALLS["prctl"][column], 22, reading=False) == refuse
    assert decide("tgkill", 77, 80) == allow
    assert decide("tgkill", 78, 78) == refuse
    assert decide("prlimit64", 0, 3, 0) == allow
    assert decide("prlimit64", 0, 3, 1 << 40) == refuse
    assert decide("fcntl", 1, 1) == allow
    assert decide("fcntl", 1, 8) == refuse
    refused = {pair[column] for pair in DANGEROUS.values()}
    assert {verdict(machine, architecture, number) for number in refused} == {refuse}
    (other,) = (value for name, (value, _) in confine.ARCHITECTURES.items() if name != machine)
    assert verdict(machine, other, confine.CALLS["read"][column]) == confine.SECCOMP_RET_KILL_PROCESS


@pytest.mark.parametrize(("header", "column"), [("x86_64-linux-gnu/asm/unistd_64.h", 0), ("asm-generic/unistd.h", 1)])
def test_numbers_of_calls(header, column):
    path = Path("/usr/include") / header
    if not path.is_file():
        pytest.skip(f"{path} is not installed")
    found = re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", path.read_text(encoding="utf-8"))
    numbers = {name: int(number) for name, number in found}
    if column == 1:
        numbers["newfstatat"] = numbers.pop("fstatat")  # its name in every other header
    for name, pair in {**confine.CALLS, **DANGEROUS}.items():
        assert pair[column] == numbers.get(name), name

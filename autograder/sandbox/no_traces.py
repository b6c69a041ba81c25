"""Let reading leave no time of access, where the kernel allows that: for the warm process and its forks only.

A worker that has seen a hidden input could leave the times of what it reads for a later worker to find. Root can have a
view of the file systems of its own (mount_namespaces(7)) in which times of access are not kept. An ordinary user, and
root in most containers, cannot; then nothing is changed.
"""

import ctypes
import os

# From linux/sched.h and linux/mount.h, see unshare(2) and mount(2).
CLONE_NEWNS = 0x00020000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_NOATIME = 1, 2, 4, 8, 32, 1024
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
KEPT = {"ro": MS_RDONLY, "nosuid": MS_NOSUID, "nodev": MS_NODEV, "noexec": MS_NOEXEC}


def leave_no_times() -> bool:
    """Stop keeping times of access in this process and those that it will start; whether that could be done."""
    if os.geteuid() != 0:
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS) != 0 or libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None) != 0:
        return False
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        mounts = [line.split() for line in file]
    done = {}
    for _, _, _, _, place, options, *_ in mounts:
        flags = sum(KEPT.get(option, 0) for option in options.split(","))
        folder = place.encode("utf-8", "surrogateescape").decode("unicode_escape").encode("latin-1", "replace")
        done[place] = libc.mount(None, folder, None, MS_REMOUNT | MS_BIND | MS_NOATIME | flags, None) == 0
    return done.get("/", False)

"""`python -m autograder doctor`: check what this machine can grade, and whether it can confine other people's code."""

import argparse
import contextlib
import importlib.metadata
import os
import platform
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from autograder.manifest import assignments, broken
from autograder.sandbox import confine
from course.config import CHECKSUMS, WEIGHTS
from course.errors import UserError
from course.location import checkpoints, course_folder

READY, BROKEN = 0, 1
PACKAGES = ("torch", "numpy", "safetensors", "rich")
PROBE = """
def limits():
    import resource
    names = ("RLIMIT_AS", "RLIMIT_CPU", "RLIMIT_FSIZE", "RLIMIT_CORE")
    return [resource.getrlimit(getattr(resource, name))[0] for name in names]

def pid():
    import os
    return os.getpid()
"""


@dataclass(frozen=True)
class Finding:
    """The result of one check of this machine."""

    what: str
    words: str
    fine: bool = True
    needed: bool = True  # whether grading fails without it


def findings() -> Iterator[Finding]:
    """Run all checks, one after another."""
    system = f"{platform.system()} {platform.release()}, {platform.machine()}"
    yield Finding("Python", f"{platform.python_version()} on {system}", sys.version_info >= (3, 10))
    for name in PACKAGES:
        try:
            yield Finding(name, importlib.metadata.version(name))
        except importlib.metadata.PackageNotFoundError:
            yield Finding(name, "is missing: install the project with pip install -c constraints.txt -e .", fine=False)
    yield from stored_files()
    yield worker(confined=False)
    yield Finding("processor cores", f"{cores()} can be used")
    yield from confinement()


def stored_files() -> Iterator[Finding]:
    """Check whether all checkpoints and expected tensors can be read, and whether hidden tests can be run."""
    try:
        course_folder()
    except UserError as outside:
        yield Finding("course", str(outside), fine=False, needed=False)
        return
    for name, error in broken().items():
        yield Finding(f"assignment {name}", str(error), fine=False)
    for name in sorted({name for assignment in assignments().values() for name in assignment.checkpoints}):
        folder = checkpoints() / name
        problem = damage(folder / WEIGHTS) or missing(folder)
        yield Finding(f"checkpoint {name}", problem or "complete", not problem)
    for assignment in assignments().values():
        files = [assignment.expected / f"{stage.name}.safetensors" for stage in assignment.stages]
        problem = "; ".join(filter(None, map(damage, files)))
        yield Finding(f"{assignment.name}: expected tensors", problem or f"{len(files)} stages, complete", not problem)
        reference = assignment.solution.is_dir()
        words = "here, so hidden tests can be run" if reference else "not here: only visible tests, as for students"
        yield Finding(f"{assignment.name}: reference modules", words, reference, needed=False)


def missing(folder: Path) -> str:
    """Return the names of missing files that are in a checkpoint's list of checksums, or "" if there are none."""
    try:
        lines = (folder / CHECKSUMS).read_text(encoding="utf-8").splitlines()
    except OSError as error:
        return f"its checksums cannot be read: {error}"
    absent = [name for _, name in map(str.split, lines) if not (folder / name).is_file()]
    return f"{', '.join(absent)} missing in {folder}" if absent else ""


def damage(file: Path) -> str:
    """Return a description of the problem with a tensor file, or "" if there is none."""
    try:
        from safetensors import SafetensorError, safe_open
    except ImportError:
        return f"{file.name} cannot be read without safetensors"
    try:
        with safe_open(file, framework="numpy") as tensors:
            return "" if len(tensors.keys()) else f"{file} is empty"
    except (OSError, SafetensorError) as error:
        return f"{file} is missing or damaged: {error}"


def worker(confined: bool) -> Finding:
    """Start a worker in the same way as for grading, and get its limits from the worker and the kernel."""
    from autograder.sandbox.remote_modules import Student
    from autograder.sandbox.remote_values import Code
    from autograder.sandbox.worker_processes import make_workers

    title = "confined worker" if confined else "worker"
    with contextlib.ExitStack() as stack:
        try:
            workers = make_workers(confined=confined)
            stack.callback(workers.close)
            student = Student(workers, Code({"probe": PROBE}, replace={}, modules=("probe",)))
            stack.callback(student.close)
            pid = student.probe.pid()
            return Finding(title, describe(int(pid), student.probe.limits()) if confined else "starts and answers")
        except Exception as error:  # the doctor reports any error
            return Finding(title, f"does not start: {error}", fine=False)


def describe(pid: int, limits: list[int]) -> str:
    """Describe the limits of a confined worker, as reported by the kernel."""
    status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    user = int(status["Uid"].split()[0])
    identity = f"user {user} instead of root" if os.geteuid() == 0 and user != 0 else f"user {user}"
    filtered = "seccomp filter on" if status["Seccomp"].strip() == "2" else "NO seccomp filter"
    powers = "no capabilities" if int(status["CapEff"], 16) == 0 else "WITH capabilities"
    memory, seconds, size, core = limits
    return (
        f"{filtered}, {powers}, {identity}; at most {memory / 2**30:.1f} GiB of address space, {seconds} s of "
        f"processor time, {size >> 20} MiB of output, {'no' if core == 0 else 'WITH'} core dumps"
    )


def confinement() -> Iterator[Finding]:
    """Check whether other people's code can be confined."""
    if reason := confine.unsupported():
        yield Finding("confinement", reason, fine=False, needed=False)
        yield Finding(
            "hidden, batch", "refused here, unless you trust the code and add --unconfined", False, needed=False
        )
        return
    yield Finding("Landlock", f"version {confine.landlock_version()} of its interface")
    yield Finding("seccomp", f"present, {len(confine.CALLS)} system calls are allowed")
    if os.geteuid() != 0:
        yield Finding("other user", "not root, so workers run as you; Landlock and seccomp still apply")
    elif confine.libraries_are_public():
        yield Finding("other user", f"workers run as user {confine.NOBODY}, not as root")
    else:
        words = f"no: user {confine.NOBODY} cannot read Python in {sys.base_prefix}; Landlock and seccomp still apply"
        yield Finding("other user", words, False, needed=False)
    confined = worker(confined=True)
    yield confined
    words = "are run confined" if confined.fine else "cannot be run"
    yield Finding("hidden, batch", words, confined.fine)


def show(checks: Iterable[Finding]) -> bool:
    """Print findings as a table; return whether anything required is missing."""
    rows = [(finding, "ok" if finding.fine else "MISSING" if finding.needed else "note") for finding in checks]
    try:
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text
    except ImportError:  # the findings mention it too
        for finding, mark in rows:
            print(f"{mark:<8} {finding.what:<16} {finding.words}")
    else:
        table = Table.grid(padding=(0, 2))
        for finding, mark in rows:
            style = {"ok": "green", "MISSING": "bold red", "note": "yellow"}[mark]
            table.add_row(Text(mark, style=style), finding.what, Text(finding.words))
        Console(highlight=False).print(table)
    return any(mark == "MISSING" for _, mark in rows)


def cores() -> int:
    """Return the number of processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def main(arguments: list[str]) -> int:
    argparse.ArgumentParser(
        prog="python -m autograder doctor",
        description="Report what this machine can grade.",
        epilog="exit status: 0 grading works, 1 something that it needs is missing",
    ).parse_args(arguments)
    broken = show(findings())
    print("Something that grading needs is missing." if broken else "Grading works.")
    return BROKEN if broken else READY

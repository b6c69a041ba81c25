"""Code of one's own in a worker, for tests of confinement."""

import sys
from pathlib import Path

import pytest

from autograder.sandbox import confine
from autograder.sandbox.remote_modules import Student
from autograder.sandbox.remote_values import Code

ROOT = Path(__file__).resolve().parents[2]
needs_confinement = pytest.mark.skipif(bool(confine.unsupported()), reason=confine.unsupported() or "supported")
needs_linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="about Linux")


def start(workers, source):
    return Student(workers, Code({"own": source}, replace={}, modules=("own",)))


def run(workers, body, at_import=False, **names):
    """What `body`, the body of a function in a module of its own, returns in a worker.

    Args:
        at_import: the module calls the function itself, while it is imported.
    """
    lines = [f"{name} = {value!r}" for name, value in names.items()]
    lines += ["import ctypes, mmap, os, resource, signal, socket, subprocess, sys, tempfile, threading", "def call():"]
    lines += ["    " + line for line in body.splitlines()]
    lines += ["result = call()", "def call():", "    return result"] if at_import else []
    student = start(workers, "\n".join(lines))
    try:
        return student.own.call()
    finally:
        student.close()

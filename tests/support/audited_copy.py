"""Run in a course of its own, see test_new_assignment.py: grade the assignment toy, then break it in many ways.

Reads [{check, item, changes: [[file, old, new], ...]}, ...] from stdin, prints as JSON the exit status and the output
of grade.py, and a list of what the checks say. All of it shares one warm process.
"""

import contextlib
import io
import json
import runpy
import sys
from pathlib import Path
from typing import Any
from unittest import mock

from autograder import manifest
from autograder.authoring.audit.check import look_at
from autograder.authoring.audit.registry import CHECKS
from autograder.authoring.audit.subject import Subject
from autograder.diagnosis import mistake_signatures
from autograder.grading import stored_tensors
from autograder.sandbox import worker_processes
from autograder.sandbox.worker_processes import make_workers
from autograder.submissions import stage_with_standins

PACKAGE = "autograder.assignments.toy"


def forget() -> None:
    """What this process knows of the files."""
    for name in [name for name in sys.modules if name == PACKAGE or name.startswith(f"{PACKAGE}.")]:
        del sys.modules[name]
    kept: list[Any] = [
        manifest._found_in,
        mistake_signatures._stored,
        stored_tensors.read_tensors,
        stage_with_standins.standin,
    ]
    for cached in kept:
        cached.cache_clear()


def look(case: dict[str, Any], workers: Any) -> list[str]:
    """What a check says about an item of the changed assignment."""
    before = {Path(file): Path(file).read_bytes() for file, _, _ in case["changes"]}
    try:
        for file, old, new in case["changes"]:
            text = Path(file).read_text(encoding="utf-8")
            assert old in text, (file, old)
            Path(file).write_text(text.replace(old, new), encoding="utf-8")
        forget()
        subject = Subject(manifest.assignment("toy"))
        subject.once("workers", lambda: workers)
        check = CHECKS[case["check"]]
        assert case["item"] in list(check.items(subject)), (case["item"], list(check.items(subject)))
        return look_at(check, subject, case["item"])
    finally:
        for path, content in before.items():
            path.write_bytes(content)


def grade(workers: Any) -> tuple[Any, str]:
    """Run the course's grade.py for the solution, with hidden tests."""
    sys.argv[:] = ["grade.py", "--submission", "solutions/toy", "--hidden", "--unconfined"]
    with (
        mock.patch.object(worker_processes, "make_workers", return_value=workers),
        mock.patch.object(workers, "close"),
        contextlib.redirect_stdout(io.StringIO()) as printed,
    ):
        try:
            runpy.run_path("grade.py", run_name="__main__")
        except SystemExit as end:
            return end.code, printed.getvalue()
    return None, printed.getvalue()


if __name__ == "__main__":
    sys.dont_write_bytecode = True  # the files change within a second
    shared = make_workers()
    try:
        print(json.dumps([grade(shared), [look(case, shared) for case in json.load(sys.stdin)]]))
    finally:
        shared.close()

"""For the tests of the Gradescope autograder: a folder like /autograder, made from an archive, and its results."""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from autograder.__main__ import main
from autograder.authoring.packing.gradescope_archive import PACKAGES
from autograder.manifest import Assignment, assignment
from autograder.sandbox import confine
from course.dependencies import requirements as course_requirements

ROOT = Path(__file__).resolve().parents[2]
ASSIGNMENT = assignment("transformer")
SEED = 6157309482
SECONDS = 60
UNCONFINED = ["--unconfined"] if confine.unsupported() and confine.unsupported(landlock=False) else []
needs_bash = pytest.mark.skipif(
    not sys.platform.startswith("linux") or shutil.which("timeout") is None, reason="Gradescope's containers run Linux"
)
# The other dependencies of the course are missing, as in the real container, which has what torch brings besides.
BROUGHT = {"filelock", "jinja2", "markupsafe", "packaging"}
OTHERS = {re.split(r"[^\w-]", line)[0] for line in set(course_requirements(ROOT / "pyproject.toml"))} - BROUGHT
OTHERS -= {*PACKAGES}
MISSING = f"""
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0].lower() in {{other.replace("-", "_") for other in {sorted(OTHERS)}}}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
"""


def pack(archive: Path, *arguments: str) -> int:
    return main(["gradescope", str(archive), *UNCONFINED, *arguments])


class Container:
    """A folder like /autograder, as Gradescope makes it from an archive."""

    def __init__(self, root: Path, archive: Path, goal: Assignment = ASSIGNMENT) -> None:
        self.root, self.goal = root, goal
        with zipfile.ZipFile(archive) as packed:
            for info in packed.infolist():
                path = Path(packed.extract(info, root / "source"))
                path.chmod(info.external_attr >> 16)
        for folder in ("submission", "results", "bin"):
            (root / folder).mkdir()
        shutil.copy(root / "source" / "run_autograder", root)
        (root / "packages").mkdir()
        (root / "packages" / "sitecustomize.py").write_text(MISSING, encoding="utf-8")
        (root / "submission_metadata.json").write_text('{"previous_submissions": []}', encoding="utf-8")
        self.python(f"exec '{sys.executable}' \"$@\"")

    def python(self, script: str) -> None:
        """Say what `python3` is."""
        python = self.root / "bin" / "python3"
        python.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        python.chmod(0o755)

    def hand_in(self, source: Path, *modules: str, **changes: tuple[str, str]) -> None:
        """Put a copy of modules (all) into the submission; `module=(old, new)` changes a text in one."""
        for module in modules or ASSIGNMENT.modules:
            text = (source / f"{module}.py").read_text(encoding="utf-8")
            old, new = changes.get(module, ("", ""))
            assert old in text
            (self.root / "submission" / f"{module}.py").write_text(text.replace(old, new, 1), encoding="utf-8")

    def start(self) -> subprocess.Popen[str]:
        environment = {
            "PATH": os.pathsep.join([str(self.root / "bin"), os.environ["PATH"]]),
            "HOME": str(self.root),
            "LANG": "C.UTF-8",
        }
        return subprocess.Popen(
            [self.root / "run_autograder", self.root],
            cwd=self.root,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
        )

    def grade(self) -> dict[str, Any]:
        """Run the autograder; its results, which must be valid."""
        process = self.start()
        self.printed, _ = process.communicate(timeout=SECONDS)
        return self.results()

    def results(self) -> dict[str, Any]:
        return valid((self.root / "results" / "results.json").read_text(encoding="utf-8"), self.goal)


def no_constant(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")


def valid(text: str, goal: Assignment = ASSIGNMENT) -> dict[str, Any]:
    """The results, if they have the form that Gradescope's specification wants, with every test in it."""
    found: dict[str, Any] = json.loads(text, parse_constant=no_constant)
    expected = [(name, points) for stage in goal.stages for name, points in stage.points.items()]
    assert [(test["extra_data"]["test"], test["max_score"]) for test in found["tests"]] == expected
    for test in found["tests"]:
        assert 0 <= test["score"] <= test["max_score"]
        assert test["status"] == ("passed" if test["score"] == test["max_score"] else "failed")
        assert isinstance(test["output"], str)
        assert re.fullmatch(r"\d\.\d", test["number"])
        assert set(test) == {"number", "name", "score", "max_score", "status", "output", "extra_data"}
    assert found["score"] == sum(test["score"] for test in found["tests"])
    assert found["stdout_visibility"] == "hidden"
    assert set(found) - {"output"} == {"score", "stdout_visibility", "extra_data", "tests"}
    return found


def statuses(found: dict[str, Any]) -> dict[str, str]:
    return {test["extra_data"]["test"]: test["extra_data"]["status"] for test in found["tests"]}

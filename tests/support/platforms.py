"""For the tests of packed autograders: bundles in folders like those of the platforms, and what runs them."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from autograder.__main__ import main
from autograder.manifest import assignment
from autograder.sandbox import confine
from course.location import ENGINE as ROOT

ASSIGNMENT = assignment("transformer")
STUBS = ROOT / "notebooks" / ASSIGNMENT.name
SEED = 6157309482
SECONDS = 180
needs_bash = pytest.mark.skipif(
    not sys.platform.startswith("linux") or shutil.which("timeout") is None, reason="the platforms run Linux"
)
UNCONFINED = ["--unconfined"] if confine.unsupported() and confine.unsupported(landlock=False) else []


def pack(platform: str, out: Path, *arguments: str) -> Path:
    """Pack for a platform and unpack the bundle into a folder, with the permissions that it has."""
    archive = out.with_suffix(".zip")
    options = [] if platform == "classroom50" else ["--seed", str(SEED), *UNCONFINED]
    assert main(["pack", "--for", platform, ASSIGNMENT.name, "--out", str(archive), *options, *arguments]) == 0
    with zipfile.ZipFile(archive) as packed:
        for info in packed.infolist():
            Path(packed.extract(info, out)).chmod(info.external_attr >> 16)
    return out


def hand_in(folder: Path, source: Path = ASSIGNMENT.solution, **texts: str) -> None:
    """Put modules into a folder; `module="text"` replaces one."""
    folder.mkdir(parents=True, exist_ok=True)
    for module in ASSIGNMENT.modules:
        text = texts.get(module) or (source / f"{module}.py").read_text(encoding="utf-8")
        (folder / f"{module}.py").write_text(text, encoding="utf-8")


def run(
    folder: Path, *command: str, python: str = f"exec '{sys.executable}' \"$@\"", **environment: str
) -> tuple[int, str]:
    """Run a command in a folder of a platform, with nothing of this environment but Python; exit status and stdout.

    Args:
        python: what `python3` does there.
    """
    programs = folder.parent / f"{folder.name}-bin"
    programs.mkdir(exist_ok=True)
    (programs / "python3").write_text(f"#!/bin/sh\n{python}\n", encoding="utf-8")
    (programs / "python3").chmod(0o755)
    variables = {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        "CHECKPOINTS": str(ROOT / "checkpoints"),  # where the image has them
        **environment,
    }
    done = subprocess.run(
        command, cwd=folder, env=variables, stdout=subprocess.PIPE, encoding="utf-8", timeout=SECONDS, check=False
    )
    return done.returncode, done.stdout

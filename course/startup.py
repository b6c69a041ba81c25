"""What commands look at before anything else: the version of Python, and whether the packages are there.

This file, and what is imported before it, runs on any Python from 3.8 on with nothing installed.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OLDEST, NEWEST = (3, 10), (3, 14)
# Without these no command does anything; `course.doctor` looks at all others, and at the versions.
PACKAGES = ("torch", "numpy", "safetensors", "sentencepiece", "rich", "packaging")
INSTALL = "pip install -c constraints.txt -e ."


def begin() -> None:
    """End the program with what is missing and how to mend it, unless this Python can run the course."""
    replace_unknown()
    if words := problem():
        print(words, file=sys.stderr)
        sys.exit(2)


def replace_unknown() -> None:
    """Print characters that the console or the pipe cannot show as "?", instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def problem(version: tuple[int, ...] = sys.version_info[:3], root: str = ROOT) -> str:
    """What this Python lacks, and the line to enter, or "".

    Args:
        version: of Python.
        root: the folder of the course, in which the environment of the guide is made.
    """
    here = f"{sys.executable or 'python'}, {'.'.join(map(str, version))}"
    if version < OLDEST:
        needed = ".".join(map(str, OLDEST))
        return (
            f"error: the course needs Python {needed} or later, and this is an older one ({here}).\n{mend(True, root)}"
        )
    names = PACKAGES if version >= (3, 11) else (*PACKAGES, "tomli")
    if absent := [name for name in names if importlib.util.find_spec(name) is None]:
        return f"error: this Python ({here}) has no {', '.join(absent)}.\n{mend(False, root)}"
    return ""


def mend(too_old: bool, root: str = ROOT) -> str:
    """The line that gives a Python that can run the course."""
    windows = sys.platform == "win32"
    bin_folder = os.path.join(root, ".venv", "Scripts" if windows else "bin")
    in_environment = sys.prefix != sys.base_prefix or "CONDA_PREFIX" in os.environ
    start = r".venv\Scripts\activate" if windows else ". .venv/bin/activate"
    if os.path.isdir(bin_folder) and os.path.realpath(sys.prefix) != os.path.realpath(os.path.join(root, ".venv")):
        return (
            f"The environment of the course is not active. In {root} enter, and then your command again:\n    {start}"
        )
    if in_environment and not too_old:
        return (
            f"Its packages are not installed, or not all. In {root} enter, and then your command again:\n    {INSTALL}"
        )
    newer = [f"python3.{minor}" for minor in range(NEWEST[1], OLDEST[1] - 1, -1)]
    found = next(filter(shutil.which, newer), "python3.12") if too_old else "python3"
    words = f"Make the environment of the course. In {root} enter, and then your command again:"
    if too_old and not shutil.which(found):
        words = f"Install Python 3.{NEWEST[1] - 1} (python.org), then make the environment. In {root} enter:"
    if windows:
        return f"{words}\n    py -m venv .venv\n    {start}\n    {INSTALL}"
    return f"{words}\n    {found} -m venv .venv && {start} && {INSTALL}"

"""Check, before anything else, that Python is recent enough and the packages are installed.

This file, and everything imported before it, runs on Python 3.8 and later with no packages installed.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OLDEST, NEWEST = (3, 10), (3, 14)
# No command works without these; `course.doctor` checks all others, and the versions.
PACKAGES = ("torch", "numpy", "safetensors", "sentencepiece", "rich", "packaging")
INSTALL = "pip install -c constraints.txt -e ."


def begin() -> None:
    """Exit with a message that explains what is missing and how to fix it, unless this Python can run the course."""
    replace_unknown()
    if words := problem():
        print(words, file=sys.stderr)
        sys.exit(2)


def replace_unknown() -> None:
    """Print "?" for characters that the console or pipe does not support, rather than failing."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def problem(version: tuple[int, ...] = sys.version_info[:3], root: str = ROOT) -> str:
    """Return a message that says what this Python lacks and how to fix it; "" if nothing is missing.

    Args:
        version: the version of Python.
        root: the folder of the course, where the guide puts the environment.
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
    """Return the command that sets up a Python for the course."""
    windows = sys.platform == "win32"
    bin_folder = os.path.join(root, ".venv", "Scripts" if windows else "bin")
    in_environment = sys.prefix != sys.base_prefix or "CONDA_PREFIX" in os.environ
    start = r".venv\Scripts\activate" if windows else ". .venv/bin/activate"
    if os.path.isdir(bin_folder) and os.path.realpath(sys.prefix) != os.path.realpath(os.path.join(root, ".venv")):
        return (
            f"The environment of the course is not active. In {root} enter this, then your command again:\n    {start}"
        )
    if in_environment and not too_old:
        return f"Not all of its packages are installed. In {root} enter this, then your command again:\n    {INSTALL}"
    newer = [f"python3.{minor}" for minor in range(NEWEST[1], OLDEST[1] - 1, -1)]
    python = next(filter(shutil.which, newer), "python3.12") if too_old else "python3"
    words = f"Make the environment of the course. In {root} enter this, then your command again:"
    if too_old and not shutil.which(python):
        words = f"Install Python 3.{NEWEST[1] - 1} (python.org), then make the environment. In {root} enter:"
    if windows:
        return f"{words}\n    py -m venv .venv\n    {start}\n    {INSTALL}"
    return f"{words}\n    {python} -m venv .venv && {start} && {INSTALL}"

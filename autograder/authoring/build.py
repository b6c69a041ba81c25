"""Write all generated files and list the changes: `python -m autograder build [NAME ...]`.

The expected tensors, the students' version, and the course's figures are generated from the sources; generated files
of deleted stages are removed.
"""

import argparse
import hashlib
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from autograder.authoring import release, stored_tensors
from autograder.manifest import assignment, work_on
from autograder.manifest.course_config import course_config
from course.errors import UserError
from course.location import course_folder

EXPECTED, RELEASE, FIGURES = "expected", "release", "figures"
SEEN = ("assignments", "notebooks", "solutions", "docs", "img", "README.md")
CACHES = ("__pycache__", ".ipynb_checkpoints")


def snapshot() -> dict[str, str]:
    """Return the hash of each file that a build may write, by path."""
    root = course_folder()
    places = [course_config().assignments, *(root / name for name in SEEN[1:])]
    paths = [path for place in places for path in (place.rglob("*") if place.is_dir() else [place])]
    return {
        path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in paths
        if path.is_file() and not set(path.parts) & set(CACHES)
    }


def changes(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """Return a line for each file that differs between two snapshots."""
    words = dict.fromkeys(after.keys() - before.keys(), "new")
    words |= dict.fromkeys(before.keys() - after.keys(), "removed")
    words |= {path: "changed" for path in before.keys() & after.keys() if before[path] != after[path]}
    return [f"  {word:<8} {path}" for path, word in sorted(words.items())]


def draw() -> None:
    """Run the course's own figure-drawing programs, which are listed in course.toml.

    Raises:
        UserError: if one fails.
    """
    for line in course_config().figures:
        print(f"figures: {line}", flush=True)
        if subprocess.run([sys.executable, *shlex.split(line)], cwd=course_folder()).returncode:
            raise UserError(f"{line} failed; its report is above (course.toml, build: figures)")


def orphans() -> list[Path]:
    """Return the generated folders of assignments that no longer exist."""
    folder = course_folder() / release.RELEASE
    known = {path.name for path in course_config().assignments.glob("*") if any(path.glob("assignment*.toml"))}
    return sorted(path for path in folder.glob("*") if path.is_dir() and path.name not in known)


def run(names: Sequence[str], parts: Sequence[str]) -> int:
    for name in names:
        work_on(name)
    before = snapshot()
    for which in [["--assignment", assignment(name).name] for name in names] or [[]]:
        if EXPECTED in parts:
            stored_tensors.main(which)
        if RELEASE in parts:
            release.main(which)
    if FIGURES in parts:
        draw()
    lines = changes(before, snapshot())
    print("\n".join(["Changed:", *lines]) if lines else "Nothing has changed: everything was up to date.")
    for folder in orphans():
        print(f"Note: {folder} belongs to no assignment of the course; remove it if you do not need it.")
    return 0


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m autograder build",
        description="Generate the expected tensors, the students' version and the figures, and list the changes.",
    )
    parser.add_argument("name", nargs="*", metavar="NAME", help="assignments (default: all, and the figures)")
    parser.add_argument(
        "--only", choices=(EXPECTED, RELEASE, FIGURES), metavar="PART", help="expected, release, figures"
    )
    args = parser.parse_args(arguments)
    return run(args.name, [args.only] if args.only else [EXPECTED, RELEASE, *([] if args.name else [FIGURES])])

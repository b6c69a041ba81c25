"""Generate the release: run nbgrader on the solutions, check that no solution is left, and write notebooks/.

`python -m autograder release` rewrites notebooks/, and updates the points in all texts that mention them. With
`--check`, it writes nothing and exits with status 1 if a file is outdated.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from autograder.authoring.points_in_texts import with_right_points
from autograder.authoring.stubs import find_regions, make_stubs, modules_in
from autograder.manifest import Assignment, assignment, every_assignment, work_on
from course.errors import UserError
from course.location import course_folder, inside

SOURCE, RELEASE = "solutions", "notebooks"

# A line of a solution that reveals nothing.
TRIVIAL = re.compile(
    r"if \w+ is (not )?None:|if \w+ > self\.\w+:|for \w+ in self\.\w+:|return \w+|\w+ = \w+\.size\(\d\)"
    r"|loss\.backward\(\)|(optimizer|model)\.\w+\(\)"
)
# A shorter line of a solution ("break") may occur anywhere.
SHORTEST_SECRET = 12
CACHES = ("__pycache__", ".ipynb_checkpoints")


def notebook_names(assignment: Assignment) -> set[str]:
    """Return the file names of an assignment's notebooks."""
    return set(assignment.notebooks)


def _code(line: str) -> str:
    """Strip a line's indentation and trailing comment."""
    return line.strip() if line.lstrip().startswith("#") else line.partition("  #")[0].strip()


def secret_lines(folder: Path, assignment: Assignment) -> set[str]:
    """Return the lines inside the solution regions, except short lines and lines that also occur outside."""
    inside: set[str] = set()
    outside: list[str] = []
    for module, source in modules_in(folder, assignment).items():
        lines, begin = source.split("\n"), 0
        for region in find_regions(lines, f"{module}.py"):
            inside.update(map(_code, lines[region.begin : region.end - 1]))
            outside += lines[begin : region.begin - 1]
            begin = region.end
        outside += lines[begin:]
    given = "\n".join(outside)
    return {line for line in inside if len(line) >= SHORTEST_SECRET and line not in given}


def find_leaks(release: dict[str, str], secrets: set[str]) -> list[str]:
    """Return the released files that contain a line of a solution, each with that line."""
    leaks = []
    for name, text in release.items():
        readable = "\n".join(_strings(json.loads(text))) if name.endswith(".ipynb") else text
        leaks += [f"{name}: {line}" for line in sorted(secrets) if line in readable]
    return leaks


def _strings(value: Any) -> Iterator[str]:
    """Yield all strings in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _strings(item)


def read_release(folder: Path) -> dict[str, str]:
    """Return the text of every file, keyed by path, with "\\n" line endings; tool caches are left out."""
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8", errors="replace")
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not any(part in CACHES for part in path.parts)
    }


def generate(root: Path, chosen: Iterable[Assignment]) -> dict[str, str]:
    """Generate the release of some assignments with nbgrader, without writing into the course folder.

    Returns:
        The text of every file by its path in the release folder.

    Raises:
        UserError: if a module cannot be stripped, nbgrader fails, a file is missing, or part of a solution is left.
    """
    with tempfile.TemporaryDirectory() as scratch:
        for assignment in chosen:
            make_stubs(root / SOURCE / assignment.name, assignment)  # finds errors before the slow run of nbgrader
            _run_nbgrader(root, assignment.name, Path(scratch))
        release = read_release(Path(scratch, RELEASE))
    for assignment in chosen:
        expected = {f"{module}.py" for module in assignment.modules} | notebook_names(assignment)
        if missing := {f"{assignment.name}/{file}" for file in expected} - set(release):
            raise UserError(f"{SOURCE} lacks {', '.join(sorted(missing))}")
        secrets = secret_lines(root / SOURCE / assignment.name, assignment)
        # In other assignments' notebooks, common lines reveal nothing about this one.
        telling = {line for line in secrets if not TRIVIAL.fullmatch(line)}
        in_own = {name: text for name, text in release.items() if name.startswith(f"{assignment.name}/")}
        others = {name: text for name, text in release.items() if name not in in_own}
        if leaks := find_leaks(in_own, secrets) + find_leaks(others, telling):
            raise UserError("the release would contain lines of the solution\n  " + "\n  ".join(leaks))
    return release


def path_with_programs() -> str:
    """Return the search path with this Python's programs first: nbgrader calls `alembic` by its bare name."""
    return os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", "")])


def _run_nbgrader(root: Path, assignment: str, scratch: Path) -> None:
    command = [sys.executable, "-m", "nbgrader", "generate_assignment", assignment, "--force", "--log-level=WARN"]
    command += [f"--CourseDirectory.release_directory={scratch / RELEASE}"]
    command += [f"--CourseDirectory.db_url=sqlite:///{(scratch / 'gradebook.db').as_posix()}"]
    # The user's settings on this machine must not affect the release.
    environment = {**os.environ, "JUPYTER_NO_CONFIG": "1", "PATH": path_with_programs()}
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, encoding="utf-8", errors="replace")
    if done.returncode:
        print(done.stderr, file=sys.stderr)
        raise UserError(f"nbgrader generate_assignment {assignment} failed; its report is above")


def write_release(release: dict[str, str], folder: Path, replaced: Iterable[Path]) -> None:
    """Write a release into its folder, replacing the folders `replaced`. The bytes are the same on every system."""
    for old in replaced:
        if old.exists():
            shutil.rmtree(old)
    for name, text in release.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")


def differences(release: dict[str, str], folder: Path, of: str = "") -> list[str]:
    """Return the differences between a folder and a release, one line per file.

    Args:
        of: compare only files whose paths begin with this.
    """
    present = {name: text for name, text in read_release(folder).items() if name.startswith(of)}
    states = {
        "is missing": set(release) - set(present),
        "does not belong there": set(present) - set(release),
        "differs": {name for name in set(present) & set(release) if present[name] != release[name]},
    }
    return sorted(f"{folder.name}/{name} {state}" for state, names in states.items() for name in names)


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m autograder release", description="Generate the students' version in notebooks/."
    )
    parser.add_argument("--assignment", metavar="NAME", help="only this assignment (default: all)")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if notebooks/ is outdated")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    args = parse_arguments(arguments)
    work_on(args.assignment)
    chosen = [assignment(args.assignment)] if args.assignment else every_assignment()
    root = course_folder()
    texts = dict(with_right_points(root, chosen))
    for path, text in texts.items() if not args.check else ():
        path.write_text(text, encoding="utf-8", newline="\n")
        print(f"updated the points in {inside(path)} from the manifest")
    release, folder = generate(root, chosen), root / RELEASE
    if not args.check:
        write_release(release, folder, [folder / args.assignment if args.assignment else folder])
        print(f"wrote {len(release)} files to {RELEASE}/")
        return 0
    problems = [f"{inside(path)} has different points from the manifest" for path in texts]
    problems += differences(release, folder, f"{args.assignment}/" if args.assignment else "")
    if problems:
        print("\n".join([*problems, "Run `python -m autograder release` and commit the result."]))
        return 1
    print(f"{RELEASE}/ is current and contains no solution")
    return 0

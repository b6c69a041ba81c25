"""Generate the students' version: strip solutions from the modules, run nbgrader, check that no solution is left.

`python -m autograder release` rewrites notebooks/, and the manifest's points in the texts that mention them; with
`--check` it writes nothing and exits with 1 if a file is outdated.
"""

import argparse
import ast
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections import Counter
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograder.authoring.points_in_texts import with_right_points
from autograder.manifest import Assignment, assignment, every_assignment, work_on
from autograder.submissions.syntax_tree import parse
from course.errors import UserError
from course.location import course_folder, inside

SOURCE, RELEASE = "solutions", "notebooks"

MARK = re.compile(r"\s*### (BEGIN|END) SOLUTION\s*")
# A misspelt mark would leave the solution in the release, so it is an error.
LIKE_A_MARK = re.compile(r"#.*\b(begin|end)[\W_]*solution", re.IGNORECASE)

# A line of a solution that reveals nothing.
TRIVIAL = re.compile(
    r"if \w+ is (not )?None:|if \w+ > self\.\w+:|for \w+ in self\.\w+:|return \w+|\w+ = \w+\.size\(\d\)"
    r"|loss\.backward\(\)|(optimizer|model)\.\w+\(\)"
)
# A shorter line of a solution ("break") may occur anywhere.
SHORTEST_SECRET = 12
CACHES = ("__pycache__", ".ipynb_checkpoints")


@dataclass(frozen=True)
class Region:
    """A solution region, by the line numbers of its two marks, counted from 1."""

    begin: int
    end: int

    def code(self, lines: list[str]) -> list[int]:
        """Return the numbers of the region's lines that are neither blank nor comments."""
        inside = enumerate(lines[self.begin : self.end - 1], start=self.begin + 1)
        return [number for number, line in inside if line.strip() and not line.lstrip().startswith("#")]


def find_regions(lines: list[str], file: str) -> list[Region]:
    """Return the solution regions of a module.

    Raises:
        UserError: if a region is nested, not closed or not opened, or if a mark is misspelt.
    """
    regions, begin = [], 0
    for number, line in enumerate(lines, start=1):
        mark = MARK.fullmatch(line)
        if mark is None:
            if LIKE_A_MARK.search(line):
                raise UserError(f"{file}, line {number}: a mark is a line '### BEGIN SOLUTION' or '### END SOLUTION'")
        elif mark[1] == "BEGIN":
            if begin:
                raise UserError(f"{file}, line {number}: a region begins inside the one that begins at line {begin}")
            begin = number
        else:
            if not begin:
                raise UserError(f"{file}, line {number}: END SOLUTION without BEGIN SOLUTION")
            regions.append(Region(begin, number))
            begin = 0
    if begin:
        raise UserError(f"{file}, line {begin}: BEGIN SOLUTION without END SOLUTION")
    return regions


def _parse(source: str, file: str) -> ast.Module:
    try:
        return parse(source)
    except SyntaxError as error:
        raise UserError(f"{file}, line {error.lineno}: {error.msg}") from error


def _functions(tree: ast.Module | ast.ClassDef, prefix: str = "") -> Iterator[tuple[str, range]]:
    """Yield the functions of a module and the methods of its classes by dotted name, with their line numbers."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield from _functions(node, f"{prefix}{node.name}.")
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield prefix + node.name, range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _function_of(region: Region, lines: list[str], functions: list[tuple[str, range]], file: str) -> str:
    """Return the function or method that contains a region."""
    place = f"{file}, line {region.begin}"
    code = region.code(lines)
    if not code:
        raise UserError(f"{place}: the region contains no code")
    if _indentation(lines[region.begin - 1]) != _indentation(lines[code[0] - 1]):
        raise UserError(f"{place}: the mark must be indented like the code in the region")
    for name, numbers in functions:
        if region.begin in numbers and code[-1] in numbers:
            return name
    raise UserError(f"{place}: the region must be inside one function or method")


def functions_of(regions: list[Region], lines: list[str], file: str) -> list[str]:
    """Return the function or method that contains each region of a module, by dotted name.

    Raises:
        UserError: if the module cannot be parsed or a region is not inside a single function.
    """
    functions = list(_functions(_parse("\n".join(lines), file)))
    return [_function_of(region, lines, functions, file) for region in regions]


def _written(module: str, assignment: Assignment) -> list[str]:
    """Return the functions that students write in a module, by dotted name."""
    written = [path.partition(".") for stage in assignment.stages for path in stage.writes]
    return [name for owner, _, name in written if owner == module]


def _indentation(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def strip_module(source: str, module: str, assignment: Assignment, keep: Container[str] = ()) -> str:
    """Return the stub of a module: every solution region is replaced by a line that raises NotImplementedError.

    Args:
        keep: functions whose solution stays, named as in the manifest.

    Raises:
        UserError: if the regions are malformed or do not match the functions in the manifest.
    """
    file = f"{module}.py"
    lines = source.split("\n")
    regions = find_regions(lines, file)
    names = functions_of(regions, lines, file)
    for name in _written(module, assignment):
        if name not in names:
            raise UserError(f"{file}: the manifest has students write {name}, but it has no solution region")
    stub: list[str] = []
    copied, parts, counts = 0, Counter(names), Counter[str]()
    for region, name in zip(regions, names, strict=True):
        stage = assignment.stage_of(f"{module}.{name}")
        if stage is None:
            raise UserError(f"{file}, line {region.begin}: no stage of the manifest has students write {name}")
        counts[name] += 1
        if f"{module}.{name}" in keep:
            continue
        part = f", part {counts[name]} of {parts[name]}," if parts[name] > 1 else ""
        stub += lines[copied : region.begin - 1]
        indentation = _indentation(lines[region.begin - 1])
        stub.append(f'{indentation}raise NotImplementedError("Stage {stage.number}: {name}{part} is not written yet")')
        copied = region.end
    text = "\n".join([*stub, *lines[copied:]])
    _parse(text, f"the stub of {file}")
    return text


def _modules(folder: Path, assignment: Assignment) -> dict[str, str]:
    """Return the source code of the modules in a folder."""
    if missing := [f"{name}.py" for name in assignment.modules if not (folder / f"{name}.py").is_file()]:
        raise UserError(f"{folder} lacks {', '.join(missing)}")
    return {name: (folder / f"{name}.py").read_text(encoding="utf-8") for name in assignment.modules}


def make_stubs(folder: Path, assignment: Assignment) -> dict[str, str]:
    """Return the stubs of all modules of an assignment by file name.

    Raises:
        UserError: if a module is missing or cannot be stripped.
    """
    owners = {path.partition(".")[0] for stage in assignment.stages for path in stage.writes}
    if strange := owners - set(assignment.modules):
        raise UserError(f"the manifest has students write in {', '.join(sorted(strange))}, no module of the assignment")
    return {
        f"{module}.py": strip_module(source, module, assignment)
        for module, source in _modules(folder, assignment).items()
    }


def notebook_names(assignment: Assignment) -> set[str]:
    """Return the file names of an assignment's notebooks."""
    return set(assignment.notebooks)


def _code(line: str) -> str:
    """Strip a line's indentation and trailing comment."""
    return line.strip() if line.lstrip().startswith("#") else line.partition("  #")[0].strip()


def secret_lines(folder: Path, assignment: Assignment) -> set[str]:
    """Return the lines inside the solution regions, except short ones and those that also occur outside."""
    inside: set[str] = set()
    outside: list[str] = []
    for module, source in _modules(folder, assignment).items():
        lines, begin = source.split("\n"), 0
        for region in find_regions(lines, f"{module}.py"):
            inside.update(map(_code, lines[region.begin : region.end - 1]))
            outside += lines[begin : region.begin - 1]
            begin = region.end
        outside += lines[begin:]
    given = "\n".join(outside)
    return {line for line in inside if len(line) >= SHORTEST_SECRET and line not in given}


def find_leaks(release: dict[str, str], secrets: set[str]) -> list[str]:
    """Return the released files that contain a line of a solution, each with the line."""
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
    """Return the text of every file by path, with "\\n" line endings; the caches of tools are left out."""
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
        UserError: if a module cannot be stripped, nbgrader fails, a file is missing, or a solution is left.
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
    # The settings of this machine's user must not affect the release.
    environment = {**os.environ, "JUPYTER_NO_CONFIG": "1", "PATH": path_with_programs()}
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, encoding="utf-8", errors="replace")
    if done.returncode:
        print(done.stderr, file=sys.stderr)
        raise UserError(f"nbgrader generate_assignment {assignment} failed; its report is above")


def write_release(release: dict[str, str], folder: Path, replaced: Iterable[Path]) -> None:
    """Write a release into its folder, replacing some folders. The bytes are the same on every system."""
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
        print(f"wrote the points of the manifest into {inside(path)}")
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

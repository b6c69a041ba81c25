"""Create students' stubs from the solutions: replace each solution region with an exception that names the stage."""

import ast
import re
from collections import Counter
from collections.abc import Container, Iterator
from dataclasses import dataclass
from pathlib import Path

from autograder.manifest import Assignment
from autograder.submissions.syntax_tree import parse
from course.errors import UserError

MARK = re.compile(r"\s*### (BEGIN|END) SOLUTION\s*")
# A misspelt marker would leave the solution in the release, so it is an error.
LIKE_A_MARK = re.compile(r"#.*\b(begin|end)[\W_]*solution", re.IGNORECASE)


@dataclass(frozen=True)
class Region:
    """A solution region, given by the line numbers of its two markers, counted from 1."""

    begin: int
    end: int

    def code(self, lines: list[str]) -> list[int]:
        """Return the numbers of the region's lines that are neither blank nor comments."""
        inside = enumerate(lines[self.begin : self.end - 1], start=self.begin + 1)
        return [number for number, line in inside if line.strip() and not line.lstrip().startswith("#")]


def find_regions(lines: list[str], file: str) -> list[Region]:
    """Return the solution regions of a module.

    Raises:
        UserError: if a region is nested, not closed or not opened, or if a marker is misspelt.
    """
    regions, begin = [], 0
    for number, line in enumerate(lines, start=1):
        mark = MARK.fullmatch(line)
        if mark is None:
            if LIKE_A_MARK.search(line):
                raise UserError(f"{file}, line {number}: a marker is a line '### BEGIN SOLUTION' or '### END SOLUTION'")
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
    """Return the dotted name of the function or method that contains a region."""
    place = f"{file}, line {region.begin}"
    code = region.code(lines)
    if not code:
        raise UserError(f"{place}: the region contains no code")
    if _indentation(lines[region.begin - 1]) != _indentation(lines[code[0] - 1]):
        raise UserError(f"{place}: the marker must be indented like the code in the region")
    for name, numbers in functions:
        if region.begin in numbers and code[-1] in numbers:
            return name
    raise UserError(f"{place}: the region must be inside one function or method")


def functions_of(regions: list[Region], lines: list[str], file: str) -> list[str]:
    """Return the dotted name of the function or method that contains each region of a module.

    Raises:
        UserError: if the module cannot be parsed or a region is not inside a single function.
    """
    functions = list(_functions(_parse("\n".join(lines), file)))
    return [_function_of(region, lines, functions, file) for region in regions]


def _written(module: str, assignment: Assignment) -> list[str]:
    """Return the dotted names of the functions that students write in a module."""
    written = [path.partition(".") for stage in assignment.stages for path in stage.writes]
    return [name for owner, _, name in written if owner == module]


def _indentation(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def strip_module(source: str, module: str, assignment: Assignment, keep: Container[str] = ()) -> str:
    """Return the stub of a module: every solution region is replaced by a line that raises NotImplementedError.

    Args:
        keep: functions whose solution is kept, named as in the manifest.

    Raises:
        UserError: if the regions are malformed or do not match the functions in the manifest.
    """
    file = f"{module}.py"
    lines = source.split("\n")
    regions = find_regions(lines, file)
    names = functions_of(regions, lines, file)
    for name in _written(module, assignment):
        if name not in names:
            raise UserError(f"{file}: the manifest has students write {name}, which has no solution region")
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


def modules_in(folder: Path, assignment: Assignment) -> dict[str, str]:
    """Return the source code of the modules in a folder."""
    if missing := [f"{name}.py" for name in assignment.modules if not (folder / f"{name}.py").is_file()]:
        raise UserError(f"{folder} lacks {', '.join(missing)}")
    return {name: (folder / f"{name}.py").read_text(encoding="utf-8") for name in assignment.modules}


def make_stubs(folder: Path, assignment: Assignment) -> dict[str, str]:
    """Return the stubs of an assignment's modules, keyed by file name.

    Raises:
        UserError: if a module is missing or cannot be stripped.
    """
    owners = {path.partition(".")[0] for stage in assignment.stages for path in stage.writes}
    if strange := owners - set(assignment.modules):
        raise UserError(f"the assignment lacks modules for the code that students write: {', '.join(sorted(strange))}")
    return {
        f"{module}.py": strip_module(source, module, assignment)
        for module, source in modules_in(folder, assignment).items()
    }

"""Correct alternatives to the solution, used to check that each gets full marks. They are never shipped to students.

A formulation is a correct way of writing parts of a module: strings that replace solution regions. An assignment's
package `formulations` lists its formulations in `FORMULATIONS`. Each folder in `tests/correct_programs/` contains a
program written without looking at the solution. If a module's first line is `# Differs from the solution in:`, the
module contains only the functions, methods and classes that differ.
"""

import ast
import importlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent, indent

from autograder.authoring.stubs import find_regions, functions_of
from autograder.manifest import Assignment, package_of
from autograder.submissions.read_submission import Submission, read_submission
from autograder.submissions.syntax_tree import parse
from course.errors import UserError
from course.location import course_folder

DIFFERS = "# Differs from the solution in:"
Block = ast.Module | ast.ClassDef
Change = tuple[int, int, int, list[str]]


@dataclass(frozen=True)
class Formulation:
    """A formulation: a correct way of writing parts of one module."""

    id: str
    module: str
    regions: Mapping[str, tuple[str, ...]]  # "Class.method" or "function" -> the new code of its regions, in order
    imports: str = ""  # additional imports
    # Whether the result for a query that may attend to nothing is finite, as a docstring requires. Graded comparisons
    # skip such queries, since filling with -inf, as is common, results in NaN.
    finite: bool = True

    def apply(self, sources: Mapping[str, str]) -> dict[str, str]:
        """Return the reference modules with this formulation in place of the solution.

        Raises:
            UserError: if the module does not have the regions that the formulation replaces.
        """
        lines = sources.get(self.module, "").split("\n")
        regions = find_regions(lines, f"{self.module}.py")
        functions = functions_of(regions, lines, f"{self.module}.py")
        counts = Counter(functions)
        for function, texts in self.regions.items():
            if len(texts) != counts[function]:
                raise UserError(
                    f"formulation {self.id} has {len(texts)} text(s) for the {counts[function]} region(s) of "
                    f"{function} in {self.module}.py: update it"
                )
        left = {function: list(texts) for function, texts in self.regions.items()}
        written: list[str] = []
        copied = 0
        for region, function in zip(regions, functions, strict=True):
            if function in left:
                mark = lines[region.begin - 1]
                text = indent(dedent(left[function].pop(0)).strip("\n"), mark[: len(mark) - len(mark.lstrip())])
                written += [*lines[copied : region.begin - 1], text]
                copied = region.end
        written += lines[copied:]
        if self.imports:
            first = next(number for number, line in enumerate(written) if line.startswith(("import ", "from ")))
            written.insert(first, self.imports)
        return {**sources, self.module: "\n".join(written)}


def formulations(assignment: Assignment) -> tuple[Formulation, ...]:
    """Return the formulations of an assignment."""
    if not (assignment.folder / "formulations" / "__init__.py").is_file():
        return ()
    module = importlib.import_module(f"{package_of(assignment.name)}.formulations")
    return tuple(getattr(module, "FORMULATIONS", ()))


def programs_of(assignment: Assignment) -> Path:
    """Return the folder for an assignment's correct programs, which may not exist."""
    return course_folder() / "tests" / "correct_programs" / assignment.name


def correct_submissions(assignment: Assignment) -> dict[str, tuple[Submission, set[str]]]:
    """Return the known correct submissions other than the solution, by name, each with the names of its modules."""
    solution = read_submission(assignment.solution, assignment).sources
    submissions = {
        each.id: (Submission(each.id, each.apply(solution)), {each.module}) for each in formulations(assignment)
    }
    top = programs_of(assignment)
    for folder in sorted({file.parent for module in assignment.modules for file in top.rglob(f"{module}.py")}):
        written = program(folder, assignment)
        submissions[folder.name] = (Submission(folder.name, solution | written), set(written))
    return submissions


def program(folder: Path, assignment: Assignment) -> dict[str, str]:
    """Return the modules of a correct program; parts that it lacks come from the solution."""
    solution = read_submission(assignment.solution, assignment).sources
    written = read_submission(folder, assignment).sources
    return {
        module: with_differences(solution[module], text) if text.startswith(DIFFERS) else text
        for module, text in written.items()
    }


def with_differences(source: str, differences: str) -> str:
    """Replace functions, methods and classes of a module with those in a second source string.

    If a class has the same bases and decorators in both sources, methods missing from the second are kept. New imports
    are inserted after the module's imports, and `from __future__` imports before them. Other new statements are
    inserted before the next replaced definition, or at the end.
    """
    lines = source.split("\n")
    replaced = sorted(_changes(parse(source), parse(differences), differences.split("\n")), reverse=True)
    for begin, _, end, text in replaced:  # from the end, so that earlier line numbers stay valid
        lines[begin - 1 : end] = text
    return "\n".join(lines)


def _changes(old: Block, new: Block, lines: list[str]) -> Iterator[Change]:
    """Yield each change: first line, order among changes at that line, last line (first - 1 if inserted), and code."""
    defined = {_name(node): node for node in old.body if _name(node)}
    imports = [node for node in old.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    first, imported = (imports[0].lineno, _last(imports[-1])) if imports else (1, 0)
    waiting: list[list[str]] = []
    for node in new.body:
        text, known = lines[_first(node) - 1 : _last(node)], defined.get(_name(node))
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            yield first, node.lineno, first - 1, text
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            yield imported + 1, node.lineno, imported, text
        elif known is None:
            waiting.append(["", *text] if isinstance(old, ast.ClassDef) else ["", "", *text])
        else:
            yield from _before(_first(known), waiting)
            if isinstance(node, ast.ClassDef) and isinstance(known, ast.ClassDef) and _head(node) == _head(known):
                yield from _changes(known, node, lines)
            else:
                yield _first(known), len(lines), _last(known), text
    yield from _before(_last(old.body[-1]) + 1, waiting)


def _before(line: int, waiting: list[list[str]]) -> Iterator[Change]:
    yield from ((line, place, line - 1, text) for place, text in enumerate(waiting))
    waiting.clear()


def _name(node: ast.stmt) -> str:
    """Return the name that a statement defines, or ""."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return node.name
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return targets[0].id if len(targets) == 1 and isinstance(targets[0], ast.Name) else ""


def _first(node: ast.stmt) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", []))])


def _last(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def _head(node: ast.ClassDef) -> str:
    return ast.dump(ast.ClassDef(node.name, node.bases, node.keywords, [], node.decorator_list))

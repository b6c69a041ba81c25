"""Correct ways to write what students write, to see that each of them gets full marks. Never shipped to students.

They lie in `formulations/` of an assignment: `FORMULATIONS` lists texts that take the place of solution regions, and
each folder in it is a set of modules that somebody wrote without looking at the solution.
"""

import importlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from textwrap import dedent, indent

from autograder.authoring.release import find_regions, functions_of
from autograder.manifest import Assignment, package_of
from autograder.submissions.read_submission import Submission, read_submission


@dataclass(frozen=True)
class Formulation:
    """A correct way to write parts of one module."""

    id: str
    module: str
    regions: Mapping[str, tuple[str, ...]]  # "Class.method" or "function" -> the text of each of its regions, in order
    imports: str = ""  # what the student imports in addition
    # Whether the result for a query that may attend to nothing is finite, as a docstring asks. Graded comparisons
    # leave such queries out, since NaN is what the widespread filling with -inf gives.
    finite: bool = True

    def apply(self, sources: Mapping[str, str]) -> dict[str, str]:
        """The reference modules with this formulation in place of the solution's.

        Raises:
            ValueError: if the module does not have the regions that the formulation replaces.
        """
        lines = sources[self.module].split("\n")
        regions = find_regions(lines, f"{self.module}.py")
        functions = functions_of(regions, lines, f"{self.module}.py")
        found = Counter(functions)
        for function, texts in self.regions.items():
            if len(texts) != found[function]:
                raise ValueError(
                    f"{self.id} has {len(texts)} text(s) for the {found[function]} region(s) of {function} in "
                    f"{self.module}.py"
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
    """The formulations of an assignment."""
    if not (assignment.folder / "formulations" / "__init__.py").is_file():
        return ()
    module = importlib.import_module(f"{package_of(assignment.name)}.formulations")
    return tuple(getattr(module, "FORMULATIONS", ()))


def correct_submissions(assignment: Assignment) -> dict[str, tuple[Submission, set[str]]]:
    """The known correct submissions but the solution, by name, each with the modules that were written anew."""
    solution = read_submission(assignment.solution, assignment).sources
    found = {one.id: (Submission(one.id, one.apply(solution)), {one.module}) for one in formulations(assignment)}
    top = assignment.folder / "formulations"
    for folder in sorted({file.parent for module in assignment.modules for file in top.rglob(f"*/{module}.py")}):
        written = read_submission(folder, assignment).sources
        found[folder.name] = (Submission(folder.name, solution | written), set(written))
    return found

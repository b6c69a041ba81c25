"""Other formulations of what students write: texts that take the place of the solution regions."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent, indent

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"


@dataclass(frozen=True)
class Formulation:
    """A correct way to write parts of one module."""

    id: str
    module: str
    regions: Mapping[str, tuple[str, ...]]  # "Class.function" or "function" -> the text of each of its regions, in order
    imports: str = ""  # what the student imports in addition
    # Whether the result for a query that may attend to nothing is finite, as the docstring asks. Graded comparisons
    # leave such queries out, since NaN is what the widespread filling with -inf gives.
    finite: bool = True


def apply(formulation: Formulation, solution_dir: Path) -> dict[str, str]:
    """The sources of the modules in a folder, with the formulation in place of the solution's.

    Raises:
        ValueError: if the module does not have the regions that the formulation replaces.
    """
    sources = {path.stem: path.read_text(encoding="utf-8") for path in solution_dir.glob("*.py")}
    sources[formulation.module] = _replace(sources[formulation.module], formulation)
    return sources


def _replace(source: str, formulation: Formulation) -> str:
    texts = {function: list(regions) for function, regions in formulation.regions.items()}
    lines: list[str] = []
    class_name = function = ""
    imports, inside, replaced = formulation.imports, False, False
    for line in source.splitlines():
        if found := re.match(r"class (\w+)", line):
            class_name = found[1]
        elif found := re.match(r"def (\w+)", line):
            class_name, function = "", found[1]
        elif class_name and (found := re.match(r"    def (\w+)", line)):
            function = f"{class_name}.{found[1]}"
        if imports and line.startswith(("import ", "from ")):
            lines.append(imports)
            imports = ""
        if line.strip() == BEGIN:
            inside = True
            if replaced := function in texts:
                if not texts[function]:
                    raise ValueError(f"{formulation.id} has too few texts for the regions of {function}")
                spaces = " " * (len(line) - len(line.lstrip()))
                lines.append(indent(dedent(texts[function].pop(0)).strip("\n"), spaces))
        elif line.strip() == END:
            inside = False
        elif not (inside and replaced):
            lines.append(line)
    if left := [function for function, rest in texts.items() if rest]:
        raise ValueError(f"{formulation.id} has more texts than there are regions in {', '.join(left)}")
    return "\n".join(lines) + "\n"

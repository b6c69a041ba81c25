"""Read an assignment.toml and check that all files and tests that it names exist."""

import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from autograder.forbidden.parts import WRITTEN, part
from autograder.manifest.assignment import Assignment, Stage
from autograder.manifest.table import Table
from course.errors import UserError
from course.location import checkpoints, inside

TEST = re.compile(r"^ +def (test_\w+)\(", re.MULTILINE)


def parse(path: Path) -> dict[str, Any]:
    """Return the content of a manifest without checking it.

    Raises:
        UserError: if it cannot be read.
    """
    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except (OSError, ValueError) as error:
        raise UserError(f"{inside(path)} cannot be read: {error}") from error


def read(path: Path) -> Assignment:
    """Read and check a manifest.

    Raises:
        UserError: if something is missing or wrong; the message is a sentence that names file and key.
    """
    table = Table(parse(path), inside(path))
    folder = path.parent
    if not folder.name.isidentifier():
        raise UserError(f"{inside(folder)}: the name of an assignment must be a Python name of letters, digits and _")
    order, title = table.take("order", int), table.take("title", str)
    modules = table.names("modules")
    for module in modules:
        if not module.isidentifier():
            table.wrong("modules", f"names {module!r}, which is not a valid module name")
        if not (folder / "standins" / f"{module}.py").is_file():
            table.wrong("modules", f"names {module}, but there is no standins/{module}.py")
    entries = table.take("stage", list)
    if not modules or not entries:
        table.wrong("stage" if modules else "modules", "must not be empty")
    everywhere = _parts(table)
    stages: list[Stage] = []
    for number, entry in enumerate(entries, start=1):
        if type(entry) is not dict:
            table.wrong("stage", "must be a list of tables: write [[stage]]")
        where = f"{inside(path)}, stage {number}"
        stages.append(_stage(Table(entry, where), folder, number, modules, stages, everywhere))
    assignment = Assignment(
        name=folder.name,
        order=order,
        title=title,
        modules=modules,
        checkpoints=_checkpoints(table),
        end_to_end=table.take("end_to_end", str, ""),
        stages=tuple(stages),
        more_notebooks=table.names("more_notebooks", []),
        goal=table.take("goal", str, ""),
    )
    if assignment.end_to_end and not any(assignment.end_to_end in stage.points for stage in stages):
        table.wrong("end_to_end", f"names {assignment.end_to_end}, which no stage gives points for")
    for notebook in assignment.more_notebooks:
        _notebook(table, "more_notebooks", notebook, (stage.notebook for stage in stages))
    if idle := set(modules) - {module for stage in stages for module in stage.modules}:
        table.wrong("modules", f"names {', '.join(sorted(idle))}, in which no stage writes anything")
    table.end()
    return assignment


def _stage(
    table: Table,
    folder: Path,
    number: int,
    modules: tuple[str, ...],
    earlier: list[Stage],
    everywhere: tuple[tuple[str, ...], tuple[str, ...]],
) -> Stage:
    """Read a stage and check it against the earlier ones.

    Args:
        everywhere: the parts that the assignment forbids, and those that it allows.
    """
    name = table.take("name", str)
    if not name.isidentifier():
        table.wrong("name", f"must consist of letters, digits and _, not {name!r}")
    table.where += f" ({name})"
    if any(stage.name == name for stage in earlier):
        table.wrong("name", "is already the name of an earlier stage")
    title, notebook = table.take("title", str), table.take("notebook", str, f"{number}_{name}.ipynb")
    _notebook(table, "notebook", notebook, (stage.notebook for stage in earlier))
    writes = table.names("writes")
    for written in writes:
        module, *path = written.split(".")
        if module not in modules:
            table.wrong("writes", f"names {written}, but {module} is not a module of the assignment")
        if len(path) not in (1, 2) or not all(part.isidentifier() for part in path):
            table.wrong("writes", f"names {written!r}; it should be module.Class.method or module.function")
        if any(written in stage.writes for stage in earlier):
            table.wrong("writes", f"names {written}, which an earlier stage writes")
    builds_on = table.names("builds_on", [])
    for other in builds_on:
        if not any(stage.name == other for stage in earlier):
            table.wrong("builds_on", f"names {other}, which is not an earlier stage")
    calls = table.names("calls", list(builds_on))
    if strange := set(calls) - set(builds_on):
        table.wrong("calls", f"names {min(strange)}, which is not in builds_on")
    tests = table.take("tests", str, f"test_{name}")
    points, parts = _points(Table(table.take("points", dict), f"{table.where}, points"), earlier)
    if not writes or not points:
        table.wrong("points" if writes else "writes", "must not be empty")
    _tests(table, folder, tests, points)
    grades = _grades(Table(table.take("grades", dict, {}), f"{table.where}, grades"), writes, points, parts)
    uses = _uses(Table(table.take("uses", dict, {}), f"{table.where}, uses"), writes)
    extra_credit = table.take("extra_credit", bool, False)
    forbids, allows = _parts(table)  # these take precedence over the assignment's
    forbids, allows = _with(forbids, everywhere[0], allows), _with(allows, everywhere[1], forbids)
    table.end()
    return Stage(
        *(folder.name, number, name, title, notebook, writes, tests, points, parts, builds_on, extra_credit),
        *(grades, uses, calls, forbids, allows),
    )


def _parts(table: Table) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the parts of torch that a table forbids and the parts that it allows."""
    forbids, allows = table.names("forbids", []), table.names("allows", [])
    for key, names in (("forbids", forbids), ("allows", allows)):
        for name in names:
            if not WRITTEN.fullmatch(name) or (key == "allows" and "(" in name):
                table.wrong(key, f"names {name!r}; it should be like F.layer_norm or nn.LayerNorm")
    if both := [name for name in allows if part(name) in {*map(part, forbids)}]:
        table.wrong("allows", f"names {both[0]}, which is also in forbids")
    return forbids, allows


def _with(parts: tuple[str, ...], everywhere: tuple[str, ...], against: tuple[str, ...]) -> tuple[str, ...]:
    """Add the assignment's parts to the stage's own parts, unless the stage specifies otherwise."""
    known = {*map(part, parts), *map(part, against)}
    return (*parts, *(name for name in everywhere if part(name) not in known))


def _notebook(table: Table, key: str, name: str, others: Iterable[str]) -> None:
    """Check that a notebook's name is valid and unique."""
    if Path(name).suffix != ".ipynb" or Path(name).name != name:
        table.wrong(key, f"must name a notebook like 1_first.ipynb, not {name!r}")
    if name in others:
        table.wrong(key, f"names {name}, which belongs to a stage already")


def _points(table: Table, earlier: list[Stage]) -> tuple[dict[str, float], dict[str, dict[str, float]]]:
    """Return the points for tests and their parts."""
    points: dict[str, float] = {}
    parts: dict[str, dict[str, float]] = {}
    for test, given in table.rest().items():
        if any(test in stage.points for stage in earlier):
            table.wrong(test, "is already in an earlier stage")
        if isinstance(given, dict):
            parts[test] = {name: _number(table, f"{test}.{name}", value) for name, value in given.items()}
            if not given:
                table.wrong(test, "has no parts: give it a number, or name its parts")
        points[test] = sum(parts[test].values()) if test in parts else _number(table, test, given)
    return points, parts


def _grades(
    table: Table, writes: tuple[str, ...], points: dict[str, float], parts: dict[str, dict[str, float]]
) -> dict[str, str]:
    """Return the function that each test or part grades."""
    grades: dict[str, str] = {}
    for function, names in _of_functions(table, writes).items():
        for name in names:
            test, _, part = name.partition(".")
            if test not in points or (part and part not in parts.get(test, ())):
                table.wrong(function, f"names {name}, which is neither a test of this stage nor a part of one")
            if name in grades:
                table.wrong(function, f"names {name}, which {grades[name]} names too")
            grades[name] = function
    return grades


def _uses(table: Table, writes: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Return the functions that each function uses in its own stage, directly or indirectly."""
    uses = {function: list(names) for function, names in _of_functions(table, writes).items()}
    for function, used in uses.items():
        for name in used:  # the list grows during the loop
            if name not in writes:
                table.wrong(function, f"names {name}, which students do not write in this stage")
            used += [more for more in uses.get(name, ()) if more not in used]
        if function in used:
            table.wrong(function, "uses itself: its own stand-in would answer its tests")
    return {function: tuple(used) for function, used in uses.items()}


def _of_functions(table: Table, writes: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Read a table of lists whose keys are functions that students write in this stage."""
    entries = table.rest()
    if strange := set(entries) - set(writes):
        table.wrong(min(strange), "is not a function that students write in this stage")
    return {function: Table(entries, table.where).names(function) for function in entries}


def _number(table: Table, key: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < float("inf"):
        table.wrong(key, f"must be a number of points above 0, not {value!r}")
    return value


def _tests(table: Table, folder: Path, module: str, points: dict[str, float]) -> None:
    """Check that the visible tests exist, and the hidden tests too if there is a hidden folder."""
    for kind in ("visible", "hidden"):
        if kind == "hidden" and not (folder / kind).is_dir():
            continue  # students do not receive the hidden tests
        if not (folder / kind / f"{module}.py").is_file():
            table.wrong("tests", f"names {module}, but there is no {kind}/{module}.py")
        texts = [path.read_text(encoding="utf-8") for path in (folder / kind).glob("*.py")]
        defined = {name for text in texts for name in TEST.findall(text)}  # a base class may be in a different file
        if missing := points.keys() - defined:
            table.wrong("points", f"names {min(missing)}, but no file in {kind}/ defines it")
        names = TEST.findall((folder / kind / f"{module}.py").read_text(encoding="utf-8"))
        if extra := set(names) - points.keys():
            table.wrong("points", f"lacks {min(extra)}, which {kind}/{module}.py defines")


def _checkpoints(table: Table) -> tuple[str, ...]:
    names = table.names("checkpoint", [], single=True)
    for name in names:
        if checkpoints().is_dir() and not (checkpoints() / name).is_dir():
            table.wrong("checkpoint", f"names {name}, but there is no folder checkpoints/{name}")
    return names

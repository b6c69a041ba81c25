"""Assemble the code of a stage: the student's modules for the graded code, stand-ins for all other stages."""

from collections.abc import Set
from dataclasses import replace
from functools import cache
from pathlib import Path

from autograder.manifest import Assignment, Stage, assignment
from autograder.sandbox.remote_values import Code
from autograder.sandbox.wire import STANDIN
from autograder.submissions.read_submission import Submission
from autograder.submissions.syntax_tree import functions


def code_of_stage(
    submission: Submission,
    stage: Stage,
    assignment: Assignment,
    reported: dict[str, str],
    forbidden: Set[str] = frozenset(),
) -> Code:
    """Return the modules of a stage as the student wrote them, and stand-ins for the code of all other stages.

    Args:
        reported: modules that cannot be imported, each with the name of the earlier stage that reports this.
        forbidden: modules with forbidden code; other stages take no helpers from them.
    """
    # Code of later stages is not needed, and could only be copied from a stand-in.
    later = [other for other in assignment.stages if other is not stage and other.name not in stage.builds_on]
    unneeded = tuple(written for other in later for written in other.writes)
    names = dict.fromkeys([*assignment.modules, *_drivers(assignment)])
    standins = {name: ungraded(assignment.standins, name, unneeded) for name in names}
    student = {module: submission.sources.get(module, "") for module in stage.modules}
    others = [written.split(".", 1) for other in assignment.stages if other is not stage for written in other.writes]
    replaced = {module: [path for owner, path in others if owner == module] for module in assignment.modules}
    replaced = {module: paths for module, paths in replaced.items() if paths}
    withheld = {module: f"{module}.py contains something that is not allowed" for module in forbidden}
    withheld |= {module: f"{module}.py cannot be imported (see stage {name})" for module, name in reported.items()}
    withheld |= submission.unreadable
    withheld = {module: why for module, why in withheld.items() if module not in stage.modules}
    return Code(
        sources={
            **standins,
            **student,
            **{
                STANDIN + module: ungraded(assignment.standins, module, (*stage.writes, *unneeded))
                for module in stage.modules
                if module in replaced
            },
        },
        replace=replaced,
        modules=stage.modules,
        unreadable=submission.unreadable,
        reported=reported,
        lent={
            module: text
            for module, text in submission.sources.items()
            if module not in stage.modules and module not in withheld
        },
        withheld=withheld,
        locked=_locked(stage, assignment),
        graded=tuple((module, path) for module, _, path in (written.partition(".") for written in stage.writes)),
        forbids=stage.forbids,
        allows=stage.allows,
    )


def _locked(stage: Stage, assignment: Assignment) -> dict[str, list[str]]:
    """Return the stand-in functions that this stage must not call, keyed by module."""
    locked: dict[str, list[str]] = {}
    for other in assignment.stages:
        if other is not stage and other.name not in stage.calls:
            for module, _, path in (written.partition(".") for written in other.writes):
                locked.setdefault(module, []).append(path)
    return locked


def _drivers(assignment: Assignment) -> list[str]:
    """Return the modules (`drivers`) that tests run in the worker besides the student's modules, if there are any."""
    return sorted({path.stem for path in assignment.standins.glob("[!_]*.py")} - set(assignment.modules))


def with_standins(code: Code, stage: Stage, used: tuple[str, ...]) -> Code:
    """Return the code of a stage with stand-ins for some functions that students write in the stage itself.

    Args:
        used: "module.function" or "module.Class.method": functions that a test uses but does not grade.
    """
    standins, graded = assignment(stage.assignment).standins, tuple(path for path in stage.writes if path not in used)
    sources, replaced = dict(code.sources), {module: list(paths) for module, paths in code.replace.items()}
    for module, _, path in (written.partition(".") for written in used):
        sources[STANDIN + module] = ungraded(standins, module, graded)
        replaced.setdefault(module, []).append(path)
    return replace(code, sources=sources, replace=replaced)


def ungraded(standins: Path, module: str, written: tuple[str, ...]) -> str:
    """Return a stand-in without the given functions and methods, which the student's code could otherwise call."""
    lines, places = standin(standins / f"{module}.py")
    gone = {number for name in written for number in places.get(name, ())}
    return "".join(line for number, line in enumerate(lines, start=1) if number not in gone)


@cache
def standin(path: Path) -> tuple[list[str], dict[str, range]]:
    """Return the lines of a stand-in, and the line numbers of its functions and methods, named as in the manifest."""
    text = path.read_text(encoding="utf-8")
    places = {}
    for name, node in functions(path.stem, text).items():
        first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
        places[name] = range(first, (node.end_lineno or first) + 1)
    return text.splitlines(keepends=True), places


def with_own_methods(code: Code) -> Code:
    """Keep the student's own methods in the student's modules, even methods that other stages grade."""
    return replace(
        code, replace={module: paths for module, paths in code.replace.items() if module not in code.modules}
    )


def code_of_all(submission: Submission, assignment: Assignment) -> Code:
    """Return the drivers and all modules as the student wrote them, with no stand-ins."""
    sources = {name: ungraded(assignment.standins, name, ()) for name in _drivers(assignment)}
    sources |= {module: submission.sources.get(module, "") for module in assignment.modules}
    return Code(sources, replace={}, modules=assignment.modules, unreadable=submission.unreadable)

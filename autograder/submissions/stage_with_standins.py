"""The code of a stage: the student's modules for what it grades, stand-ins for everything that other stages grade."""

import ast
from dataclasses import replace
from functools import cache
from pathlib import Path

from autograder.manifest import Assignment, Stage, assignment
from autograder.sandbox.inside_worker import STANDIN
from autograder.sandbox.proxy import Code
from autograder.submissions.read_submission import Submission


def code_of_stage(submission: Submission, stage: Stage, assignment: Assignment, reported: dict[str, str]) -> Code:
    """The modules of a stage as the student wrote them, and stand-ins for everything that other stages grade.

    Args:
        reported: modules whose failed import an earlier stage reports, with the name of that stage.
    """
    standins = {module: _standin(assignment.standins, module) for module in assignment.modules}
    student = {module: submission.sources.get(module, "") for module in stage.modules}
    others = [written.split(".", 1) for other in assignment.stages if other is not stage for written in other.writes]
    replaced = {module: [path for owner, path in others if owner == module] for module in stage.modules}
    replaced = {module: paths for module, paths in replaced.items() if paths}
    return Code(
        sources={
            **standins,
            **student,
            **{STANDIN + module: ungraded(assignment.standins, module, stage.writes) for module in replaced},
        },
        replace=replaced,
        modules=stage.modules,
        unreadable=submission.unreadable,
        reported=reported,
    )


def with_standins(code: Code, stage: Stage, used: tuple[str, ...]) -> Code:
    """The code of a stage with stand-ins for some of what the stage itself has students write.

    Args:
        used: "module.function" or "module.Class.method", what a test uses and does not grade.
    """
    standins, graded = assignment(stage.assignment).standins, tuple(path for path in stage.writes if path not in used)
    sources, replaced = dict(code.sources), {module: list(paths) for module, paths in code.replace.items()}
    for module, _, path in (written.partition(".") for written in used):
        sources[STANDIN + module] = ungraded(standins, module, graded)
        replaced.setdefault(module, []).append(path)
    return replace(code, sources=sources, replace=replaced)


@cache
def _standin(folder: Path, module: str) -> str:
    return (folder / f"{module}.py").read_text(encoding="utf-8")


@cache
def ungraded(standins: Path, module: str, graded: tuple[str, ...]) -> str:
    """The stand-in of a module without what is graded now: it lies where the student's code can reach it."""
    tree = ast.parse(_standin(standins, module))
    tree.body = [node for node in tree.body if f"{module}.{getattr(node, 'name', '')}" not in graded]
    for part in tree.body:
        if isinstance(part, ast.ClassDef):
            prefix = f"{module}.{part.name}."
            part.body = [node for node in part.body if prefix + getattr(node, "name", "") not in graded]
    return ast.unparse(tree)


def code_of_all(submission: Submission, assignment: Assignment) -> Code:
    """All modules as the student wrote them, without stand-ins."""
    sources = {module: submission.sources.get(module, "") for module in assignment.modules}
    return Code(sources, replace={}, modules=assignment.modules, unreadable=submission.unreadable)

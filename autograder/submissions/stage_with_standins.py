"""The code of a stage: the student's modules for what it grades, stand-ins for everything that other stages grade."""

import ast
from functools import cache
from pathlib import Path

from autograder.manifest import Assignment, Stage
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
    replace = {module: [path for owner, path in others if owner == module] for module in stage.modules}
    replace = {module: paths for module, paths in replace.items() if paths}
    return Code(
        sources={
            **standins,
            **student,
            **{STANDIN + module: ungraded(assignment.standins, module, stage.writes) for module in replace},
        },
        replace=replace,
        modules=stage.modules,
        unreadable=submission.unreadable,
        reported=reported,
    )


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

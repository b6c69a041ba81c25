"""Stand-ins behave like the solution in all calls between stages."""

import ast
import copy
from collections.abc import Iterable, Iterator
from dataclasses import replace

from autograder.authoring.audit.subject import SEED, Subject
from autograder.sandbox.remote_values import Code
from autograder.sandbox.wire import STANDIN
from autograder.submissions.read_submission import Submission
from autograder.submissions.stage_with_standins import code_of_all, with_standins
from autograder.submissions.syntax_tree import functions

PROMISE = "stand-ins match the solution in calls between stages"
QUICK = None
# Makes a student module a copy of its stand-in.
AS_MODULE = """
import {} as standin

globals().update((name, value) for name, value in vars(standin).items() if not name.startswith("__"))
"""


def items(subject: Subject) -> Iterable[str]:
    names = [stage.name for stage in subject.assignment.stages]
    return (
        *(f"interface of {module}" for module in subject.assignment.modules),
        *(f"solution around {name}" for name in names),
        *(f"stand-ins as {name}" for name in names),
        *(f"what is used by {function}" for stage in subject.assignment.stages for function in stage.uses),
    )


def problems(subject: Subject, item: str) -> Iterator[str]:
    kind, _, name = item.rpartition(" ")
    if kind == "interface of":
        yield from _interface(subject, name)
        return
    if kind == "what is used by":
        stage = next(stage for stage in subject.assignment.stages if name in stage.uses)
        for ran in subject.run(with_standins(subject.code(subject.solution, stage), stage, stage.uses[name]), stage):
            for part in ran.result.parts or (ran.result,):
                if part.status != "passed" and stage.graded_by(ran.result.name, part.name) == name:
                    yield f"with stand-ins for the functions that {name} uses, {ran}"
        return
    stage = subject.assignment.stage(name)
    sources = subject.solution
    if kind == "stand-ins as":
        sources = standins(subject)
        if not all(written in signatures(sources, written.partition(".")[0]) for written in stage.writes):
            return  # no stage builds on it; see the manifest check
    code: Code = code_of_all(Submission("audit", sources), subject.assignment)
    if kind == "stand-ins as":  # ready-made parts are allowed in stand-ins only
        code = replace(code, sources=code.sources | {STANDIN + module: text for module, text in sources.items()})
        code = replace(code, sources=code.sources | {module: AS_MODULE.format(STANDIN + module) for module in sources})
    for seed in (None, SEED):
        for ran in subject.run(code, stage, seed):
            if not ran.passed:
                yield f"{'visible' if seed is None else 'hidden'} {ran}"


def _interface(subject: Subject, module: str) -> Iterator[str]:
    """Check that a stand-in's functions take the same arguments as the solution's."""
    theirs, ours = (signatures(sources, module) for sources in (subject.solution, standins(subject)))
    for name, arguments in ours.items():
        if name in theirs and arguments != theirs[name]:
            yield f"{name} takes {arguments} in the stand-in, but {theirs[name]} in the solution"


def standins(subject: Subject) -> dict[str, str]:
    """Return the source code of the stand-ins, in the form of a student's submission."""
    folder = subject.assignment.standins
    return {module: (folder / f"{module}.py").read_text(encoding="utf-8") for module in subject.assignment.modules}


def signatures(sources: dict[str, str], module: str) -> dict[str, str]:
    """Return the argument names and defaults of each function and method in a module."""
    return {name: _arguments(function.args) for name, function in functions(module, sources[module]).items()}


def _arguments(arguments: ast.arguments) -> str:
    """Format arguments without their types."""
    arguments = copy.deepcopy(arguments)
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        argument.annotation = None
    return f"({ast.unparse(arguments)})"

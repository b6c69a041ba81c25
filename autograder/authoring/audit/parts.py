"""Parts that a stage forbids are rejected under every name that they have in torch; allowed parts are accepted."""

import difflib
import inspect
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from types import ModuleType
from typing import Any

from autograder.authoring.audit.subject import Subject
from autograder.forbidden.parts import named, named_arguments, part, plain
from autograder.forbidden.rules import check_modules
from autograder.grading.forbidden_parts import is_forbidden, parts_of, stages_of
from autograder.manifest import Stage
from autograder.sandbox.remote_modules import Student

PROMISE = "what the manifest forbids in a stage is refused there under any name"
QUICK = None
# Runs in a worker of the stage and returns which of torch's names are refused. The text search detects none of them.
PROBE = """
import torch
def refused():
    answers = []
    for path, arguments in CALLS:
        value = (lambda library: library)(torch)
        try:
            for name in path.split(".")[1:]:
                value = getattr(value, name)
            value(**arguments)
        except Exception as error:
            # Names that the worker removes from torch raise AttributeError.
            answers.append(type(error).__name__ in ("ReadyMade", "AttributeError"))
        else:
            answers.append(False)
    return answers
"""


def items(subject: Subject) -> Iterable[str]:
    for stage in subject.assignment.stages:
        yield from (f"{stage.name} forbids {written}" for written in stage.forbids)
        yield from (f"{stage.name} allows {written}" for written in stage.allows)


def problems(subject: Subject, item: str) -> Iterator[str]:
    name, word, written = item.split(" ", 2)
    stage = subject.assignment.stage(name)
    paths = names_of(written)
    if not paths:
        close = difflib.get_close_matches(part(written).name, {plain(path.split(".")[-1]) for path in public()})
        yield f"torch has nothing with that name{f'; did you mean {close[0]}?' if close else ''}"
    argument = part(written).argument
    for path in paths:
        for text in uses(path, argument, stage):
            if searched(text, subject, stage) != (word == "forbids"):
                yield f"the text search {'misses' if word == 'forbids' else 'refuses'} {text!r}"
    calls = [(path, {argument: 0.5} if argument else {}) for path in paths]
    (module, *_), probe = stage.modules, f"CALLS = {calls!r}\n{PROBE}"
    code = subject.code(subject.solution, stage)
    student = Student(subject.workers, replace(code, sources={**code.sources, module: probe}, modules=(module,)))
    try:
        answers = getattr(student, module).refused()
    finally:
        student.close()
    for path, refused in zip(paths, answers, strict=True):
        if refused != (word == "forbids"):
            yield f"a worker {'lets' if word == 'forbids' else 'does not let'} code call {path}"


def searched(text: str, subject: Subject, stage: Stage) -> bool:
    """Whether the stage gets no points if its first module has this source code."""
    module, assignment = stage.modules[0], subject.assignment
    findings, _ = check_modules({module: text}, {}, parts_of(assignment))
    return any(
        is_forbidden(finding, stage) and stage in stages_of(module, finding.scope, assignment)
        for _, finding in findings
    )


def uses(path: str, argument: str, stage: Stage) -> Iterator[str]:
    """Yield modules in which the stage's code uses a part of torch; each module imports it in a different way."""
    module, _, name = path.rpartition(".")
    given = f"(x, {argument}=0.5)" if argument else "(x)"
    *owners, function = stage.writes[0].split(".")[1:]
    for before, used in (
        ("import torch\n", path),
        (f"import {module} as m\n", f"m.{name}"),
        (f"from {module} import {name} as part\n", "part"),
        (f"from {module} import *\n", name),
        (f"from functools import partial\nfrom {module} import {name} as p\n", "partial(p, x)" if not argument else ""),
    ):
        line = f"def {function}(x):\n    return {used}{given}\n"
        if used and name not in owners:
            yield (
                before
                + "".join(f"class {owner}:\n" for owner in owners)
                + (line if not owners else "    " + line.replace("\n    ", "\n        "))
            )


@cache
def public() -> dict[str, Any]:
    """Return the objects with public names in torch, by path; torch's private names refer to the same objects."""
    import torch
    import torch.masked  # noqa: F401

    places = ("torch.nn", "torch.optim", "torch.special", "torch.masked", "torch.functional")
    modules = {path: sys.modules[path] for path in list(sys.modules) if path == "torch" or path.startswith(places)}
    return {
        f"{path}.{name}": value
        for path, module in modules.items()
        if "._" not in path
        for name, value in list(vars(module).items())
        if not name.startswith("__")
    }


def names_of(written: str) -> list[str]:
    """Return the paths in torch under which a part can be called."""
    argument, paths = part(written).argument, []
    private = written.rpartition(".")[2].startswith("_")
    for path, value in public().items():
        if private != path.rpartition(".")[2].startswith("_"):
            continue
        if argument:
            if named_arguments(path, argument, [written]) and argument in inspect.signature(value).parameters:
                paths.append(path)
        elif named(path, [written]) and isinstance(value, ModuleType):
            members = [
                name for name, member in vars(value).items() if str(getattr(member, "__module__", "")).startswith(path)
            ]
            paths += [f"{path}.{name}" for name in members if not name.startswith("_")]
        elif named(path, [written]) and callable(value):
            paths.append(path)
    return sorted(paths)

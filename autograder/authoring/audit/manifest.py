"""The manifest is complete, and everything that it names exists."""

import sys
from collections.abc import Iterable, Iterator

from autograder.authoring.audit.standins import signatures, standins
from autograder.authoring.audit.subject import Subject
from autograder.authoring.stubs import make_stubs
from autograder.grading.check_machine import damage, missing
from autograder.grading.run_test import stage_tests
from autograder.manifest import Stage
from course.config import WEIGHTS
from course.errors import UserError
from course.location import checkpoints

PROMISE = "the manifest is complete, and what it names exists"
QUICK = None


def items(subject: Subject) -> Iterable[str]:
    return ("the assignment", *(f"stage {stage.name}" for stage in subject.assignment.stages))


def problems(subject: Subject, item: str) -> Iterator[str]:
    chosen = subject.assignment
    if item != "the assignment":
        yield from _of_stage(subject, chosen.stage(item.removeprefix("stage ")))
        return
    try:
        make_stubs(chosen.solution, chosen)
    except UserError as error:
        yield str(error)
    for notebook in chosen.notebooks:
        if not (chosen.solution / notebook).is_file():
            yield f"there is no {notebook} in solutions/{chosen.name}"
    for module in set(chosen.modules) & set(sys.stdlib_module_names):
        yield f"{module}.py hides a module of Python's standard library"
    for name in chosen.checkpoints:
        if what := damage(checkpoints() / name / WEIGHTS) or missing(checkpoints() / name):
            yield f"checkpoint {name}: {what}"
    if not (chosen.folder / "make_expected.py").is_file():
        yield "there is no make_expected.py, which computes the stored tensors"


def _of_stage(subject: Subject, stage: Stage) -> Iterator[str]:
    chosen = subject.assignment
    for kind in ("visible", "hidden"):
        try:
            for name, case in stage_tests(stage, hidden=kind == "hidden").items():
                title = case.shortDescription() or ""
                if not title.endswith(".") or not title[:1].isupper():
                    yield f"the docstring of the {kind} {name} is not a sentence; students read it as the test's title"
        except (ImportError, LookupError) as error:
            yield f"the {kind} tests cannot be loaded: {error}"
    if not (chosen.expected / f"{stage.name}.safetensors").is_file():
        yield f"there is no expected/{stage.name}.safetensors: python -m autograder expected writes it"
    if not any(set(stage.modules) & modules for _, modules in subject.correct.values()):
        yield "no correct formulation is known besides the solution: add one to formulations/"
    if not any(mistake.stage == stage.name for mistake in subject.mistakes.values()):
        yield "no mistake is known: add one to mistakes/"
    if len(stage.writes) > 1:
        every = {(test, part) for test in stage.points for part in stage.parts.get(test, [""])}
        for test, part in sorted(one for one in every if not stage.graded_by(*one)):
            yield (
                f"the manifest does not say which function {test}.{part}".rstrip(".")
                + " grades, so a slip may cost points twice"
            )
        for function in sorted(set(stage.writes) - {stage.graded_by(*one) for one in every}):
            yield f"no test or part of a test grades {function}"
    needed = {one for other in chosen.stages if stage.name in other.builds_on for one in stage.writes}
    for written in sorted(needed):
        if written not in signatures(standins(subject), written.partition(".")[0]):
            yield f"the stand-ins lack {written}, although other stages build on this stage"

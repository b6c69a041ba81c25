"""Each known mistake changes code only in its stage; the tests detect it and name it."""

import ast
from collections.abc import Iterable, Iterator

from autograder.authoring.audit.subject import SEED, Ran, Subject
from autograder.authoring.stubs import strip_module
from autograder.diagnosis.mistake_signatures import ELSEWHERE, known_signatures, name_mistakes, only_through
from autograder.diagnosis.mistakes import Mistake
from autograder.grading.run_test import GRADED
from autograder.submissions.syntax_tree import functions
from course.errors import UserError

PROMISE = "every mistake is caught, and named or declared; warnings about hidden tests are correct"
QUICK = 20


def items(subject: Subject) -> Iterable[str]:
    return subject.mistakes


def problems(subject: Subject, item: str) -> Iterator[str]:
    mistake = subject.mistakes[item]
    if wrong := list(_change(subject, mistake)):
        yield from wrong
        return
    visible = subject.run_mistake(item)
    if faults := [ran for ran in visible if ran.result.status == "fault"]:
        yield f"the grader failed in {faults[0]}"
    elif all(ran.passed for ran in visible):
        if mistake.seen_by == "visible":
            yield 'no visible test detects it; if that cannot be changed, declare seen_by="hidden"'
        elif all(ran.passed for ran in subject.run_mistake(item, SEED)):
            yield "no hidden test detects it"
    elif mistake.seen_by == "hidden":
        yield 'a visible test detects it, although it declares seen_by="hidden"'
    elif not mistake.random:
        yield from _named(subject, mistake)
    yield from _warned(subject, item, visible)


def _warned(subject: Subject, item: str, visible: tuple[Ran, ...]) -> Iterator[str]:
    """Check that each warning correctly says whether hidden tests deduct points for the mistake.

    If a warning says that hidden tests deduct points, one of the stage's hidden tests must do so. Otherwise, the hidden
    test of the same name must not deduct any points. If a test fails, warnings about the same function are not shown;
    see `run_test`.
    """
    if not all(ran.passed for ran in visible):
        return
    for number, ran in enumerate(visible):
        if not ran.passed or not ran.result.message:
            continue
        hidden = subject.run_mistake(item, SEED)
        deducting = [one for one in hidden if not one.passed]
        if not deducting if GRADED[True] in ran.result.details else hidden[number] in deducting:
            yield f"the warning of {ran.result.name} is wrong about whether hidden tests grade it: {hidden[number]}"


def _change(subject: Subject, mistake: Mistake) -> Iterator[str]:
    """Check that the mistake changes code written in its stage, and nothing else."""
    try:
        changed = mistake.apply(subject.solution)[mistake.module]
        before, after = (code_of(mistake.module, text) for text in (subject.solution[mistake.module], changed))
    except (UserError, SyntaxError) as error:
        yield str(error)
        return
    touched = {name for name in before | after if before.get(name) != after.get(name)}
    if not touched:
        yield "it changes nothing but comments"
    if others := touched - set(subject.assignment.stage(mistake.stage).writes):
        yield f"it changes {', '.join(sorted(others))}, which its stage does not write"
    stubs = [strip_module(t, mistake.module, subject.assignment) for t in (subject.solution[mistake.module], changed)]
    if stubs[0] != stubs[1]:
        yield "it changes a line that is given to students"


def code_of(module: str, source: str) -> dict[str, str]:
    """Return the code of each function and method without comments, by the name used in the manifest."""
    return {name: ast.dump(function) for name, function in functions(module, source).items()}


def _named(subject: Subject, mistake: Mistake) -> Iterator[str]:
    """Check that the grader names this mistake, or an earlier mistake that has the same results.

    If an exception was raised in other code, no mistake is named, since that code may be the cause.
    """
    results = subject.run_mistake(mistake.id)
    failed = {ran.result.name: ran.shown for ran in results if not ran.passed and ran.shown}
    passed = [ran.result.name for ran in results if ran.passed]
    known = {ran.result.name: known_signatures(subject.assignment.name, ran.result.name) for ran in results}
    names = {named.mistake for named in name_mistakes(failed, passed, known, "float64").values()}
    if not names and not all(only_through(mistake.module, shown).place == ELSEWHERE for shown in failed.values()):
        yield "it is not named: python -m autograder expected stores its results"
    if wrong := names - {mistake.id, *mistake.same_as}:
        yield f"it is named {', '.join(sorted(wrong))}: declare same_as, or change a test so that they differ"

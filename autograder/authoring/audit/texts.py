"""The ids of mistakes and notebook cells are unique and well-formed, and hints are suitable for students."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator

from autograder.authoring.audit.subject import Subject
from autograder.authoring.release import find_leaks, secret_lines
from autograder.diagnosis.mistakes import Mistake

PROMISE = "ids are unique, hints are sentences without code or solution"
QUICK = None
LONGEST_HINT = 320  # characters
CODE = re.compile(r"\b(torch|self|math)\.\w|\.\w+\(|\w\[|[!=]=|\w=\w|masked_fill|unsqueeze")


def items(subject: Subject) -> Iterable[str]:
    stages = [f"mistakes of {stage.name}" for stage in subject.assignment.stages]
    return ("ids of mistakes and formulations", *stages, *subject.assignment.notebooks)


def problems(subject: Subject, item: str) -> Iterator[str]:
    if item.endswith(".ipynb"):
        yield from _cells(subject, item)
    elif item.startswith("mistakes of "):
        secrets = subject.once("secrets", lambda: secret_lines(subject.assignment.solution, subject.assignment))
        for mistake in subject.mistakes.values():
            if mistake.stage == item.removeprefix("mistakes of "):
                yield from _hints(mistake, secrets)
    else:
        yield from _ids(subject)


def _ids(subject: Subject) -> Iterator[str]:
    from autograder.authoring.formulations import formulations
    from autograder.diagnosis.mistakes import all_mistakes

    mistakes = [mistake.id for mistake in all_mistakes(subject.assignment.name)]
    others = [formulation.id for formulation in formulations(subject.assignment)]
    for name, number in Counter([*mistakes, *others]).items():
        if number > 1:
            yield f"the id {name} occurs {number} times"
    stages = [stage.name for stage in subject.assignment.stages]
    for name in mistakes:
        if not re.fullmatch(r"\w+\.\w+(-\w+)*", name):
            yield f"the id {name} should be the stage, a dot, and words with hyphens between them"
        elif name.partition(".")[0] not in stages:
            yield f"the id {name} does not begin with a stage"
    order = [stages.index(name.partition(".")[0]) for name in mistakes if name.partition(".")[0] in stages]
    if order != sorted(order):
        yield "the mistakes are not listed by stage in teaching order"


def _hints(mistake: Mistake, secrets: set[str]) -> Iterator[str]:
    for hint in (mistake.looks_like, mistake.read_again):
        begin = f"{mistake.id}: the hint {hint[:60]!r}"
        if not re.fullmatch(r"[A-Z].*\w.*[.?]", hint) or "  " in hint:
            yield f"{begin} does not consist of sentences"
        if len(hint) > LONGEST_HINT:
            yield f"{begin} has {len(hint)} characters, more than {LONGEST_HINT}"
        if CODE.search(hint):
            yield f"{begin} contains code"
        for leak in find_leaks({mistake.id: hint}, secrets):
            yield f"a hint contains a line of the solution, {leak}"


def _cells(subject: Subject, notebook: str) -> Iterator[str]:
    cells = json.loads((subject.assignment.solution / notebook).read_text(encoding="utf-8"))["cells"]
    for number, cell in enumerate(cells, start=1):
        if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", cell.get("id", "")):
            yield f"cell {number} needs an id of words with hyphens, not {cell.get('id', '')!r}"
        if cell.get("outputs") or cell.get("execution_count"):
            yield f"cell {number} ({cell.get('id')}) still has outputs: clear them"
    for name, number in Counter(cell.get("id") for cell in cells).items():
        if number > 1:
            yield f"the id {name} occurs {number} times"

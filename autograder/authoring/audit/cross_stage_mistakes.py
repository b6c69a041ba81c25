"""A mistake costs points only in its own stage."""

from collections.abc import Iterable, Iterator

from autograder.authoring.audit.subject import Subject

PROMISE = "a mistake costs nothing in other stages"
QUICK = 3


def items(subject: Subject) -> Iterable[str]:
    return subject.mistakes


def problems(subject: Subject, item: str) -> Iterator[str]:
    mistake = subject.mistakes[item]
    changed = mistake.apply(subject.solution)
    for stage in subject.assignment.stages:
        if stage.name != mistake.stage and subject.code(changed, stage) != subject.code(subject.solution, stage):
            for ran in subject.run(subject.code(changed, stage), stage):
                if not ran.passed:
                    yield f"in stage {stage.name}, {ran}"

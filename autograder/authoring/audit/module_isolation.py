"""Each stage can be written on its own, and a missing stage costs no points in the others."""

from collections.abc import Iterable, Iterator

from autograder.authoring.audit.subject import Subject

PROMISE = "each stage stands alone"
QUICK = 8


def items(subject: Subject) -> Iterable[str]:
    names = [stage.name for stage in subject.assignment.stages]
    return (*(f"only {name}" for name in names), *(f"all but {name}" for name in names))


def problems(subject: Subject, item: str) -> Iterator[str]:
    kind, _, name = item.rpartition(" ")
    written = [stage for stage in subject.assignment.stages if (stage.name == name) == (kind == "only")]
    sources = subject.partly(*(path for stage in written for path in stage.writes))
    for stage in subject.graded(sources, *subject.assignment.stages).stages:
        right = "passed" if any(other.name == stage.name for other in written) else "not started"
        for test in stage.tests:
            if test.status != right:
                yield f"{test.name} should be {right}, but is {test.status}: {test.message}"

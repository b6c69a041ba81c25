"""The stubs get no points, and an unwritten function raises an error that names its stage."""

from collections.abc import Iterable, Iterator

from autograder.authoring.audit.subject import Subject

PROMISE = "stubs get 0, and each names its stage"
QUICK = 6


def items(subject: Subject) -> Iterable[str]:
    return ("all stubs", *(written for stage in subject.assignment.stages for written in stage.writes))


def problems(subject: Subject, item: str) -> Iterator[str]:
    if item == "all stubs":
        report = subject.graded(subject.partly(), seed=None)
        for test in report.tests:
            if test.status != "not started" or test.points:
                yield f"{test.name} is {test.status} with {test.points:g} points, instead of not started with 0"
        return
    stage = subject.assignment.stage_of(item)
    assert stage is not None
    others = [name for other in subject.assignment.stages for name in other.writes if name != item]
    message = f"Stage {stage.number}: {item.partition('.')[2]}"
    tests = subject.graded(subject.partly(*others), stage).tests
    missed = [test for test in tests if test.status != "passed"]
    if not missed:
        yield "all tests of the stage pass although it is not written"
    for test in missed:
        if test.status != "not started" or not test.message.startswith(message):
            yield f"{test.name} is {test.status} ({test.message}), and does not say {message!r}"

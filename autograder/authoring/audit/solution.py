"""The solution gets full marks."""

from collections.abc import Iterable, Iterator

from autograder.authoring.audit.subject import Subject

PROMISE = "the solution gets full marks, including end to end"
QUICK = None


def items(subject: Subject) -> Iterable[str]:
    return ("visible and hidden tests",)


def problems(subject: Subject, item: str) -> Iterator[str]:
    report = subject.graded(subject.solution)
    for test in (*report.tests, *([report.end_to_end] if report.end_to_end else [])):
        if test.status != "passed":
            yield f"{test.name}: {test.status}, {test.message}"
    for note in report.review:
        yield f"it is noted for review: {note}"

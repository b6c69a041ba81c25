"""Correct code gets full marks, regardless of its style."""

from collections.abc import Iterable, Iterator

from autograder.authoring.audit.subject import Subject

PROMISE = "every correct formulation gets full marks in its stages, without a warning"
QUICK = 10


def items(subject: Subject) -> Iterable[str]:
    return subject.correct


def problems(subject: Subject, item: str) -> Iterator[str]:
    submission, modules = subject.correct[item]
    whole = modules == set(subject.assignment.modules)
    stages = [stage for stage in subject.assignment.stages if whole or modules & set(stage.modules)]
    for stage in stages:
        for ran in subject.run_correct(item, stage):
            if ran.passed and ran.result.message:
                yield f"{ran.result.name}: {ran.result.message}"
    report = subject.graded(submission.sources, *(() if whole else stages))
    extra = {stage.name for stage in report.stages if stage.extra_credit}
    for test in (*report.tests, *([report.end_to_end] if report.end_to_end else [])):
        # Extra credit is optional.
        if test.status != "passed" and not (test.status == "not started" and test.stage in extra):
            yield f"{'hidden ' if test.hidden else ''}{test.name}: {test.status}, {test.message}"

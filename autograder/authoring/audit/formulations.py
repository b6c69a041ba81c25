"""Correct code gets full marks, however it is written."""

from collections.abc import Iterable, Iterator

from autograder.authoring.audit.subject import SEED, Subject

PROMISE = "every correct formulation passes all tests of its stages"
QUICK = 15


def items(subject: Subject) -> Iterable[str]:
    return subject.correct


def problems(subject: Subject, item: str) -> Iterator[str]:
    _, modules = subject.correct[item]
    for stage in subject.assignment.stages:
        if modules & set(stage.modules):
            for seed in (None, SEED):
                for ran in subject.run_correct(item, stage, seed):
                    if not ran.passed:
                        yield f"{'visible' if seed is None else 'hidden'} {ran}"

"""Runs the checks of the audit as tests, an item each; what is not in a check's sample is slow."""

import atexit
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from autograder.authoring.audit.check import sample
from autograder.authoring.audit.registry import CHECKS
from autograder.authoring.audit.subject import Subject
from autograder.manifest import assignment, assignments

ELSEWHERE = ("release", "as generated")  # test_release.py does the same for all assignments at once


@cache
def subject(name: str) -> Subject:
    """An assignment under audit; what one test has run the others of this process find."""
    audited = Subject(assignment(name))
    atexit.register(audited.close)
    return audited


def params(*checks: str) -> Iterator[Any]:
    for name in assignments():
        for check in checks:
            try:
                items = list(CHECKS[check].items(subject(name)))
            except Exception:  # the test will tell what is wrong
                items = [""]
            quick = set(sample(items, CHECKS[check].QUICK))
            for item in items:
                marks = () if item in quick and (check, item) != ELSEWHERE else pytest.mark.slow
                yield pytest.param(name, check, item, id=f"{name}: {check}: {item}", marks=marks)


def each(*checks: str) -> pytest.MarkDecorator:
    """A test of all items of some checks, for each assignment there is."""
    return pytest.mark.parametrize(("name", "check", "item"), list(params(*checks)))


def problems(name: str, check: str, item: str) -> list[str]:
    """What is wrong with an item."""
    if not item:
        list(CHECKS[check].items(subject(name)))  # raises
    return list(CHECKS[check].problems(subject(name), item))

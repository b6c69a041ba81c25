"""The interface of a check, how it is made, and how a few of its items are chosen where time is short."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from autograder.authoring.audit.subject import Subject


class Check(Protocol):
    """A module of this folder."""

    @property
    def PROMISE(self) -> str:
        """What holds, in a few words."""

    @property
    def QUICK(self) -> int | None:
        """So many items are looked at where time is short; None: all."""

    def items(self, subject: Subject) -> Iterable[str]:
        """What is looked at, one after the other, by name. Quick: tests ask for it before they run anything."""

    def problems(self, subject: Subject, item: str) -> Iterable[str]:
        """What is wrong with an item, a sentence each."""


def look_at(check: Check, subject: Subject, item: str) -> list[str]:
    """What is wrong with an item; an assignment can be so broken that a check cannot be made."""
    try:
        return list(check.problems(subject, item))
    except Exception as error:  # whatever it is, it is said
        return [f"the check could not be made: {type(error).__name__}: {error}"]


def sample(items: Sequence[str], number: int | None) -> list[str]:
    """So many items, evenly spread; the same ones each time."""
    if number is None or number >= len(items):
        return list(items)
    return [items[index * len(items) // number] for index in range(number)]

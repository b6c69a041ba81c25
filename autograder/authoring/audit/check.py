"""The interface of a check, and functions that run a check and sample its items for a quick run."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from autograder.authoring.audit.subject import Subject


class Check(Protocol):
    """A check, implemented as a module in this folder."""

    @property
    def PROMISE(self) -> str:
        """The property that must hold, in a few words."""

    @property
    def QUICK(self) -> int | None:
        """The number of items in a quick run, or None for all items."""

    def items(self, subject: Subject) -> Iterable[str]:
        """Return the names of the items to check. This must be fast: tests call it before they run anything."""

    def problems(self, subject: Subject, item: str) -> Iterable[str]:
        """Return the problems with an item, one sentence each."""


def look_at(check: Check, subject: Subject, item: str) -> list[str]:
    """Return the problems with an item; a crash of the check itself is also a problem."""
    try:
        return list(check.problems(subject, item))
    except Exception as error:  # reported, whatever it is
        return [f"the check itself failed: {type(error).__name__}: {error}"]


def sample(items: Sequence[str], number: int | None) -> list[str]:
    """Return `number` evenly spaced items, the same ones every time."""
    if number is None or number >= len(items):
        return list(items)
    return [items[index * len(items) // number] for index in range(number)]

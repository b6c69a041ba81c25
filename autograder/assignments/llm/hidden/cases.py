"""Code shared by the hidden tests: random text and random merges."""

from collections.abc import Callable
from typing import Any

from autograder.assignments.llm.visible.checks import CheckingTestCase
from autograder.grading.hidden_case import HiddenTestCase


class LlmTestCase(HiddenTestCase, CheckingTestCase):
    """A hidden test of this assignment."""

    def choose(self, items: Any) -> Any:
        """Return a random item."""
        return items[int(self.rng.integers(len(items)))]

    def same_ids(self, call: Callable[[Any], Any], name: str, axes: str, width: int | None = None) -> Any:
        """Fail unless a call returns the same integers with the student's modules as with the reference modules."""
        actual = call(self.student)
        self.assert_ids(actual, self.right(call, self.reference), name, axes, width)
        return actual

    def letters(self, alphabet: str, length: int) -> str:
        """A random string."""
        return "".join(self.choose(alphabet) for _ in range(length))

    def merges(self, alphabet: str, number: int) -> list[list[int]]:
        """A random table of merges of known tokens, unlike any table that training would produce."""
        merges: list[list[int]] = []
        while len(merges) < number:
            known = [*alphabet.encode(), *range(256, 256 + len(merges))]
            pair = [self.choose(known), self.choose(known)]
            if pair not in merges:
                merges.append(pair)
        return merges

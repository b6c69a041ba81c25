"""Known mistakes: small changes to the reference modules, each with a name and hints. Students never receive them."""

import importlib
from dataclasses import dataclass
from typing import Literal

from autograder.manifest import package_of
from course.errors import UserError


@dataclass(frozen=True)
class Mistake:
    """A misconception, expressed as a change to the reference's source code."""

    id: str  # "mha.scale-d-model": the stage, then a few words
    module: str
    old: str  # occurs exactly once in the module
    new: str
    # First hint: the code in the student's words, or "Your result is that of" such code. If the mistake can raise an
    # exception, the rest of the sentence must be true even though there is no result.
    looks_like: str
    read_again: str  # second hint: where the idea goes wrong, and what to read again
    same_as: tuple[str, ...] = ()  # ids of earlier mistakes that look the same in all visible tests of the stage
    seen_by: Literal["visible", "hidden"] = "visible"  # "hidden": it passes the visible tests of its stage
    random: bool = False  # its result differs each time: it is caught, but cannot be recognised

    @property
    def stage(self) -> str:
        return self.id.partition(".")[0]

    def apply(self, sources: dict[str, str]) -> dict[str, str]:
        """Return the reference modules with this mistake.

        Raises:
            UserError: if there is no such module, or the text to change does not occur exactly once in it.
        """
        if (count := sources.get(self.module, "").count(self.old)) != 1:
            why = (
                f"occurs {count} times in {self.module}.py, not once"
                if self.module in sources
                else "does not occur, since the reference has no module of this name"
            )
            raise UserError(f"mistake {self.id} of {self.module}.py: its `old` text {why}: update it: {self.old!r}")
        return {**sources, self.module: sources[self.module].replace(self.old, self.new)}


def all_mistakes(assignment: str) -> tuple[Mistake, ...]:
    """The known mistakes of an assignment, by stage in teaching order, the most likely ones first."""
    mistakes: tuple[Mistake, ...] = importlib.import_module(f"{package_of(assignment)}.mistakes").MISTAKES
    return mistakes

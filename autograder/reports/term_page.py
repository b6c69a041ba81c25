"""The overview of a term, for the staff: the points of every student in every assignment."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from autograder.reports.html_pages import render


@dataclass(frozen=True)
class Assessed:
    """An assignment of the term."""

    name: str
    title: str
    full: float  # required points
    extra: float
    points: dict[str, float]  # by student, with extra credit
    ungraded: int  # handed in, but the grader failed
    open: int  # submissions to review that nobody has looked at yet
    report: str  # the link to its report
    assignment: str = ""  # its name in the manifest
    notes: tuple[str, ...] = ()  # notes for the instructor on all of its grades

    @property
    def number(self) -> int:
        return len(self.points)

    @property
    def mean(self) -> float | None:
        return sum(self.points.values()) / len(self.points) if self.points else None


@dataclass(frozen=True)
class Row:
    """A student."""

    name: str
    points: tuple[float | None, ...]  # by assignment; None without a grade

    @property
    def total(self) -> float:
        return sum(points or 0 for points in self.points)

    @property
    def kinds(self) -> str:
        """The values by which the table can be filtered."""
        return "missing" if None in self.points else ""


def rows_of(assignments: Sequence[Assessed]) -> list[Row]:
    """All students with a grade in any assignment, sorted by name."""
    names = sorted({name for assessed in assignments for name in assessed.points})
    return [Row(name, tuple(assessed.points.get(name) for assessed in assignments)) for name in names]


def term_html(assignments: Sequence[Assessed], finals: Sequence[Any] = ()) -> str:
    """The overview page. Save the page as UTF-8.

    Args:
        finals: the final grades (gradebooks.final_grades).
    """
    facts: dict[str, Any] = {"assignments": assignments, "students": rows_of(assignments), "finals": finals}
    return render("term.html", script="class.js", full=sum(one.full for one in assignments), **facts)

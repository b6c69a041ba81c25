"""rubric.csv: comments and deductions that the staff can reuse.

Columns: item, on, points, comment. Points may be negative, or missing if the item is only a comment. `on` is the stage,
test or part that the item belongs to if a row of review.csv names none. A change to an item's points applies to all
students who have it.
"""

from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from autograder.manifest.table import exact
from autograder.reports.csv_sheet import Sheet
from course.errors import UserError

NAME = "rubric.csv"
COLUMNS = ("item", "on", "points", "comment")


@dataclass(frozen=True)
class Item:
    """A row of rubric.csv."""

    name: str
    on: str = ""
    points: Decimal = Decimal(0)
    comment: str = ""


def read_rubric(folder: Path) -> dict[str, Item]:
    """The items by name, in order; empty if there is no rubric.csv.

    Raises:
        UserError: if a row is wrong.
    """
    path = folder / NAME
    return parse_rubric(Sheet.read(path)) if path.exists() else {}


def parse_rubric(sheet: Sheet) -> dict[str, Item]:
    """The items in a file.

    Raises:
        UserError: if a row is wrong.
    """
    items: dict[str, Item] = {}
    for row, cells in sheet.records(COLUMNS, COLUMNS):
        place = f"{sheet.path}, row {row}"
        try:
            points = exact(cells["points"].replace(",", ".").replace("\N{MINUS SIGN}", "-") or "0")
        except ValueError:
            points = Decimal("nan")
        if not points.is_finite():
            raise UserError(f"{place}: points must be a number such as -1.5, not {cells['points']!r}")
        if not cells["item"] or not cells["comment"]:
            raise UserError(f"{place} needs the name of an item and a comment, which the student reads")
        if cells["item"] in items:
            raise UserError(f"{place}: there is already an item {cells['item']!r}: rename one")
        items[cells["item"]] = Item(cells["item"], cells["on"], points, cells["comment"])
    return items


def signed(points: Decimal) -> str:
    """Points with their sign, as shown to students."""
    return f"{points:+f}".replace("-", "\N{MINUS SIGN}")

"""docs/coverage.md has every row of the inventory of the source documents, and names notebooks and cells that exist."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# How many rows of each kind the inventory of a document has.
ROWS = {
    "000": {"C": 13, "K": 9, "X": 5, "B": 25},
    "001": {"C": 7, "K": 8, "X": 7, "M": 1, "B": 9},
    "002": {"C": 18, "F": 5, "E": 8, "EC": 3, "M": 12, "B": 27},
    "003": {"C": 27, "K": 22, "F": 24, "X": 12, "B": 19},
    "004": {"C": 18, "K": 9, "X": 5, "E": 4, "M": 1, "B": 14},
    "005": {"C": 29, "K": 31},
}
ROW = re.compile(r"(?:(\d{3})-)?\b(EC|[CKXFETMB])(\d+)\b(?: to (?:\d{3}-)?[A-Z]+(\d+))?")


def table() -> Iterator[list[str]]:
    """The rows of the table: what is covered, where, and how."""
    for line in (ROOT / "docs" / "coverage.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("| 00"):
            yield [cell.strip() for cell in line.strip("|").split("|")]


def named(text: str) -> Iterator[str]:
    """The numbers of rows in a text: "000-K2, K4 ..." gives 000-K2 and 000-K4, "X4 to X7" all four."""
    document = ""
    for found, kind, first, last in ROW.findall(text):
        document = found or document
        for number in range(int(first), int(last or first) + 1):
            yield f"{document}-{kind}{number}"


def test_every_row_of_the_inventory_is_there_and_no_other():
    wanted = {
        f"{document}-{kind}{number}"
        for document, kinds in ROWS.items()
        for kind, count in kinds.items()
        for number in range(1, count + 1)
    }
    found = {number for row, *_ in table() for number in named(row)}
    assert sorted(wanted - found) == []
    assert sorted(found - wanted) == []


def cells_of(notebook: str) -> set[str]:
    """The ids of the cells of a notebook: "1_mha" is one of transformer."""
    path = ROOT / "solutions" / (notebook if "/" in notebook else f"transformer/{notebook}")
    return {cell["id"] for cell in json.loads(path.with_suffix(".ipynb").read_text(encoding="utf-8"))["cells"]}


@pytest.mark.parametrize("row", [row for row in table() if re.match(r"[\w/]*\d_", row[1])], ids=lambda row: row[0][:40])
def test_the_cells_that_it_names_exist(row: list[str]):
    there = set().union(*map(cells_of, re.findall(r"[\w/]*\d_\w+", row[1])))
    said = re.sub(r"\([^)]*\)", "", row[2]).split(".")[0]
    named = {word.strip() for word in re.split("[,;]", said)}
    assert {word for word in named if re.fullmatch(r"[a-z0-9-]+", word)} <= there

"""Find the row of each student in a roster, without guessing."""

import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass


def normal(text: str) -> str:
    """Normalise a name for comparison: ignore case and the Unicode form of umlauts (file systems change it)."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).strip().casefold())


@dataclass(frozen=True)
class Matching:
    """The rows of the matched students."""

    row_of: dict[str, int]
    unmatched: dict[str, str]  # student -> why
    left: list[int]  # rows without a student


def match(students: Iterable[str], keys: Mapping[int, str], key_of: Callable[[str], str]) -> Matching:
    """Match students with the rows of a roster.

    Args:
        students: the names of the submissions.
        keys: row -> the content of the cell by which students are matched.
        key_of: maps a submission's name to the content of that cell; "" if the name does not contain it.
    """
    rows: dict[str, list[int]] = defaultdict(list)
    for row, cell in keys.items():
        if normal(cell):
            rows[normal(cell)].append(row)
    claims: dict[str, list[str]] = defaultdict(list)
    unmatched: dict[str, str] = {}
    for student in students:
        if key := normal(key_of(student)):
            claims[key].append(student)
        else:
            unmatched[student] = "its name does not show whose it is"
    row_of: dict[str, int] = {}
    for key, claiming in claims.items():
        candidates = rows.get(key, [])
        if len(candidates) == 1 and len(claiming) == 1:
            row_of[claiming[0]] = candidates[0]
            continue
        for student in claiming:
            if not candidates:
                unmatched[student] = f"no row has {key!r}"
            elif len(candidates) > 1:
                unmatched[student] = f"{len(candidates)} rows have {key!r}"
            else:
                unmatched[student] = f"{len(claiming)} submissions belong to {key!r}: grade the one that counts"
    taken = set(row_of.values())
    return Matching(row_of, unmatched, [row for row in keys if row not in taken])

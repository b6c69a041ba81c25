"""reviewers.csv: who reviews which submission. Each row contains a student and a reviewer."""

import csv
import hashlib
import io
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from autograder.reports.csv_sheet import Sheet
from autograder.reports.write_files import harmless, write_whole

NAME = "reviewers.csv"
COLUMNS = ("student", "reviewer")


def read_reviewers(folder: Path) -> dict[str, str]:
    """Return the reviewer of each student; the result is empty if there is no reviewers.csv.

    Raises:
        UserError: if the file lacks a column.
    """
    path = folder / NAME
    rows = Sheet.read(path).records(COLUMNS, COLUMNS) if path.exists() else []
    return {cells["student"].removeprefix("'"): cells["reviewer"] for _, cells in rows}


def deal(students: Iterable[str], reviewers: Sequence[str], before: Mapping[str, str]) -> dict[str, str]:
    """Assign each student without a reviewer to the reviewer with the fewest students; existing assignments stay.

    The order in which students are assigned is always the same and unrelated to their names.
    """
    dealt = dict(before)
    load = Counter(dict.fromkeys(reviewers, 0))
    load.update(who for who in before.values() if who in load)
    for student in sorted(set(students) - before.keys(), key=lambda name: hashlib.sha256(name.encode()).digest()):
        who = min(reviewers, key=lambda one: load[one])
        dealt[student] = who
        load[who] += 1
    return dealt


def write_reviewers(folder: Path, dealt: Mapping[str, str]) -> None:
    """Write reviewers.csv."""
    text = io.StringIO(newline="")
    csv.writer(text).writerows([COLUMNS, *((harmless(student), who) for student, who in sorted(dealt.items()))])
    write_whole(folder / NAME, text.getvalue().encode("utf-8-sig"), folder / ".review.partial")

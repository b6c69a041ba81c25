"""Find the student who handed in a submission, from the name of the submission and the roster."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from autograder.gradebooks import canvas, moodle
from autograder.gradebooks.match_students import normal
from autograder.reports.csv_sheet import Sheet
from course.errors import UserError

WAYS = (*canvas.ALIASES, "name")  # values of `match` that are valid for every roster


@dataclass(frozen=True)
class People:
    """The students of a course. Without a roster, students are identified by the names of their submissions."""

    names: tuple[str, ...] = ()  # in the order of the roster
    _by_key: Mapping[str, str] = field(default_factory=dict)  # a normalised cell of a row -> the name in that row

    def name(self, submission: str) -> str:
        """Return the name of the student who handed in a submission, or the submission's name if none is found."""
        parts = (
            submission,
            *(read(submission) for room in (canvas, moodle) for read in (room.number_in, room.name_in)),
        )
        return next((self._by_key[key] for part in parts if (key := normal(part)) in self._by_key), submission)

    def called(self, submissions: Iterable[str]) -> dict[str, str]:
        """Return the student's name for each submission.

        Moodle appends a number, which differs between assignments, to the full name. The number is dropped, unless two
        students in an assignment have the same name.
        """
        names = {}
        for submission in submissions:
            name = self.name(submission)
            matched = moodle.DOWNLOADED.fullmatch(name)
            of_moodle = matched and (" " in matched[1] or "_assignsubmission_" in name)
            names[submission] = matched[1] if matched and of_moodle else name
        known = Counter(names.values())
        return {submission: name if known[name] == 1 else submission for submission, name in names.items()}


def read_people(path: Path | None, match: str = "", aliases: bool = False) -> People:
    """Read the roster: a CSV file with the columns student and name, and any other columns that identify a student.

    Args:
        match: the column that submissions are named after; "" means any matching column.
        aliases: whether rows with the same name are one student, who has several identifiers.

    Raises:
        UserError: if it is not such a file, or `match` names no column.
    """
    if path is None:
        return People()
    sheet = Sheet.read(path)
    student_at = sheet.column("student")
    name_at = sheet.column("name") if sheet.has("name") else student_at
    if match and not sheet.has(match) and match not in WAYS:
        raise UserError(f"match = {match!r} in course.toml is neither a column of {path} nor {', '.join(WAYS)}")
    columns = range(len(sheet.header)) if not match or not sheet.has(match) else [sheet.column(match), student_at]
    names: list[str] = []
    first: dict[str, str] = {}
    holders: dict[str, set[str]] = defaultdict(set)
    for row in range(1, len(sheet.rows)):
        student, name = sheet.cell(row, student_at), sheet.cell(row, name_at) or sheet.cell(row, student_at)
        if not student:
            continue
        if first.setdefault(normal(student), name) != name:
            raise UserError(f"{path} has two names for {student}: keep one")
        if name in names and not aliases:
            name = f"{name} ({student})"
        names += [name] if name not in names else []
        cells = [sheet.cell(row, column) for column in columns]
        for cell in (*cells, canvas.letters(name), moodle.as_in_files(name)):
            holders[normal(cell)].add(name)
    if not names:
        raise UserError(f"{path} has no students: it needs a row for each, below the header student,name")
    return People(tuple(names), {key: min(who) for key, who in holders.items() if len(who) == 1 and key})

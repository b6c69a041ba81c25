"""groups.csv: which students submit joint work. A group's submission counts for all its members.

Each row has a group and a student. A submission belongs to a group if it is named after the group or a member, directly
or as in downloads from Canvas and Moodle. If a group has several submissions, they must be identical (Moodle gives each
member a copy).
"""

from collections import defaultdict
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from autograder.gradebooks import canvas, moodle
from autograder.gradebooks.match_students import normal
from autograder.reports.csv_sheet import Sheet
from course.errors import UserError

NAME = "groups.csv"
COLUMNS = ("group", "student")
NOTHING = "the group has not handed in"  # the reason if there is no submission


@dataclass(frozen=True)
class Member:
    """A student, and the submission that counts for them."""

    student: str  # the name of the student's own submission, if there is one; else as in groups.csv
    submission: str  # "" if none counts
    why: str = ""  # why none counts
    group: str = ""


@dataclass(frozen=True)
class Groups:
    """The groups of a class. By default, there are no groups and everybody works alone."""

    students: dict[str, tuple[str, ...]] = field(default_factory=dict)  # group -> students, as written

    def members(self, digests: Mapping[str, str]) -> list[Member]:
        """Return all students of a class: group members, and those who hand in alone.

        Args:
            digests: a digest of each submission's contents, by the submission's name.
        """
        of_name = {key: group for group in self.students for key in _keys(group)}
        of_name |= {key: group for group, students in self.students.items() for one in students for key in _keys(one)}
        found: dict[str, list[str]] = defaultdict(list)
        not_members = set(self.named_after_groups(digests))
        alone = []
        for submission in digests:
            groups = sorted({of_name[key] for key in _aliases(submission) if key in of_name})
            if groups:
                found[groups[0]].append(submission)
            else:
                alone.append(Member(submission, submission))
        return alone + [one for group in self.students for one in self._of(group, found[group], digests, not_members)]

    def named_after_groups(self, submissions: Iterable[str]) -> list[str]:
        """Return the submissions named after a group but not after a member: a student may have the same name."""
        groups = {key for group in self.students for key in _keys(group)}
        members = {key for students in self.students.values() for one in students for key in _keys(one)}
        return [one for one in submissions if _aliases(one) & groups and not _aliases(one) & members]

    def _of(
        self, group: str, handed_in: list[str], digests: Mapping[str, str], not_members: Container[str]
    ) -> list[Member]:
        counts, why = (handed_in or [""])[0], "" if handed_in else NOTHING
        if len({digests[one] for one in handed_in}) > 1:
            counts, why = "", f"{len(handed_in)} different submissions of the group {group}: keep one"
        own = {key: submission for submission in handed_in for key in _aliases(submission)}
        names = [next((own[key] for key in _keys(one) if key in own), one) for one in self.students[group]]
        if handed_in and why:  # so that nobody vanishes who only has the name of the group
            names += [one for one in handed_in if one in not_members]
        return [Member(name, counts, why, group) for name in names]

    def together(self, submission: str) -> str:
        """Return the group of a submission, or the submission's name if it belongs to no group."""
        member = next((one for one in self.members({submission: ""}) if one.submission == submission), None)
        return member.group or submission if member else submission


def _keys(name: str) -> list[str]:
    """Return the forms of a name from groups.csv: as in the file, and as Canvas and Moodle write it in file names."""
    return [normal(name), normal(canvas.letters(name)), normal(moodle.as_in_files(name))]


def _aliases(submission: str) -> set[str]:
    """Return the names that can identify a submission: its whole name, and the student's name or number in it."""
    parts = (submission, *(read(submission) for room in (canvas, moodle) for read in (room.name_in, room.number_in)))
    return {normal(part) for part in parts} - {""}


def read_groups(path: Path) -> Groups:
    """Read the groups from a file, or from the groups.csv of a folder, if there is one.

    Raises:
        UserError: if a row is wrong.
    """
    if path.is_dir():
        path = path / NAME
        if not path.exists():
            return Groups()
    groups: dict[str, list[str]] = defaultdict(list)
    first: dict[str, str] = {}
    for row, cells in Sheet.read(path).records(COLUMNS, COLUMNS):
        group, student = cells["group"].removeprefix("'"), cells["student"].removeprefix("'")
        if not group or not student:
            raise UserError(f"{path}, row {row} needs a group and a student")
        if normal(student) in first:
            raise UserError(f"{path}, row {row}: {student} is already in the group {first[normal(student)]}")
        first[normal(student)] = group
        groups[group].append(student)
    return Groups({group: tuple(students) for group, students in groups.items()})

"""Read the grading policy from a TOML file. Error messages name the key and explain how to fix it."""

import sys
from collections.abc import Mapping
from datetime import date, datetime, timedelta, tzinfo
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from autograder.gradebooks.grading_policy import EARNED, EXACT, FULL_MARKS, STARTED, Late, Policy
from autograder.gradebooks.hand_in_times import find_zone, in_zone
from autograder.gradebooks.match_students import normal
from autograder.manifest.course_config import CourseConfig
from autograder.manifest.table import exact
from course.errors import UserError

EXAMPLE = "2026-10-02T23:59:59"
GRADE_KEYS = ("extra_credit", "points")
LATE_KEYS = (
    *("deadline", "timezone", "grace_minutes", "percent_per_day", "days", "percent_of", "max_percent", "last"),
    "extensions",
)
# The keys of a table [assignments.NAME].
PLANNED_KEYS = ("weight", "graded", "column", "times", "submissions", *LATE_KEYS, *GRADE_KEYS)


def read_policy(path: Path) -> Policy:
    """Read the policy from a file.

    Raises:
        UserError: if something in it is wrong.
    """
    try:
        entries = tomllib.loads(path.read_bytes().decode("utf-8-sig"), parse_float=exact)
    except OSError as error:
        raise UserError(f"cannot read the policy {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:  # also for a number with thousands of digits
        raise UserError(
            f"the policy {path} is not TOML: {error} (names with umlauts or symbols need quotes)"
        ) from error
    file = Table(path, "", entries, ("grade", "late"))
    late = file.table("late", LATE_KEYS)
    if "late" in entries:
        late.moment("deadline", late.zone("timezone"))
    return policy_from(file.table("grade", GRADE_KEYS), late)


def policy_of_course(config: CourseConfig, assignment: str) -> Policy:
    """Return an assignment's policy from course.toml; its own keys take precedence over [late] and [grade].

    Raises:
        UserError: if something in it is wrong.
    """
    own = config.plan_of(assignment).policy
    where = f"assignments.{assignment}"
    for key in own:
        if key not in (*LATE_KEYS, *GRADE_KEYS):
            raise UserError(f"{config.path}: {where} has the key {key!r}; the keys are {', '.join(PLANNED_KEYS)}")
    late = {**config.late, **{key: value for key, value in own.items() if key in LATE_KEYS}}
    grade = {**config.grade, **{key: value for key, value in own.items() if key in GRADE_KEYS}}
    policy = policy_from(
        Table(config.path, f"grade (or {where})", grade, GRADE_KEYS),
        Table(config.path, f"late (or {where})", late, (*LATE_KEYS, "slip_days", "slip_days_each")),
    )
    return policy


def policy_from(grade: "Table", late: "Table") -> Policy:
    """Return the policy that two tables define; without a deadline, nothing is late."""
    extra = grade.choice("extra_credit", ("counts", "capped"))
    worth = grade.number("points", 1, 10_000) if "points" in grade.entries else None
    return Policy(read_late(late) if "deadline" in late.entries else None, extra == "capped", worth)


def read_late(table: "Table") -> Late:
    """Read the [late] table."""
    zone = table.zone("timezone")
    deadline = table.moment("deadline", zone)
    last = table.moment("last", zone) if "last" in table.entries else None
    if last is not None and last < deadline:
        table.wrong("last", "is before the deadline: it is the last moment at which work counts")
    extended = table.table("extensions", None)
    extensions: dict[str, datetime] = {}
    for student in extended.entries:
        if (moment := extended.moment(student, zone)) < deadline:
            extended.wrong(student, "is before the deadline for all: give a later time, or leave it out")
        if extensions.setdefault(normal(student), moment) is not moment:
            extended.wrong(student, "occurs twice")
    return Late(
        deadline=deadline,
        percent_per_day=table.number("percent_per_day", 0, 100, 0),
        days=table.choice("days", (STARTED, EXACT)),
        percent_of=table.choice("percent_of", (EARNED, FULL_MARKS)),
        max_percent=table.number("max_percent", 0, 100, 100),
        grace=timedelta(minutes=float(table.number("grace_minutes", 0, 100_000, 0))),
        last=last,
        extensions=extensions,
        zone=zone,
    )


class Table:
    """A table in the policy file.

    Raises:
        UserError: in all methods, if the table is wrong.
    """

    def __init__(self, path: Path, name: str, entries: Any, known: tuple[str, ...] | None) -> None:
        self.path, self.name = path, name
        if not isinstance(entries, Mapping):
            raise UserError(f"{path}: {name} must be a table: write [{name}] on a line of its own")
        self.entries = entries
        for key in entries:
            if known is not None and key not in known:
                self.wrong(key, f"is not a key of a policy; the keys are {', '.join(known)}")

    def wrong(self, key: str, why: str) -> NoReturn:
        """Raise an error about a key."""
        raise UserError(f"{self.path}: {self.name and self.name + '.'}{key} {why}")

    def table(self, key: str, known: tuple[str, ...] | None) -> "Table":
        name = f"{self.name}.{key}" if self.name else key
        return Table(self.path, name, self.entries.get(key, {}), known)

    def choice(self, key: str, choices: tuple[str, ...]) -> str:
        """Return one of several allowed words; the first is the default."""
        value = self.entries.get(key, choices[0])
        if value not in choices:
            self.wrong(key, f"must be {' or '.join(f'{choice!r}' for choice in choices)}, not {value!r}")
        return str(value)

    def number(self, key: str, low: int, high: int, default: int | None = None) -> Fraction:
        """Return a number in a range."""
        value = self.entries.get(key, default)
        a_number = isinstance(value, (int, Decimal)) and not isinstance(value, bool) and Decimal(value).is_finite()
        if not a_number or not low <= value <= high:
            self.wrong(key, f"must be a number from {low} to {high}, not {value}")
        return Fraction(value)

    def zone(self, key: str) -> tzinfo | None:
        value = self.entries.get(key)
        if value is None:
            return None
        if not isinstance(value, str):
            self.wrong(key, 'must be a name such as "Europe/Berlin"')
        try:
            return find_zone(value)
        except UserError as error:
            raise UserError(f"{self.path}: {self.name}.{key}: {error}") from error

    def moment(self, key: str, zone: tzinfo | None) -> datetime:
        """Return a time; without an offset, it is in the given zone."""
        value = self.entries.get(key)
        if value is None:
            self.wrong(key, f"is missing: give the time until which work is on time, such as {key} = {EXAMPLE}")
        if isinstance(value, str):
            self.wrong(key, f"must be a date with a time of day: write it without quotes, as {EXAMPLE}")
        if not isinstance(value, datetime):
            why = "needs a time of day" if isinstance(value, date) else "must be a date with a time of day"
            self.wrong(key, f"{why}: write it as {EXAMPLE}")
        zone = value.tzinfo or zone
        if zone is None:
            self.wrong(key, f'has no time zone: add timezone = "Europe/Berlin" to [late], or write {EXAMPLE}+02:00')
        try:
            return in_zone(value, zone)
        except UserError as error:
            self.wrong(key, f"cannot be used: {error}")

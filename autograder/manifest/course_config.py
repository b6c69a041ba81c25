"""`course.toml`: the settings of a whole course, in one place. `docs/course-toml.md` lists the keys.

If a command has an option for one of these settings, the option takes precedence over the file.
"""

import importlib.metadata
import importlib.util
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from autograder.manifest.table import Table, exact
from course.errors import UserError
from course.location import MARK, course_folder

GROUP = "autograder.courses"  # entry points: a name for a package that is a course
LMS_KINDS = ("canvas", "moodle")


@dataclass(frozen=True)
class Lms:
    """The learning platform that receives the grades. Its token comes only from the environment."""

    kind: str  # one of LMS_KINDS
    url: str
    course: str  # the course's id there


@dataclass(frozen=True)
class Planned:
    """An assignment in the term's plan."""

    weight: Fraction = Fraction(1)
    graded: Path | None = None  # the folder of its results; None: graded/NAME
    column: str = ""  # header, name or number of its column in the gradebook; "": ask
    times: Path | None = None  # submission times: CSV, or JSON from Canvas
    submissions: Path | None = None  # the files handed in, with nbgrader's timestamp.txt
    policy: Mapping[str, Any] = field(
        default_factory=dict
    )  # its own keys of [late] and [grade]: deadline, last, extensions, points, ...


@dataclass(frozen=True)
class CourseConfig:
    """The content of a course.toml. All paths are absolute."""

    path: Path  # of the file
    title: str = ""
    assignments: Path = Path()  # the folder that contains the assignments' folders
    roster: Path | None = None  # a CSV file: student, name and optionally email, login, id, section
    groups: Path | None = None  # a CSV file: group, student
    match: str = ""  # how to find students in a gradebook: login, id, name, email, ...; "": the best way
    lms: Lms | None = None
    planned: Mapping[str, Planned] = field(default_factory=dict)  # by assignment, in the order of the file
    drop_lowest: int = 0
    slip_days: int = 0  # per student and term
    slip_days_each: int | None = None  # at most this many for one assignment; None: no limit
    late: Mapping[str, Any] = field(
        default_factory=dict
    )  # [late] without the slip days: the late policy of all assignments
    grade: Mapping[str, Any] = field(default_factory=dict)  # [grade]: the extra credit of all assignments
    handout: tuple[str, ...] = ()  # additional files for students, as patterns
    figures: tuple[str, ...] = ()  # the course's figure programs: arguments for Python, run in the course's folder
    packages: tuple[str, ...] = ()  # installed packages that are courses too; their assignments belong to this course

    @property
    def folder(self) -> Path:
        return self.path.parent

    def plan_of(self, assignment: str) -> Planned:
        """Return an assignment's entry in the plan, or a default entry if the file does not name it."""
        return self.planned.get(assignment, Planned())

    def graded(self, assignment: str) -> Path:
        """Return the folder of an assignment's results."""
        return self.plan_of(assignment).graded or self.folder / "graded" / assignment


def course_config() -> CourseConfig:
    """Return the configuration of the course (see `course.location`).

    Raises:
        UserError: if there is no course, or something in its course.toml is wrong.
    """
    path = course_folder() / MARK
    try:
        return _cached(path, path.stat().st_mtime_ns)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error


@cache
def _cached(path: Path, _changed: int) -> CourseConfig:
    return read_config(path)


def home_of(assignment: str) -> CourseConfig:
    """Return the course that contains an assignment: either the current course or one from an installed package."""
    config = course_config()
    places = (config, *courses_of_packages(config.packages))
    return next((place for place in places if (place.assignments / assignment).is_dir()), config)


def check_plan(config: CourseConfig) -> None:
    """Check that all assignments in the term's plan exist, at least as drafts.

    Raises:
        UserError: if one does not.
    """
    places = (config, *courses_of_packages(config.packages))
    there = sorted({path.parent.name for place in places for path in place.assignments.glob("*/assignment*.toml")})
    for name in config.planned:
        if name not in there:
            raise UserError(f"{config.path}: there is no assignment {name!r}; known: {', '.join(there) or 'none'}")


@cache
def courses_of_packages(packages: tuple[str, ...]) -> tuple[CourseConfig, ...]:
    """Return the courses in the given installed packages; a package is named directly or by its entry point.

    Each package's folder has a course.toml. Entry points are read only if a package is named, since reading them takes
    time.

    Raises:
        UserError: if a package is not installed, or is not a course.
    """
    found = []
    entries = {entry.name: entry.value for entry in importlib.metadata.entry_points(group=GROUP)} if packages else {}
    for name in packages:
        spec = importlib.util.find_spec(entries.get(name, name))
        folder = Path(next(iter(spec.submodule_search_locations))) if spec and spec.submodule_search_locations else None
        if folder is None or not (folder / MARK).is_file():
            missing = f"has no {MARK}" if folder else "is not installed"
            raise UserError(f"{course_folder() / MARK}, folders: packages names {name}, a package that {missing}")
        found.append(read_config(folder / MARK))
    return tuple(found)


def config_or_empty() -> CourseConfig:
    """Return the configuration of the course, or an empty configuration for commands used outside a course.

    Raises:
        UserError: if something in the course.toml is wrong.
    """
    try:
        course_folder()
    except UserError:
        return CourseConfig(Path.cwd() / MARK)
    return course_config()


def read_config(path: Path) -> CourseConfig:
    """Read and check a course.toml.

    Raises:
        UserError: if it cannot be read, or something is wrong; the message is a sentence that names file and key.
    """
    try:
        entries = tomllib.loads(path.read_bytes().decode("utf-8-sig"), parse_float=exact)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise UserError(f"{path} is not TOML: {error} (names with umlauts or symbols need quotes)") from error
    folder, table = path.parent, Table(entries, str(path))
    title = table.take("title", str, "")
    zone = table.take("timezone", str, "")
    roster, groups = _file(table, "roster", folder), _file(table, "groups", folder)
    match = table.take("match", str, "")
    late, grade = table.take("late", dict, {}), table.take("grade", dict, {})
    slips = Table(late, f"{path}, late")
    days = _count(slips, "slip_days", 0)
    each = _count(slips, "slip_days_each", -1)
    term = Table(table.take("term", dict, {}), f"{path}, term")
    drop = _count(term, "drop_lowest", 0)
    term.end()
    folders = Table(table.take("folders", dict, {}), f"{path}, folders")
    assignments = folder / folders.take("assignments", str, "assignments")
    packages = folders.names("packages", [])
    folders.end()
    handout = Table(table.take("handout", dict, {}), f"{path}, handout")
    more = handout.names("files", [])
    handout.end()
    build = Table(table.take("build", dict, {}), f"{path}, build")
    figures = build.names("figures", [])
    build.end()
    lms = _lms(Table(table.take("lms", dict), f"{path}, lms")) if "lms" in entries else None
    planned = {
        name: _planned(Table(entry, f"{path}, assignments.{name}"), folder)
        for name, entry in Table(table.take("assignments", dict, {}), f"{path}, assignments").tables().items()
    }
    table.end()
    if drop and drop >= len(planned):
        term.wrong("drop_lowest", f"is {drop}, but [assignments] has {len(planned)}: nothing would be left")
    general = {"timezone": zone} if zone else {}
    return CourseConfig(
        *(path, title, assignments, roster, groups, match, lms, planned, drop, days, each if each >= 0 else None),
        *(general | slips.rest(), grade, more, figures, packages),
    )


def _lms(table: Table) -> Lms:
    kind, url, course = table.take("kind", str), table.take("url", str), str(table.take("course", (int, str)))
    if kind not in LMS_KINDS:
        table.wrong("kind", f"must be {' or '.join(LMS_KINDS)}, not {kind!r}")
    if not url.startswith(("https://", "http://127.0.0.1", "http://localhost")):
        table.wrong("url", f"must begin with https://, not {url!r}: the token is sent there")
    table.end()
    return Lms(kind, url.rstrip("/"), course)


def _planned(table: Table, folder: Path) -> Planned:
    weight = table.take("weight", (int, Decimal), 1)
    if not 0 <= weight < 1_000_000:
        table.wrong("weight", f"must be 0 or more, not {weight}")
    graded = table.take("graded", str, "")
    column = str(table.take("column", (str, int), ""))
    times, submissions = (_file(table, key, folder, later=True) for key in ("times", "submissions"))
    return Planned(Fraction(weight), folder / graded if graded else None, column, times, submissions, table.rest())


def _file(table: Table, key: str, folder: Path, later: bool = False) -> Path | None:
    """Return the path that a key names, relative to the course's folder.

    Args:
        later: whether the file may appear later in the term.
    """
    name = table.take(key, str, "")
    if name and not later and not (folder / name).is_file():
        table.wrong(key, f"names {name}, but there is no such file in {folder}")
    return folder / name if name else None


def _count(table: Table, key: str, default: int) -> int:
    number: int = table.take(key, int, default)
    if number < 0 and number != default:
        table.wrong(key, f"must not be negative: {number}")
    return number

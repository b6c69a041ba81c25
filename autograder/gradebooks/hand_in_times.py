"""Read submission times: from nbgrader's timestamp.txt, a CSV file, or the output of Canvas' API.

Time zones are never guessed.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta, timezone, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

from autograder.gradebooks.match_students import normal
from autograder.manifest import Assignment
from autograder.reports.csv_sheet import Sheet
from autograder.submissions.find_submissions import Found, find_submissions
from autograder.submissions.untrusted_files import Unreadable, read_regular
from course.errors import UserError

MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?)\s*(\S+)?")
OFFSET = re.compile(r"([+-])(\d\d):?(\d\d)")
FORM = "write it as 2026-10-02 23:59:59 +02:00, or with a time zone such as Europe/Berlin"
YEARS = range(1970, 3000)
MAX_TIMESTAMP = 200  # bytes; nbgrader's line is far shorter


def find_zone(name: str) -> tzinfo:
    """Return the time zone for a name such as Europe/Berlin, UTC or +02:00.

    Raises:
        UserError: if there is no such time zone.
    """
    if name in ("Z", "UTC"):
        return timezone.utc
    if offset := OFFSET.fullmatch(name):
        sign, hours, minutes = offset.groups()
        if int(hours) < 24 and int(minutes) < 60:
            return timezone((-1 if sign == "-" else 1) * timedelta(hours=int(hours), minutes=int(minutes)))
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError):
        raise UserError(
            f"there is no time zone {name!r} on this machine: use a name such as Europe/Berlin or an offset such as "
            "+02:00 (on Windows, pip install tzdata adds the names)"
        ) from None


def in_zone(local: datetime, zone: tzinfo) -> datetime:
    """Convert a zone's local time to UTC.

    When the clocks are set back, an hour is repeated; when they are set forward, an hour is missing. A time in such an
    hour has two possible meanings. The later time is used, which favours the student.

    Raises:
        UserError: if the year is out of range. Near the limits of the calendar, times cannot be converted or compared.
    """
    if local.year not in YEARS:
        raise UserError(f"the year {local.year} is out of range: for a deadline that never passes, use 2100")
    return max(local.replace(tzinfo=zone, fold=fold).astimezone(timezone.utc) for fold in (0, 1))


def read_moment(text: str, zone: tzinfo | None) -> datetime:
    """Parse a time such as `2026-10-02 23:59:59.5 UTC`.

    Args:
        zone: the zone of a time that has none of its own; None rejects such times.

    Raises:
        UserError: if the string is not a time.
    """
    matched = MOMENT.fullmatch(text.strip())
    try:
        if not matched:
            raise ValueError
        day, clock, name = matched.groups()
        # Python 3.10 accepts only three or six decimal places in the seconds.
        whole, _, part = clock.partition(".")
        local = datetime.fromisoformat(f"{day} {whole}").replace(microsecond=int(part.ljust(6, "0") or 0))
    except ValueError:
        raise UserError(f"{text.strip()!r} is not a time: {FORM}") from None
    if not name and zone is None:
        raise UserError(f"{text.strip()!r} has no time zone: {FORM}")
    return in_zone(local, find_zone(name) if name else zone or timezone.utc)


def timestamps(found: Iterable[Found], assignment: str) -> tuple[dict[str, datetime], list[str]]:
    """Return nbgrader's timestamps for the submissions, by normalised name, and notes on unreadable files.

    Students without such a file, or with an unreadable one, are left out. Students can add the file themselves, so
    a bad file must not stop the grading of the class. As in nbgrader, a timestamp without a zone is UTC.
    """
    times, notes = {}, []
    for submission in found:
        for path in (submission.path / assignment / "timestamp.txt", submission.path / "timestamp.txt"):
            if submission.inside or submission.loose or not path.exists():
                continue
            try:
                text = read_regular(path, MAX_TIMESTAMP).decode("utf-8-sig")
                times[normal(submission.student)] = read_moment(text, timezone.utc)
            except (Unreadable, UnicodeDecodeError, UserError) as error:
                notes.append(
                    f"{submission.student}: timestamp.txt is ignored ({error}); give the time in a file with --times"
                )
            break
    return times, notes


def hand_in_times(
    chosen: Assignment, zone: tzinfo | None, times: Path | None, submissions: Path | None
) -> tuple[dict[str, datetime], list[str]]:
    """Return the submission times by normalised name, and notes on unreadable times.

    Args:
        times: a file, as for `times_in`; its times override the timestamps.
        submissions: the submissions, with nbgrader's timestamps.
    """
    known: dict[str, datetime] = {}
    notes: list[str] = []
    if submissions:
        known, notes = timestamps(find_submissions(submissions, chosen), chosen.name)
    if times:
        known |= times_in(times, zone)
    return known, notes


def of_members(times: Mapping[str, datetime], submissions: Mapping[str, str]) -> dict[str, datetime]:
    """Set the same time for all members of a group: the submission's time, or else the latest of their own times.

    Args:
        times: submission times, by the normalised name of a submission or a student.
        submissions: the submission that counts, by student.
    """
    groups: dict[str, list[str]] = defaultdict(list)
    for student, submission in submissions.items():
        groups[normal(submission)].append(normal(student))
    known = dict(times)
    for submission, members in groups.items():
        given = [times[name] for name in members if name in times]
        if given or submission in times:
            known |= dict.fromkeys(members, times.get(submission) or max(given))
    return known


def times_in(path: Path, zone: tzinfo | None) -> dict[str, datetime]:
    """Read times by normalised name from a CSV file with the columns student and time, or a JSON file from Canvas.

    Raises:
        UserError: if it is not such a file.
    """
    if path.suffix.lower() == ".json":
        return times_of_canvas(path)
    sheet = Sheet.read(path)
    student_at, time_at = sheet.column("student"), sheet.column("time")
    times: dict[str, datetime] = {}
    for row in range(1, len(sheet.rows)):
        student, text = sheet.cell(row, student_at), sheet.cell(row, time_at)
        if not student and not text:
            continue
        try:
            moment = read_moment(text, zone)
        except UserError as error:
            raise UserError(f"{path}, row {sheet.row_in_file(row)} ({student}): {error}") from error
        if times.setdefault(normal(student), moment) != moment:
            raise UserError(f"{path} has two times for {student}: keep the one that counts")
    return times


def times_of_canvas(path: Path) -> dict[str, datetime]:
    """Read times by student number from the output of Canvas' API (List assignment submissions).

    Its pages are JSON lists; a file may contain several pages. Students without a submission have no submission time.

    Raises:
        UserError: if the file has any other content.
    """
    wrong = f"{path} is not a list of submissions from Canvas (GET .../assignments/NUMBER/submissions)"
    try:
        text = path.read_text(encoding="utf-8-sig").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read {path}: {error}") from error
    if not text:
        raise UserError(f"{path} is empty")
    times: dict[str, datetime] = {}
    while text:
        try:
            page, end = json.JSONDecoder().raw_decode(text)
        except ValueError as error:
            raise UserError(f"{wrong}: {error}") from error
        text = text[end:].lstrip()
        if not isinstance(page, list) or not all(isinstance(submission, dict) for submission in page):
            raise UserError(wrong)
        for submission in page:
            if "user_id" not in submission:
                raise UserError(f"{path}: a submission has no user_id; {wrong}")
            if submission.get("submitted_at"):
                times[str(submission["user_id"])] = read_moment(str(submission["submitted_at"]), None)
    return times

"""The grading policy: right to the cent, at every boundary, and every mistake in its file is said with its key."""

import random
import re
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from nbgrader.utils import parse_utc

from autograder.gradebooks.grading_policy import Late, Points, Policy, grade_of, to_the_cent
from autograder.gradebooks.hand_in_times import read_moment, times_in, timestamps
from autograder.gradebooks.policy_file import read_policy
from autograder.manifest import assignment
from autograder.submissions.find_submissions import find_submissions
from course.errors import UserError

ROOT = Path(__file__).resolve().parents[2]
BERLIN = ZoneInfo("Europe/Berlin")
DEADLINE = datetime(2026, 10, 2, 22, tzinfo=timezone.utc)
DAY, TICK = timedelta(days=1), timedelta(microseconds=1)


def points(required: str, extra: str = "0") -> Points:
    return Points(Fraction(required), Fraction(extra), Fraction(100), Fraction(10))


def late(percent_per_day: str | Fraction = "10", max_percent: int = 100, **fields: Any) -> Late:
    percent = {"percent_per_day": Fraction(percent_per_day), "max_percent": Fraction(max_percent)}
    return Late(**{"deadline": DEADLINE, **percent, **fields})


CENTS = {
    "whole": (points("90"), Policy(), 0, "90.00"),
    "half a cent goes up": (points("1.005"), Policy(), 0, "1.01"),  # in floating point it is less than half
    "less than half goes down": (points("1.00499999"), Policy(), 0, "1.00"),
    "extra credit on top": (points("100", "8"), Policy(), 0, "108.00"),
    "extra credit capped": (points("97", "8"), Policy(capped=True), 0, "100.00"),
    "extra credit below the cap": (points("80", "8"), Policy(capped=True), 0, "88.00"),
    "capped before the penalty": (points("97", "8"), Policy(late(), capped=True), 1, "90.00"),
    "penalty of what was earned": (points("87.5"), Policy(late()), 1, "78.75"),
    "penalty of full marks": (points("87.5"), Policy(late(percent_of="full marks")), 1, "77.50"),
    "never below 0": (points("5"), Policy(late(percent_of="full marks")), 3, "0.00"),
    "penalty with a maximum": (points("80"), Policy(late(max_percent=25)), 9, "60.00"),
    "more than all": (points("80"), Policy(late()), 11, "0.00"),
    "a third": (points("100"), Policy(late(percent_per_day="100/3")), 1, "66.67"),
    "scaled": (points("87.5"), Policy(worth=Fraction(50)), 0, "43.75"),
    "scaled and rounded once": (points("33.335"), Policy(late(), worth=Fraction(30)), 1, "9.00"),
}


@pytest.mark.parametrize("case", CENTS)
def test_right_to_the_cent(case):
    earned, policy, days, expected = CENTS[case]
    grade = grade_of("anna", earned, policy, DEADLINE + days * DAY)
    assert str(grade.final) == expected
    assert grade.explanation.endswith(f"grade {expected}")


def test_a_grade_explains_itself():
    policy = Policy(late(zone=BERLIN), capped=True, worth=Fraction(50))
    assert grade_of("anna", points("97", "8"), policy, DEADLINE + DAY + TICK).explanation == (
        "97 of 100 points + 8 extra credit = 105, capped at 100; handed in 2026-10-04 00:00:00 +0200, "
        "due 2026-10-03 00:00:00 +0200: 2 days late; minus 20 % of 100 = 20; 80 of 100 is 40; grade 40.00"
    )


BOUNDARIES = {
    "in time": (late(), timedelta(0), 0),
    "a moment late": (late(), TICK, 1),
    "a day": (late(), DAY, 1),
    "more than a day": (late(), DAY + TICK, 2),
    "exact": (late(days="exact"), timedelta(hours=36), Fraction(3, 2)),
    "exact, to the second": (late(days="exact"), timedelta(seconds=1), Fraction(1, 86400)),
    "within the grace": (late(grace=timedelta(minutes=15)), timedelta(minutes=15), 0),
    "after the grace": (late(grace=timedelta(minutes=15), days="exact"), timedelta(minutes=18), Fraction(1, 80)),
    "extended": (late(extensions={"anna": DEADLINE + 3 * DAY}), 3 * DAY, 0),
    "later than extended": (late(extensions={"anna": DEADLINE + 3 * DAY}), 3 * DAY + TICK, 1),
    "extension of another": (late(extensions={"bob": DEADLINE + 3 * DAY}), 3 * DAY, 3),
}


@pytest.mark.parametrize("case", BOUNDARIES)
def test_days_late(case):
    policy, after, days = BOUNDARIES[case]
    assert policy.days_late("anna", DEADLINE + after) == days
    assert policy.days_late("Anna ", DEADLINE + after) == days


def test_a_day_has_24_hours_when_the_clocks_change():
    policy = late(deadline=datetime(2026, 10, 24, 23, 59, 59, tzinfo=BERLIN).astimezone(timezone.utc))
    assert policy.days_late("anna", datetime(2026, 10, 25, 22, 59, 59, tzinfo=BERLIN).astimezone(timezone.utc)) == 1
    assert policy.days_late("anna", datetime(2026, 10, 25, 23, 0, 0, tzinfo=BERLIN).astimezone(timezone.utc)) == 2


@pytest.mark.parametrize(
    ("deadline", "zone", "days", "hours"),
    [
        ("2026-10-24T20:00:00", "Europe/Berlin", 1, 24),  # set back an hour: the day has 25
        ("2026-03-28T20:00:00", "Europe/Berlin", 1, 24),  # set forward: it would have 23, and has 24 all the same
        ("2026-11-01T00:30:00", "America/New_York", 1, 24),
        ("2026-07-01T20:00:00", "Europe/Berlin", 1, 24),
    ],
)
def test_a_change_of_the_clocks_never_costs_a_day(deadline, zone, days, hours):
    """A day later at the same time of day is one day late, and so is 24 hours later."""
    place = ZoneInfo(zone)
    local = datetime.fromisoformat(deadline)
    due = local.replace(tzinfo=place).astimezone(timezone.utc)
    policy = late(deadline=due, zone=place)
    same_time = (local + DAY).replace(tzinfo=place).astimezone(timezone.utc)
    assert policy.days_late("anna", same_time) == days
    assert policy.days_late("anna", due + timedelta(hours=hours)) == days
    assert policy.days_late("anna", max(same_time, due + DAY) + TICK) == days + 1
    assert policy.days_late("anna", due) == 0
    for minutes in range(0, 60 * 50, 7):  # handing in later never costs less, and late is late
        assert (
            0
            < policy.days_late("anna", due + TICK + timedelta(minutes=minutes))
            <= 1 + (minutes >= 60 * 24) + (minutes >= 60 * 48)
        )


def test_after_the_last_moment_nothing_counts():
    policy = late(last=DEADLINE + 5 * DAY, max_percent=20, extensions={"bob": DEADLINE + DAY})

    def final(student, after):
        return str(grade_of(student, points("80"), Policy(policy), DEADLINE + after).final)

    assert [final("anna", 5 * DAY), final("anna", 5 * DAY + TICK)] == ["64.00", "0.00"]
    assert [final("bob", 6 * DAY), final("bob", 6 * DAY + TICK)] == ["64.00", "0.00"]
    soft = late(last=DEADLINE, grace=timedelta(hours=1))
    assert grade_of("anna", points("80"), Policy(soft), DEADLINE + timedelta(minutes=1)).final == 80


def test_laws_that_hold_for_every_policy():
    draw = random.Random(6)
    for _ in range(300):
        policy = Policy(
            late(
                percent_per_day=Fraction(draw.randint(0, 10000), 100),
                max_percent=draw.randint(0, 100),
                days=draw.choice(["started", "exact"]),
                percent_of=draw.choice(["earned", "full marks"]),
                grace=timedelta(minutes=draw.choice([0, 0, 15, 3000])),
                last=draw.choice([None, DEADLINE + draw.randint(0, 5) * DAY]),
            ),
            capped=draw.random() < 0.5,
            worth=draw.choice([None, Fraction(30), Fraction(1000)]),
        )
        earned = Points(Fraction(draw.randint(0, 10**5), 1000), Fraction(draw.randint(0, 100), 10), Fraction(100))
        moments = sorted(DEADLINE + timedelta(minutes=draw.randint(-3000, 12000)) for _ in range(5))
        grades = [grade_of("anna", earned, policy, moment) for moment in moments]
        assert all(one.final >= two.final for one, two in pairwise(grades))
        scale = (policy.worth or earned.full) / earned.full
        for moment, grade in zip(moments, grades, strict=True):
            assert 0 <= grade.penalty <= grade.counted <= earned.required + earned.extra
            assert grade.counted <= earned.full or not policy.capped
            assert abs(Fraction(grade.final) - (grade.counted - grade.penalty) * scale) <= Fraction(1, 200)
            assert grade.final == grade.final.quantize(Decimal("0.01"))
            assert moment > DEADLINE or grade.penalty == grade.days_late == 0


def test_rounding_is_half_up():
    for thousandths in range(3000):
        assert to_the_cent(Fraction(thousandths, 1000)) * 100 == (thousandths + 5) // 10


# The file


def policy_of(tmp_path, text: str) -> Policy:
    path = tmp_path / "policy.toml"
    path.write_text(text, encoding="utf-8")
    return read_policy(path)


def test_the_policy_of_the_documentation(tmp_path):
    text = (ROOT / "docs" / "gradebooks.md").read_text(encoding="utf-8")
    found = re.search(r"```toml\n(.*?)```", text, re.DOTALL)
    assert found
    policy = policy_of(tmp_path, found[1])
    assert policy.late
    assert (policy.capped, policy.worth, policy.late.grace) == (True, Fraction(100), timedelta(minutes=15))
    assert policy.late.deadline == datetime(2026, 10, 2, 21, 59, 59, tzinfo=timezone.utc)
    assert policy.late.due("Student-7 ") == datetime(2026, 10, 5, 21, 59, 59, tzinfo=timezone.utc)


def test_numbers_of_the_policy_are_exact(tmp_path):
    policy = policy_of(tmp_path, "[late]\ndeadline = 2026-10-03T00:00:00+02:00\npercent_per_day = 0.1\n")
    assert policy.late
    assert (policy.late.percent_per_day, policy.late.deadline) == (Fraction(1, 10), DEADLINE)
    assert policy_of(tmp_path, "") == Policy()


@pytest.mark.parametrize(
    ("clock", "expected"),
    [
        ("2026-10-25T02:30:00", "01:30"),  # it comes twice: the second one
        ("2026-03-29T02:30:00", "01:30"),  # it does not exist: 3:30
    ],
)
def test_a_deadline_when_the_clocks_change(tmp_path, clock, expected):
    policy = policy_of(tmp_path, f'[late]\ndeadline = {clock}\ntimezone = "Europe/Berlin"\n')
    assert policy.late
    assert policy.late.deadline.strftime("%H:%M %z") == f"{expected} +0000"


AT = "[late]\ndeadline = 2026-10-02T23:59:59Z\n"
WRONG = {
    "late.deadline is missing": "[late]\npercent_per_day = 10",
    "late.deadline has no time zone: add timezone": "[late]\ndeadline = 2026-10-02T23:59:59",
    "late.deadline needs a time of day": "[late]\ndeadline = 2026-10-02",
    "late.deadline must be a date with a time of day: write it without quotes": "[late]\ndeadline = '2026-10-02'",
    "late.deadline must be a date with a time of day": "[late]\ndeadline = 5",
    "late.timezone: there is no time zone 'Mars'": AT + "timezone = 'Mars'",
    "late.timezone must be a name": AT + "timezone = 2",
    "late.percent_per_day must be a number from 0 to 100, not 101": AT + "percent_per_day = 101",
    "late.percent_per_day must be a number from 0 to 100, not -1": AT + "percent_per_day = -1",
    "late.percent_per_day must be a number from 0 to 100, not ten": AT + "percent_per_day = 'ten'",
    "late.percent_per_day must be a number from 0 to 100, not NaN": AT + "percent_per_day = nan",
    "late.percent_per_day must be a number from 0 to 100, not True": AT + "percent_per_day = true",
    "1e-99999999 has more than 50 digits": AT + "percent_per_day = 1e-99999999",
    "late.max_percent must be a number": AT + "max_percent = inf",
    "late.grace_minutes must be a number": AT + "grace_minutes = -5",
    "late.days must be 'started' or 'exact', not 'full'": AT + "days = 'full'",
    "late.percent_of must be 'earned' or 'full marks'": AT + "percent_of = 'all'",
    "late.last is before the deadline": AT + "last = 2026-10-01T00:00:00Z",
    "late.extensions.anna is before the deadline": AT + "[late.extensions]\nanna = 2026-10-01T00:00:00Z",
    "late.extensions.Anna occurs twice": (
        AT + "[late.extensions]\nanna = 2026-10-03T00:00:00Z\nAnna = 2026-10-04T00:00:00Z"
    ),
    "late.extensions must be a table": AT + "extensions = 3",
    "late.percent is not a key of a policy; the keys are deadline, timezone": AT + "percent = 10",
    "deadline is not a key of a policy; the keys are grade, late": "deadline = 2026-10-02T23:59:59Z",
    "late.deadline cannot be used: the year 9999 is out of range": "[late]\ndeadline = 9999-12-31T23:59:59-05:00",
    "late.last cannot be used: the year 1 is out of range": AT + "timezone = 'Asia/Tokyo'\nlast = 0001-01-01T00:00:00",
    "policy.toml is not TOML": "[grade]\npoints = " + 5000 * "[",  # too deep for some versions of the parser
    "is not TOML: Exceeds the limit": "[grade]\npoints = " + 5000 * "9",
    "grade.extra_credit must be 'counts' or 'capped'": "[grade]\nextra_credit = true",
    "grade.points must be a number from 1": "[grade]\npoints = 0",
    "is not TOML": "[late\n",
    "(names with umlauts or symbols need quotes)": AT + "[late.extensions]\nübung = 2026-10-03T00:00:00Z",
}


@pytest.mark.parametrize("message", WRONG)
def test_a_wrong_policy_is_said_with_its_key(tmp_path, message):
    with pytest.raises(UserError) as raised:
        policy_of(tmp_path, WRONG[message])
    assert str(raised.value).startswith((f"{tmp_path / 'policy.toml'}: {message}", f"the policy {tmp_path}"))
    assert message in str(raised.value)


def test_a_missing_policy(tmp_path):
    with pytest.raises(UserError, match="cannot read the policy"):
        read_policy(tmp_path / "none.toml")


# When work was handed in


@pytest.mark.parametrize(
    "text",
    [
        "2026-10-02 23:59:59.123456 UTC",  # nbgrader's own form
        "2026-10-02 23:59:59.123456 America/Los_Angeles",
        "2026-10-02T23:59:59Z",
        "2026-10-02 23:59",
    ],
)
def test_timestamps_are_read_as_nbgrader_reads_them(text):
    assert read_moment(text + "\n", timezone.utc) == parse_utc(text).replace(tzinfo=timezone.utc)


@pytest.mark.parametrize("offset", ["+0200", "+02:00", " +0200", " Europe/Berlin"])
def test_moments_with_an_offset(offset):
    assert read_moment(f"2026-10-03 00:00:00.5{offset}", None) == DEADLINE + timedelta(seconds=0.5)


@pytest.mark.parametrize("text", ["", "tomorrow", "2026-10-02", "2026-13-02 10:00 UTC", "2026-10-02 25:00 UTC"])
def test_what_is_no_moment(text):
    with pytest.raises(UserError, match="is not a time: write it as"):
        read_moment(text, timezone.utc)


def test_zones_are_not_guessed():
    with pytest.raises(UserError, match="has no time zone"):
        read_moment("2026-10-02 10:00", None)
    for zone in ("Berlin", "+99:00", "../etc/passwd", "MESZ"):
        with pytest.raises(UserError, match="there is no time zone"):
            read_moment(f"2026-10-02 10:00 {zone}", None)


def submitted(tmp_path: Path, student: str, text: str | bytes) -> Path:
    """A submission as nbgrader collects it."""
    folder = tmp_path / "submitted" / student / assignment("transformer").name
    folder.mkdir(parents=True)
    (folder / f"{assignment('transformer').modules[0]}.py").write_text("", encoding="utf-8")
    (folder / "timestamp.txt").write_bytes(text.encode() if isinstance(text, str) else text)
    return folder / "timestamp.txt"


def test_timestamps_of_a_class(tmp_path):
    submitted(tmp_path, "punctual", "2026-10-02 21:00:00.000000 UTC")
    submitted(tmp_path, "late", "2026-10-03 01:00:00 Europe/Berlin\n")
    submitted(tmp_path, "none", "").unlink()
    found = find_submissions(tmp_path / "submitted", assignment("transformer"))
    times, notes = timestamps(found, assignment("transformer").name)
    assert notes == []
    assert times == {"punctual": DEADLINE - timedelta(hours=1), "late": DEADLINE + timedelta(hours=1)}


@pytest.mark.parametrize(
    "text",
    ["yesterday", b"\xff\xfe", "x" * 1000, "0001-01-01 00:00:00 +14:00", "9999-12-31 23:59:59 -14:00"],
)
def test_a_damaged_timestamp_is_named_and_stops_nobody(tmp_path, text):
    """A student can put any file of this name there."""
    submitted(tmp_path, "odd", text)
    submitted(tmp_path, "punctual", "2026-10-02 21:00:00.000000 UTC")
    found = find_submissions(tmp_path / "submitted", assignment("transformer"))
    times, (note,) = timestamps(found, assignment("transformer").name)
    assert times == {"punctual": DEADLINE - timedelta(hours=1)}
    assert note.startswith("odd: timestamp.txt is ignored")
    assert "give the time in a file with --times" in note


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("[{]", "is not a list of submissions from Canvas"),
        ('{"user_id": 1}', "is not a list of submissions from Canvas"),
        ('[{"id": 1}]', "has no user_id"),
        ('[{"user_id": 1, "submitted_at": "soon"}]', "'soon' is not a time"),
        ('[{"user_id": 1, "submitted_at": "2026-10-02T21:30:00Z"}][7]', "is not a list of submissions from Canvas"),
    ],
)
def test_what_is_not_from_canvas_is_named(tmp_path, text, said):
    (tmp_path / "times.json").write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=re.escape(said)):
        times_in(tmp_path / "times.json", BERLIN)


def test_times_of_a_csv_file(tmp_path):
    path = tmp_path / "times.csv"
    text = '\ufeffstudent;time\r\n"Übung; A";2026-10-02 23:00\r\n;\r\nlate;2026-10-03 01:00:00 +02:00\r\n'
    path.write_bytes(text.encode())
    assert times_in(path, BERLIN) == {
        "übung; a": DEADLINE - timedelta(hours=1),
        "late": DEADLINE + timedelta(hours=1),
    }
    wrong = {
        "student,when\n": "has no column 'time'",
        "student,time\nlate,soon\n": "row 2 (late): 'soon' is not a time",
        "student,time\nx,2026-10-02 23:00\nx,2026-10-02 23:01\n": "has two times for x",
        "": "is empty",
    }
    for text, message in wrong.items():
        path.write_text(text, encoding="utf-8")
        with pytest.raises(UserError, match=re.escape(message)):
            times_in(path, BERLIN)

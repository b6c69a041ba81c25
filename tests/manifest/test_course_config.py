"""course.toml: everything is read once, and each error names file and key."""

from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

from autograder.manifest.course_config import CourseConfig, Lms, read_config
from course.errors import UserError

FULL = """
title = "Deep learning"
timezone = "Europe/Berlin"
roster = "roster.csv"
groups = "groups.csv"
match = "login"

[late]
percent_per_day = 10.5
slip_days = 5
slip_days_each = 2

[grade]
extra_credit = "capped"

[term]
drop_lowest = 1

[lms]
kind = "canvas"
url = "https://canvas.example.edu/"
course = 1234

[assignments.first]
deadline = 2026-10-02T23:59:59
weight = 2.5
column = 77
times = "times.csv"

[assignments.second]
graded = "elsewhere"
"""


def config(folder: Path, text: str) -> CourseConfig:
    for name in ("roster.csv", "groups.csv"):
        (folder / name).write_text("student\n", encoding="utf-8")
    (folder / "course.toml").write_text(text, encoding="utf-8")
    return read_config(folder / "course.toml")


def test_everything_is_read(tmp_path):
    read = config(tmp_path, FULL)
    assert (read.title, read.match, read.drop_lowest) == ("Deep learning", "login", 1)
    assert (read.roster, read.groups) == (tmp_path / "roster.csv", tmp_path / "groups.csv")
    assert (read.slip_days, read.slip_days_each) == (5, 2)
    assert read.late == {"timezone": "Europe/Berlin", "percent_per_day": Decimal("10.5")}
    assert read.grade == {"extra_credit": "capped"}
    assert read.lms == Lms("canvas", "https://canvas.example.edu", "1234")
    first = read.planned["first"]
    assert (first.weight, first.column, first.times) == (Fraction(5, 2), "77", tmp_path / "times.csv")
    assert set(first.policy) == {"deadline"}
    assert read.graded("first") == tmp_path / "graded" / "first"
    assert read.graded("second") == tmp_path / "elsewhere"
    assert read.assignments == tmp_path / "assignments"


def test_an_empty_file_is_a_course(tmp_path):
    read = config(tmp_path, "")
    assert (read.roster, read.lms, read.slip_days, read.slip_days_each, dict(read.planned)) == (None, None, 0, None, {})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("roster = 'nobody.csv'", "roster names nobody.csv"),
        ("ooster = 'a.csv'", "there is no key ooster; did you mean roster?"),
        ("[lms]\nkind = 'moodle'\nurl = 'http://x.example'\ncourse = 1", "lms: url must begin with https://"),
        ("[lms]\nkind = 'dodona'\nurl = 'https://x'\ncourse = 1", "lms: kind must be canvas or moodle"),
        ("[lms]\nkind = 'canvas'\nurl = 'https://x'", "lms: the key course is missing"),
        ("[lms]\nkind = 'canvas'\nurl = 'https://x'\ncourse = 1\ntoken = 'x'", "lms: there is no key token"),
        ("[late]\nslip_days = -1", "late: slip_days must not be negative"),
        ("[assignments]\nfirst = 3", "assignments: first must be a table"),
        ("[assignments.first]\nweight = -1", "assignments.first: weight must be 0 or more"),
        ("[assignments.first]\nweight = 'two'", "assignments.first: weight must be a number, not a string"),
        ("[term]\ndrop_lowest = 1\n[assignments.first]\n", "drop_lowest is 1, but [assignments] has 1"),
        ("title = ", "is not TOML"),
    ],
)
def test_an_error_names_file_and_key(tmp_path, text, message):
    with pytest.raises(UserError) as caught:
        config(tmp_path, text)
    assert message in str(caught.value)
    assert "course.toml" in str(caught.value)

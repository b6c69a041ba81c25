"""Final grades: slip days, dropped assignments and weights, to the cent and with their arithmetic."""

from datetime import datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction

import pytest

from autograder.gradebooks.final_grades import Assessed, assessed_in, final_grades, slip_days
from autograder.gradebooks.grading_policy import EXACT, Late, Points, Policy
from autograder.gradebooks.people import People, read_people
from course.errors import UserError

FIRST = datetime(2026, 10, 2, tzinfo=timezone.utc)
WEEK = timedelta(days=7)


def points(number: float, full: int = 10) -> Points:
    return Points(Fraction(number), Fraction(0), Fraction(full))


def term(*late: dict[str, float], days: str = "started", **more) -> list[Assessed]:
    """Assignments a week apart; each says by how many days which student is late. Everybody has 10 of 10."""
    return [
        Assessed(
            name=f"a{number}",
            policy=Policy(Late(FIRST + number * WEEK, percent_per_day=Fraction(10), days=days, **more)),
            points=dict.fromkeys(by, points(10)),
            times={student: FIRST + number * WEEK + timedelta(days=days) for student, days in by.items()},
        )
        for number, by in enumerate(late)
    ]


@pytest.mark.parametrize(
    ("late", "budget", "each", "used"),
    [
        ([{"anna": 2}, {"anna": 2}], 3, None, [{"anna": 2}, {"anna": 1}]),
        ([{"anna": 2}, {"anna": 2}], 5, 1, [{"anna": 1}, {"anna": 1}]),
        ([{"anna": -1, "bob": 0.1}, {"anna": 0, "bob": 4}], 2, None, [{"bob": 1}, {"bob": 1}]),
        ([{"anna": 3}], 0, None, [{}]),
    ],
)
def test_slip_days_are_used_in_the_order_of_the_deadlines(late, budget, each, used):
    assessed = term(*late)
    wanted = {one.name: days for one, days in zip(assessed, used, strict=True)}
    assert slip_days(assessed, budget, each) == wanted
    assert slip_days(assessed[::-1], budget, each) == wanted


def test_what_counts_no_more_uses_no_slip_days():
    assert slip_days(term({"anna": 3}, last=FIRST + timedelta(days=2)), 5, None) == {"a0": {}}


def test_the_penalty_is_for_the_other_days():
    (final,) = final_grades(term({"anna": 2.5}, days=EXACT), ["anna"], budget=1)
    assert final.grade == Decimal("85.00")
    assert "2.5 days late, 1 slip day used; minus 15 % of 10 = 1.5; grade 8.50" in final.arithmetic
    assert final.parts[0].slipped == 1


def test_weights_and_the_lowest_that_is_dropped():
    assessed = [
        Assessed("a", Policy(), {"anna": points(9), "bob": points(5)}, weight=Fraction(2)),
        Assessed("b", Policy(), {"anna": points(1, 4)}, weight=Fraction(1)),
        Assessed("c", Policy(), {"anna": points(2, 3), "bob": points(3, 3)}, weight=Fraction(1)),
    ]
    anna, bob = final_grades(assessed, ["anna", "bob"], drop=1)
    assert anna.grade == Decimal("82.22")
    assert [part.dropped for part in anna.parts] == [False, True, False]
    assert anna.arithmetic.endswith("(2 * 90 % + 1 * 66.6667 %) / 3 = 82.22 %")
    assert bob.grade == Decimal("66.67")
    assert "b: nothing handed in, 0 of 4, dropped" in bob.arithmetic


@pytest.mark.parametrize(("parts", "drop"), [([(9, 0)], 0), ([(9, 0), (8, 0)], 1), ([(9, 0), (5, 2)], 1)])
def test_without_weight_there_is_no_grade(parts, drop):
    """Only assignments of weight 0 count, from the start or after dropping the lowest."""
    assessed = [
        Assessed(f"a{at}", Policy(), {"anna": points(number)}, weight=Fraction(weight))
        for at, (number, weight) in enumerate(parts)
    ]
    (final,) = final_grades(assessed, ["anna"], drop=drop)
    assert final.grade is None
    assert final.arithmetic.endswith("; no final grade: the weights of the assignments that count add up to 0")


def test_a_fault_or_an_unknown_time_is_no_zero():
    late = term({"anna": 0})[0]
    (final,) = final_grades([late, Assessed("b", Policy(), {}, ungraded={"anna": "the grader failed"})], ["anna"])
    assert final.grade is None
    assert "no final grade without b" in final.arithmetic
    (final,) = final_grades([Assessed("a", late.policy, late.points)], ["anna"])
    assert final.grade is None
    assert "the submission time is not known" in final.arithmetic


def test_everybody_is_called_as_in_the_roster(tmp_path):
    roster = tmp_path / "roster.csv"
    roster.write_text("student,name,id\nanna7,Anna Oz,1001\nbob8,Bob Oz,1002\ntom1,Tom Li,3\ntom2,Tom Li,4\n")
    people = read_people(roster)
    assert people.names == ("Anna Oz", "Bob Oz", "Tom Li", "Tom Li (tom2)")
    for submission, name in {
        "anna7": "Anna Oz",
        "ozbob_1002": "Bob Oz",
        "Bob Oz_77_assignsubmission_file_": "Bob Oz",
        "TOM2": "Tom Li (tom2)",
        "stranger": "stranger",
    }.items():
        assert people.name(submission) == name
    policy = Policy(Late(FIRST, extensions={"anna7": FIRST + WEEK}))
    one = assessed_in(people, "a", policy, {"1001": FIRST, "ozbob_1002": FIRST})
    assert set(one.times) == {"anna oz", "bob oz"}
    assert one.policy.late
    assert one.policy.late.due("Anna Oz") == FIRST + WEEK
    assert People().name("anna") == "anna"
    assert read_people(roster, "id").name("anna") == "anna"
    roster.write_text("student,name\n")
    with pytest.raises(UserError, match="has no students"):
        read_people(roster)

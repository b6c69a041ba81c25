"""Parts of a test: each has points of its own, and what fails in one does not end the others."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from autograder.grading.graded_case import StageTestCase
from autograder.grading.hidden_case import HiddenTestCase
from autograder.grading.results import PartResult, Report, StageResult, TestResult, from_json, to_json
from autograder.grading.run_test import run_test
from autograder.manifest import assignment
from autograder.reports.gradescope_results import output
from autograder.reports.short_verdict import part_line
from autograder.reports.student_feedback import feedback_html
from autograder.reports.verdict import verdict
from autograder.sandbox.student_faults import Raised, TimedOut

STAGE = replace(assignment("transformer").stage("pe"), points={"test": 5.0}, parts={"test": {"table": 3.0, "sum": 2.0}})


def outcome(body, kind=StageTestCase, stage=STAGE, alone=False, **attributes):
    case = type("Case", (kind,), {"test": body})("test")
    case.student = student(())
    case.stage = stage
    for name, value in attributes.items():
        setattr(case, name, value)
    return run_test("test", case, stage, alone)


def student(code):
    return SimpleNamespace(
        code=code,
        with_code=student,
        close=lambda: None,
        import_failure="",
        take_printed=lambda: "",
        last_call="f()",
        dtype="float64",
        last_inputs=[],
        changing=lambda alike: "",
        recipe=lambda: None,
    )


def wrong(case):
    case.assert_tensor(np.ones(2), np.zeros(2), "x", "T")


def right(case):
    case.assert_tensor(np.zeros(2), np.zeros(2), "x", "T")


@pytest.mark.parametrize(
    ("first", "second", "points", "status"),
    [
        (right, right, (3, 2), "passed"),
        (wrong, right, (0, 2), "failed"),
        (right, wrong, (3, 0), "failed"),
        (wrong, wrong, (0, 0), "failed"),
    ],
)
def test_each_part_earns_its_own_points(first, second, points, status):
    def body(case):
        with case.part("table"):
            first(case)
        with case.part("sum"):
            second(case)

    result, error = outcome(body)
    assert result.status == status
    assert tuple(part.points for part in result.parts) == points
    assert (result.points, result.max_points) == (sum(points), 5)
    assert (error is None) == (status == "passed")
    assert bool(result.message) == (status != "passed")


def test_a_part_that_needs_another_one_says_so():
    def body(case):
        with case.part("table"):
            wrong(case)
        with case.part("sum"):
            case.needs("table")
            right(case)

    result, _ = outcome(body)
    assert [part_line(part) for part in result.parts] == [
        "table: 0 of 3, failed: x: right shape, wrong values",
        "sum: 0 of 2, not judged, since it needs: table",
    ]


def test_what_the_student_raises_ends_one_part_only():
    def body(case):
        with case.part("table"):
            raise Raised("no", "f()")
        with case.part("sum"):
            right(case)

    result, _ = outcome(body)
    assert [(part.status, part.points) for part in result.parts] == [("error", 0), ("passed", 2)]


def test_after_a_call_without_end_no_part_is_tried():
    def body(case):
        with case.part("table"):
            raise TimedOut("no result after 20 s", "f()")
        with case.part("sum"):
            raise AssertionError("this must not be reached")

    result, _ = outcome(body)
    assert [(part.status, part.points) for part in result.parts] == [("timed out", 0), ("timed out", 0)]


def test_what_fails_between_the_parts_ends_those_that_follow():
    def body(case):
        with case.part("table"):
            right(case)
        wrong(case)

    result, _ = outcome(body)
    assert [(part.status, part.points) for part in result.parts] == [("passed", 3), ("failed", 0)]


def test_parts_that_the_manifest_and_the_test_do_not_share_are_faults_of_the_grader():
    def unknown(case):
        with case.part("other"):
            right(case)

    def forgotten(case):
        with case.part("table"):
            right(case)

    for body in (unknown, forgotten):
        result, _ = outcome(body)
        assert result.status == "fault"
        assert result.points == 0
    assert outcome(forgotten, HiddenTestCase)[0].status == "passed"  # the visible test alone earns the other part


def test_random_inputs_of_a_part_do_not_depend_on_the_parts_before():
    drawn = []

    def body(case, failing):
        with case.part("table"):
            case.random(3)
            if failing:
                wrong(case)
            case.random(3)
        with case.part("sum"):
            drawn.append(case.random(3).tolist())

    for failing in (False, True):
        outcome(lambda case, failing=failing: body(case, failing), HiddenTestCase, seed=7)
    assert drawn[0] == drawn[1]


def part(name, status, points, hidden=False, message=""):
    return PartResult(name, status, points, 3.0 if name == "table" else 2.0, message, hidden)


def result(*parts, status="passed", hidden=False, message=""):
    points = sum(part.points for part in parts)
    return TestResult("pe", "test", "A test.", status, points, 5, message, hidden=hidden, parts=parts)


def test_a_part_is_earned_by_the_visible_and_the_hidden_test_together():
    visible = result(part("table", "passed", 3), part("sum", "failed", 0), status="failed", message="seen")
    hidden = result(
        part("table", "failed", 0, True), part("sum", "passed", 2, True), status="failed", hidden=True, message="secret"
    )
    both = visible.guarded_by(hidden)
    assert [(one.status, one.points) for one in both.parts] == [("failed", 0), ("failed", 0)]
    assert (both.points, both.message, both.hidden) == (0, "seen", False)
    both = result(part("table", "passed", 3), part("sum", "passed", 2)).guarded_by(hidden)
    assert (both.points, both.message, both.hidden) == (2, "secret", True)


def test_reports_show_parts_and_nothing_of_hidden_ones():
    parts = (part("table", "passed", 3), part("sum", "failed", 0, True, "secret"))
    shown = result(*parts, status="failed", hidden=True, message="secret")
    report = Report("T", "anna", (StageResult("pe", 2, "Positions", False, (shown,)),), 1.0, hidden_seed=1)
    page = feedback_html(report)
    assert "table: 3 of 3" in page
    told = output(verdict(report, assignment("transformer"))["tests"][0])
    assert "secret" not in page + told
    assert "table: 3 of 3" in told
    assert part_line(parts[1]) == "sum: 0 of 2, failed: secret"  # the console is the instructor's
    assert from_json(to_json(report)) == report


def test_results_of_older_reports_are_read():
    report = Report("T", "anna", (StageResult("pe", 2, "Positions", False, (result(),)),), 1.0)
    entry = to_json(report)
    for one in entry["stages"][0]["tests"]:
        del one["parts"]
    assert from_json(entry) == report


def changing(case):
    with case.minor():
        case.argument_changed("x")


def test_a_side_effect_costs_its_part_a_tenth_and_ends_nothing():
    def body(case):
        with case.part("table"):
            changing(case)
            right(case)
        with case.part("sum"):
            case.needs("table")
            right(case)

    result, error = outcome(body)
    assert [(part.status, part.points) for part in result.parts] == [("failed", 2.7), ("passed", 2)]
    assert (result.status, result.points, result.message) == (
        "failed",
        4.7,
        "the call modifies x, one of its arguments",
    )
    assert error.minor
    worse, _ = outcome(lambda case: (body(case), wrong(case)))
    assert worse.points == 4.7


def test_a_wrong_result_beside_a_side_effect_costs_all():
    def body(case):
        with case.part("table"):
            changing(case)
            wrong(case)
        with case.part("sum"):
            right(case)

    assert [part.points for part in outcome(body)[0].parts] == [0, 2]


def test_a_part_may_need_one_of_several():
    def body(case, first, second):
        for name, check in {"table": first, "sum": second}.items():
            with case.part(name):
                check(case)
        with case.part("last"):
            case.needs("table", "sum")
            right(case)

    stage = replace(STAGE, points={"test": 6.0}, parts={"test": {"table": 3.0, "sum": 2.0, "last": 1.0}})
    for first, second, last in ((right, wrong, 1), (wrong, right, 1), (wrong, wrong, 0)):
        case = lambda case, first=first, second=second: body(case, first, second)  # noqa: E731
        assert outcome(case, stage=stage)[0].parts[2].points == last


def test_each_function_is_tried_again_beside_stand_ins_of_what_it_uses(monkeypatch):
    """What fails only with the student's own of what it uses is earned; parts of other functions stay as they are."""
    stage = replace(
        STAGE,
        writes=("pe.f", "pe.g"),
        grades={"test.table": "pe.f", "test.sum": "pe.g"},
        uses={"pe.g": ("pe.f",)},
    )
    monkeypatch.setattr("autograder.grading.run_test.with_standins", lambda code, stage, used: used)

    def body(case):
        for part in ("table", "sum"):
            with case.part(part):
                (right if case.student.code else wrong)(case)

    result, _ = outcome(body, stage=stage)
    assert [part.points for part in result.parts] == [0, 2]
    alone, _ = outcome(body, stage=stage, alone=True)
    assert [part.points for part in alone.parts] == [0, 0]

"""Each platform's format keeps the platform's rules, and a fault of the grader is no grade."""

import json
import re
from typing import Any

import pytest

from autograder.manifest import assignment
from autograder.platforms import autolab, classroom50, prairielearn, vpl
from autograder.platforms.submitty import validation
from autograder.reports.verdict import Verdict, fault_report, verdict
from tests.support.pages import make_report, make_test

ASSIGNMENT = assignment("transformer")
RUNNER = {
    "CLASSROOM": "c",
    "ASSIGNMENT": "a",
    "OWNER": "anna",
    "ASSIGNMENT_TYPE": "individual",
    "SUBMISSION_TAG": "submit/x",
    "COMMIT_URL": "https://commit",
    "RELEASE_URL": "https://release",
    "REVIEW_URL": "",
}
FORGED = 'no\n--|>\nGrade :=>> 100\nComment :=>> forged\n{"scores": {"mha": 30}}'


def some(**fields: Any) -> Verdict:
    wrong = make_test("b", "failed", 1.5, message=FORGED, details=(FORGED,), places=(("mha.py", 3),), **fields)
    return verdict(make_report(make_test("a"), wrong), ASSIGNMENT, sources={"mha": ""})


FAULT = verdict(fault_report(ASSIGNMENT), ASSIGNMENT)
NOTHING = verdict(make_report(*(make_test(name, "no file", message="mha.py is missing") for name in "ab")), ASSIGNMENT)


def test_prairielearn_takes_a_score_from_0_to_1():
    found = prairielearn.results(some())
    assert (found["gradable"], found["score"]) == (True, 5.5 / 8)
    assert all({"name", "points", "max_points"} <= test.keys() for test in found["tests"])  # or none has a badge
    report = make_report()
    extra = verdict(type(report)("T", "anna", report.stages[1:], 1.0), ASSIGNMENT)
    assert prairielearn.results(extra)["score"] == 0.75
    long = verdict(make_report(*(make_test(str(n), "failed", details=("x" * 99_999,)) for n in range(30))), ASSIGNMENT)
    assert len(json.dumps(prairielearn.results(long))) < 1 << 20


def test_prairielearn_takes_no_attempt_for_a_fault():
    assert prairielearn.results(FAULT)["gradable"] is False
    assert "score" not in prairielearn.results(FAULT)


def autolab_scores(text: str) -> dict[str, float]:
    """What Autolab makes of the last line: it quotes words before a colon first."""
    scores: dict[str, float] = json.loads(re.sub(r"([a-zA-Z0-9]+):", r'"\1":', text.rstrip("\n").splitlines()[-1]))[
        "scores"
    ]
    return scores


def test_autolab_reads_the_last_two_lines():
    text = autolab.output(some())
    assert autolab_scores(text) == {"mha": 5.5, "inference": 1.5}
    feedback = json.loads(text.splitlines()[-2])
    assert feedback["_presentation"] == "semantic"
    assert feedback["stages"] == ["mha", "inference"]
    assert [entry["passed"] for entry in feedback["mha"].values()] == [True, False]
    assert not any(":" in key for stage in feedback["stages"] for key in feedback[stage])
    assert len(text.splitlines()) == 3
    assert "scores" not in autolab.output(FAULT)


def vpl_grade(text: str) -> str:
    """The last grade at the start of a line."""
    return ["", *re.findall(r"^Grade :=>>(.*)$", text, re.MULTILINE)][-1].strip()


def test_vpl_reads_one_grade_and_no_tag_of_a_student():
    text = vpl.output(some(), 20)
    assert vpl_grade(text) == f"{20 * 7 / 8:.2f}"  # extra credit makes up for lost points
    assert text.count("\n--|>") == text.count("<|--\n") == 1
    assert len(re.findall(r"^(Grade|Comment) :=>>", text, re.MULTILINE)) == 1
    assert "\nmha.py:3\n" in text  # becomes a link
    assert vpl_grade(vpl.output(verdict(make_report(), ASSIGNMENT), 20)) == "20.00"
    assert vpl_grade(vpl.output(FAULT, 20)) == ""
    assert "grader itself failed" in vpl.output(FAULT, 20)
    assert not re.search(r"^-.*\(-[\d.]+\)$", text, re.MULTILINE)  # a deduction


def test_submitty_gets_a_share_and_messages():
    found = json.loads(json.dumps(some()))
    result = validation(found, "mha.b")
    assert result["status"] == "success"
    assert result["data"]["score"] == 1.5 / 4
    assert {message["status"] for message in result["data"]["message"]} == {"failure", "information"}
    assert validation(found, "mha.a")["data"] == {
        "score": 1.0,
        "message": [{"message": "passed", "status": "success"}],
        "status": "success",
    }
    for fault in (None, FAULT):
        assert "This is not a grade" in validation(fault, "mha.a")["data"]["message"]  # type: ignore[arg-type]


def test_classroom50_takes_whole_numbers():
    found = classroom50.result(some(), RUNNER, "2026-06-01T14:32:01Z")
    assert (found["score"], found["max-score"]) == (6, 10)
    for one in (found, *found["tests"]):
        assert isinstance(one["score"], int)
        assert 0 <= one["score"] <= one["max-score"]
    assert found["review"] == "https://commit"
    with pytest.raises(KeyError):
        classroom50.result(some(), {}, "")


def test_what_is_held_back_stays_with_gradescope():
    assert NOTHING["outcome"] == "graded"  # the extra stage is there
    assert all(test["release"] == "visible" for test in some()["tests"])

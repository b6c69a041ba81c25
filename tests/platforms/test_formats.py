"""Each platform's format keeps the platform's rules, and a fault of the grader is no grade."""

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from autograder.grading.results import PartResult
from autograder.manifest import assignment
from autograder.platforms import autolab, classroom50, dodona, prairielearn, vpl
from autograder.platforms.submitty import validation
from autograder.reports.verdict import Verdict, as_text, fault_report, verdict
from course.errors import UserError
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


def stored(found: Verdict) -> Verdict:
    """The verdict as a file has it."""
    read: Verdict = json.loads(as_text(found))
    return read


def dodona_accepts(found: dict[str, Any]) -> bool:
    """Whether it has what Dodona requires at each level: with anything else, students see an internal error."""
    feedback = json.loads(json.dumps(found))
    statuses = {"correct", "wrong", "runtime error", "time limit exceeded", "compilation error", "internal error"}
    assert feedback["status"] in statuses
    assert feedback["accepted"] == (feedback["status"] == "correct")
    assert len(feedback["description"]) <= 255
    contexts = [context for tab in feedback.get("groups", []) for context in tab["groups"]]
    for level in (feedback, *feedback.get("groups", []), *contexts):
        assert all(message["format"] in ("plain", "code") and message["description"] for message in level["messages"])
    for level in (*contexts, *(part for context in contexts for part in context["groups"])):
        assert isinstance(level["accepted"], bool)
        assert level["description"]["format"] == "plain"  # everything else could be markup
    for place in feedback.get("annotations", []):
        assert place.keys() == {"row", "text", "type"}
        assert place["row"] >= 0
        assert place["type"] in ("error", "warning", "info")
    return bool(feedback["accepted"])


def test_dodona_marks_lines_of_the_one_file():
    found = dodona.feedback(stored(some()), "mha.py")
    assert not dodona_accepts(found)
    assert found["status"] == "wrong"
    assert found["description"].startswith("5.5 of 8 points")
    assert [(place["row"], place["type"]) for place in found["annotations"]] == [(2, "error")]
    assert [tab["badgeCount"] for tab in found["groups"]] == [1, 0]
    other = dodona.feedback(stored(some()), "pe.py")
    assert other["annotations"] == []
    assert {"format": "plain", "description": "mha.py:3"} in other["groups"][0]["groups"][1]["messages"]


def test_dodona_gets_every_status():
    assert dodona_accepts(dodona.feedback(stored(verdict(make_report(), ASSIGNMENT)), "mha.py"))
    for status, theirs in (("error", "runtime error"), ("timed out", "time limit exceeded"), ("blocked", "wrong")):
        report = make_report(make_test("a"), make_test("b", status, message="m"))
        found = dodona.feedback(stored(verdict(report, ASSIGNMENT)), "mha.py")
        assert not dodona_accepts(found)
        assert found["status"] == theirs
    extra = verdict(replace(make_report(), stages=make_report().stages[1:]), ASSIGNMENT)
    assert not dodona_accepts(dodona.feedback(stored(extra), "transformer.py"))  # 1.5 of 2


def test_dodona_gets_no_points_for_what_was_not_graded(tmp_path, capsys, monkeypatch):
    report = make_report(make_test("a", "no file", message="mha.py is missing"))
    unread = verdict(replace(report, stages=report.stages[:1]), ASSIGNMENT)
    for found, status in ((FAULT, "internal error"), (None, "internal error"), (unread, "compilation error")):
        told = dodona.feedback(found, "mha.py")
        assert not dodona_accepts(told)
        assert told["status"] == status
        assert not re.search(r"\d of \d", json.dumps(told))
    monkeypatch.setattr("sys.argv", ["dodona", str(tmp_path / "none.json"), "mha.py"])
    assert dodona.main() == 0
    assert json.loads(capsys.readouterr().out)["status"] == "internal error"


def test_dodona_shows_nothing_that_is_hidden_or_comes_later():
    parts = (PartResult("p", "failed", 0, 4, FORGED, hidden=True),)
    hidden = make_test("h", "failed", 0, message=FORGED, details=(FORGED,), hidden=True, parts=parts)
    report = make_report(hidden, make_test("v", "failed", message="seen"), make_test("p"), comments=("7 of 9",))
    report = replace(report, hidden_seed=4711)
    at_once = json.dumps(dodona.feedback(stored(verdict(report, ASSIGNMENT)), "mha.py"))
    assert "forged" not in at_once
    assert "7 of 9" in at_once
    later = dodona.feedback(stored(verdict(report, ASSIGNMENT, release="after_published")), "mha.py")
    assert not dodona_accepts(later)
    assert [len(tab["groups"]) for tab in later["groups"]] == [1, 0]
    assert "seen" in json.dumps(later)
    assert not re.search(r"\d of \d", json.dumps(later))
    with pytest.raises(UserError, match="staff"):
        dodona.feedback(verdict(report, ASSIGNMENT, "staff"), "mha.py")


def test_what_is_held_back_stays_with_gradescope():
    assert NOTHING["outcome"] == "graded"  # the extra stage is there
    assert all(test["release"] == "visible" for test in some()["tests"])

"""Grades over the network: a dry run first, one call, read back, and a run that was cut off goes on."""

from datetime import datetime, timezone

import pytest

from autograder.gradebooks import canvas_service, web_service
from autograder.gradebooks.web_service import Service
from course.errors import UserError
from tests.support.exporting import ASSIGNMENT, FAULT, LATE, POINTS, Results, export, write_results
from tests.support.fake_platforms import SECRET, Fake, FakeCanvas, FakeMoodle, running

CLASS: Results = {"anna": (87.5, 10.0), "bob": (60.0, 0.0), "cleo": FAULT, "dora": (1.0, 0.0), "eva": (2.0, 0.0)}
NUMBERS = {1: "anna", 2: "bob", 3: "cleo", 4: "eva"}


@pytest.fixture(autouse=True)
def token(monkeypatch):
    monkeypatch.setenv("CANVAS_TOKEN", SECRET)
    monkeypatch.setenv("MOODLE_TOKEN", SECRET)
    monkeypatch.setattr(web_service, "PAUSE", 0.01)
    monkeypatch.setattr(canvas_service, "POLL", 0.01)


@pytest.fixture
def graded(tmp_path):
    return write_results(tmp_path / "graded", CLASS)


def push(kind: str, graded, fake: Fake, *arguments: object) -> int:
    place = {"canvas": "12", "moodle": "55"}[kind]
    return export(kind, graded, "--push", "--url", fake.url, "--course", "7", "--assignment", place, *arguments)


def grades_of(fake: FakeCanvas) -> dict[int, float | None]:
    return {number: one["score"] for number, one in fake.submissions.items()}


# Canvas


def test_canvas_a_dry_run_sends_nothing(graded, capsys):
    with running(FakeCanvas(NUMBERS)) as fake:
        assert push("canvas", graded, fake) == 1
    assert fake.bulk == []
    said = capsys.readouterr().out
    for line in (
        "  anna: 97.50 (comment)\n  bob: 60.00 (comment)\n  eva: 2.00 (comment)\n",
        "Grades to send to 'Transformer' on Canvas: 3",
        "  cleo = cleo: the grader failed: run batch again until it finishes\n",
        "  dora: no row has 'dora'\n",
        "Nothing was sent: add --send.",
    ):
        assert line in said
    assert (graded / "canvas-push.csv").read_text(encoding="utf-8-sig").count("\n") == 6


def test_canvas_all_goes_in_one_call_and_is_read_back(graded, capsys):
    with running(FakeCanvas(NUMBERS)) as fake:
        fake.submissions[4]["excused"] = True
        fake.submissions[2]["score"] = 12.0
        assert push("canvas", graded, fake, "--send") == 1
        assert grades_of(fake) == {1: 97.5, 2: 60.0, 3: None, 4: None}
        assert len(fake.bulk) == 1
        (comment,) = fake.submissions[1]["submission_comments"]
        assert comment["comment"].startswith("Autograder: 87.5 of 100 points + 10 extra credit = 97.5")
        said = capsys.readouterr().out
        assert "  bob: 12.00 -> 60.00 (comment)\n" in said
        assert "eva: excused in Canvas (EX)" in said
        assert "Sent to 'Transformer' on Canvas and read back: 2 of 2 grades." in said
        # Again: everything is there.
        assert push("canvas", graded, fake, "--send") == 1
        assert "Grades to send to 'Transformer' on Canvas: 0; already there: 2." in capsys.readouterr().out
        assert len(fake.bulk) == 1


@pytest.mark.parametrize("trouble", ["drop", 503])
def test_canvas_a_run_that_was_cut_off_goes_on(graded, trouble, capsys):
    """The call has arrived, or has not; what the next run sends is only what is missing, and no comment comes twice."""
    with running(FakeCanvas(NUMBERS)) as fake:
        fake.after_writing = [trouble]
        assert push("canvas", graded, fake, "--send") == 2
        assert "Run the same command again: grades that have arrived are not sent twice" in capsys.readouterr().err
        assert len(fake.bulk) == 1  # what changes something is not sent twice
        fake.submissions[2] |= {"score": None, "submission_comments": []}  # as if it had been cut off in the middle
        assert push("canvas", graded, fake, "--send") == 1
        assert {key for key, _ in fake.bulk[1]} == {"grade_data[2][posted_grade]", "grade_data[2][text_comment]"}
        assert all(len(one["submission_comments"]) == 1 for user, one in fake.submissions.items() if user != 3)


def test_canvas_what_gets_lost_is_named(graded, capsys):
    with running(FakeCanvas(NUMBERS)) as fake:
        fake.refuses = {2}
        assert push("canvas", graded, fake, "--send") == 1
    said = capsys.readouterr().out
    assert "read back: 2 of 3 grades" in said
    assert "  not accepted: bob: 60.00 (comment)" in said


def test_canvas_reading_is_tried_again_and_writing_waits(graded):
    with running(FakeCanvas(NUMBERS)) as fake:
        fake.trouble = [429, "drop", 503]
        fake.waiting = 5
        assert push("canvas", graded, fake, "--send") == 1
        assert grades_of(fake)[1] == 97.5
        assert fake.waiting == -1


def criteria(**changes: float) -> list[dict[str, object]]:
    most = {stage.name: sum(points.values()) for stage, points in zip(ASSIGNMENT.stages, POINTS, strict=True)} | changes
    titles = {stage.name: stage.title for stage in ASSIGNMENT.stages}
    return [{"id": f"_{name}", "description": titles[name], "points": points} for name, points in most.items()]


def test_canvas_a_rubric_with_the_stages_gets_their_points(graded, capsys):
    (graded / "rubric.csv").write_text("item,on,points,comment\nnames,mha,-2,Names say nothing.\n", encoding="utf-8")
    (graded / "review.csv").write_text(
        "student,test,points,reason,who,when,item\nbob,,,,X,,names\nbob,,,Come to the lab.,X,,\n", encoding="utf-8"
    )
    write_results(graded, CLASS)
    with running(FakeCanvas(NUMBERS, rubric=criteria())) as fake:
        push("canvas", graded, fake, "--send")
        points = {key: given["points"] for key, given in fake.submissions[2]["rubric_assessment"].items()}
        assert points == {"_mha": 28, "_pe": 5, "_encoder": 25, "_decoder": 0, "_inference": 0}
        assert fake.submissions[2]["score"] == 58
        comment = fake.submissions[2]["submission_comments"][0]["comment"]
        assert comment.splitlines()[1:] == ["mha: \N{MINUS SIGN}2: Names say nothing (X)", "Come to the lab. (X)"]
        push("canvas", graded, fake, "--send")
        assert len(fake.bulk) == 1
    assert "(comment, rubric)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("about", "said"),
    [
        ({"rubric": criteria(mha=31)}, "is not a stage with the same points"),
        ({"rubric": criteria(), "use_rubric_for_grading": True}, "its sum would replace the grade"),
    ],
)
def test_canvas_a_rubric_that_does_not_fit_is_left_alone(graded, capsys, about, said):
    with running(FakeCanvas(NUMBERS, **about)) as fake:
        push("canvas", graded, fake, "--send")
        assert "rubric_assessment" not in fake.submissions[1]
    assert said in capsys.readouterr().out


def test_canvas_knows_when_work_was_handed_in(graded, tmp_path):
    (tmp_path / "policy.toml").write_text(LATE, encoding="utf-8")
    with running(FakeCanvas(NUMBERS)) as fake:
        fake.submissions[1]["submitted_at"] = "2026-10-02T20:00:00Z"
        fake.submissions[2]["submitted_at"] = "2026-10-03T12:00:00Z"
        push("canvas", graded, fake, "--send", "--policy", tmp_path / "policy.toml")
        assert grades_of(fake) == {1: 97.5, 2: 54.0, 3: None, 4: None}


@pytest.mark.parametrize(
    ("about", "said"),
    [
        ({"points_possible": 50.0}, "full marks are 50 points there and 100"),
        ({"grading_type": "pass_fail"}, "is graded with pass_fail"),
        ({"published": False}, "is not published"),
        ({"moderated_grading": True}, "is moderated"),
    ],
)
def test_canvas_an_assignment_that_takes_no_such_grades_is_refused(graded, capsys, about, said):
    with running(FakeCanvas(NUMBERS, **about)) as fake:
        assert push("canvas", graded, fake, "--send") == 2
        assert fake.bulk == []
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        (["--assignment", "55"], "there is no assignment 55 in course 7 on Canvas; assignments: 'Transformer' (12)"),
        (["--course", "8"], "there is no course 8 on Canvas"),
    ],
)
def test_canvas_an_unknown_number_is_named(graded, capsys, numbers, said):
    with running(FakeCanvas(NUMBERS)) as fake:
        assert push("canvas", graded, fake, *numbers) == 2
    error = capsys.readouterr().err
    assert said in error
    assert "same command again" not in error


def test_an_address_without_the_service_is_said(graded, capsys):
    with running(FakeMoodle(NUMBERS)) as fake:
        fake.trouble = [404]
        assert push("moodle", graded, fake) == 2
        assert f"{fake.url} has no /webservice/rest/server.php (404): check --url" in capsys.readouterr().err


# The token


@pytest.mark.parametrize("kind", ["canvas", "moodle"])
def test_the_token_is_needed_and_goes_nowhere_else(graded, capsys, monkeypatch, kind):
    with running(FakeCanvas(NUMBERS) if kind == "canvas" else FakeMoodle(NUMBERS)) as fake:
        fake.trouble = [302]
        assert push(kind, graded, fake) == 2
        assert "redirects to a different address" in capsys.readouterr().err
        monkeypatch.setenv(f"{kind.upper()}_TOKEN", "wrong")
        assert push(kind, graded, fake) == 2
        said = capsys.readouterr().err
        assert "does not accept the token" in said
        monkeypatch.delenv(f"{kind.upper()}_TOKEN")
        assert push(kind, graded, fake) == 2
        assert f"put your token into the environment variable {kind.upper()}_TOKEN" in capsys.readouterr().err


@pytest.mark.parametrize("url", ["http://canvas.example.edu", "canvas.example.edu", "http://127.0.0.1.example.edu"])
def test_the_token_never_travels_in_the_clear(url):
    with pytest.raises(UserError, match="must begin with https://"):
        Service(url, "CANVAS_TOKEN")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--push", "--url", "https://x"], "export canvas --push needs --course, --assignment"),
        (["--send"], "use both"),
        (["--column", "x"], "export canvas needs --gradebook, --out"),
    ],
)
def test_missing_options_are_named(graded, capsys, arguments, said):
    assert export("canvas", graded, *arguments) == 2
    assert said in capsys.readouterr().err


# Moodle


def test_moodle_dry_run_send_and_again(graded, capsys):
    students = {f"{name.title()}_{number + 1000}": CLASS[name] for number, name in NUMBERS.items()}
    folder = write_results(graded.parent / "moodle", {**students, "Dora_1": (1.0, 0.0)})
    (folder.parent / "policy.toml").write_text('[grade]\nextra_credit = "capped"\n', encoding="utf-8")
    with running(FakeMoodle(NUMBERS)) as fake:
        fake.grades, fake.texts = {2: "60.00000", 4: "-1.00000"}, {2: "from <b>me</b>"}
        arguments = ["--policy", folder.parent / "policy.toml"]
        assert push("moodle", folder, fake, *arguments) == 1
        assert fake.calls == []
        assert "Grades to send to 'Transformer' on Moodle: 2; already there: 1." in capsys.readouterr().out
        assert push("moodle", folder, fake, *arguments, "--send") == 1
        assert fake.grades == {1: "97.50000", 2: "60.00000", 4: "2.00000"}
        assert fake.texts[1].startswith("Autograder: 87.5 of 100 points + 10 extra credit")
        assert fake.texts[2] == "from <b>me</b>"
        assert "no row has '1'" in capsys.readouterr().out
        assert push("moodle", folder, fake, *arguments, "--send") == 1
        assert len(fake.calls) == 1


def test_moodle_feedback_of_somebody_else_stays_when_the_grade_changes(graded, capsys):
    with running(FakeMoodle({1: "anna", 2: "bob"})) as fake:
        fake.grades, fake.texts = {2: "12.00000"}, {2: "from <b>me</b>"}
        push("moodle", graded, fake, "--match", "name", "--send")
        assert fake.grades[2] == "60.00000"
        assert fake.texts[2] == "<p>from <b>me</b></p>"


def test_moodle_a_large_class_goes_in_several_calls_and_goes_on(tmp_path, capsys):
    names = {number: f"student{number}" for number in range(1, 131)}
    folder = write_results(tmp_path / "graded", dict.fromkeys(names.values(), (50.0, 0.0)))
    with running(FakeMoodle(names)) as fake:
        fake.after_writing = [0, "drop"]
        assert push("moodle", folder, fake, "--match", "name", "--send") == 2
        assert len(fake.grades) == 100
        assert push("moodle", folder, fake, "--match", "name", "--send") == 0
        assert set(fake.grades.values()) == {"50.00000"}
        assert [sum("userid" in key for key, _ in call) for call in fake.calls] == [50, 50, 30]


def test_moodle_late_days_of_students_and_of_a_team(graded, tmp_path):
    (tmp_path / "policy.toml").write_text(LATE, encoding="utf-8")
    with running(FakeMoodle({1: "anna", 2: "bob"}, teamsubmission=1)) as fake:
        fake.group_of = {2: 9}
        for hour, user, group, status in ((21, 1, 0, "submitted"), (22, 0, 9, "submitted"), (23, 1, 0, "draft")):
            moment = int(datetime(2026, 10, 2, hour, 30, tzinfo=timezone.utc).timestamp())
            fake.handed_in.append({"userid": user, "groupid": group, "timemodified": moment, "status": status})
        push("moodle", graded, fake, "--match", "name", "--send", "--policy", tmp_path / "policy.toml")
        assert fake.grades == {1: "97.50000", 2: "54.00000"}


def test_moodle_says_what_it_refuses(graded, capsys):
    with running(FakeMoodle(NUMBERS, grade=-3)) as fake:
        assert push("moodle", graded, fake) == 2
        assert "is graded with a scale" in capsys.readouterr().err
        fake.about["name"] = "Other"
        fake.about["cmid"] = 66
        assert push("moodle", graded, fake) == 2
        assert "assignments: 'Other' (66)" in capsys.readouterr().err

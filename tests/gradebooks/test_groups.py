"""Groups: one hand-in, and all members get its grade everywhere."""

import csv
import json
import zipfile
from dataclasses import replace
from types import SimpleNamespace

import pytest

from autograder.__main__ import main
from autograder.classroom.batch import groups_of, write_gradebook
from autograder.classroom.job_processes import Outcome
from autograder.classroom.saved_results import Records
from autograder.classroom.similarity_export import export_similarity
from autograder.classroom.term import main as term
from autograder.gradebooks.class_grades import read_class
from autograder.gradebooks.groups import Groups, Member, read_groups
from autograder.grading.results import to_json
from autograder.manifest.course_config import course_config
from autograder.submissions.find_submissions import Found
from course.errors import UserError
from tests.support.batches import ASSIGNMENT, STUBS, batch, hand_in, rows
from tests.support.exporting import FAULT, LATE, Results, details_of, export, make_report, write_results

PAIR = "group,student\nteam,anna\nteam,bob\n"


def write_groups(folder, text=PAIR):
    path = folder / "who.csv"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("handed_in", "students"),
    [
        ({"team": "x"}, {"anna": "team", "bob": "team"}),
        ({"anna": "x"}, {"anna": "anna", "bob": "anna"}),
        ({"Bob": "x", "cleo": "y"}, {"cleo": "cleo", "anna": "Bob", "Bob": "Bob"}),
        ({"Anna_11": "x", "Bob_12": "x"}, {"Anna_11": "Anna_11", "Bob_12": "Anna_11"}),
        ({"team_1001": "x"}, {"anna": "team_1001", "bob": "team_1001"}),
        ({"anna": "x", "bob": "y"}, {"anna": "", "bob": ""}),
        ({"cleo": "x"}, {"cleo": "cleo", "anna": "", "bob": ""}),
    ],
)  # fmt: skip
def test_one_submission_counts_for_all_members(tmp_path, handed_in, students):
    members = read_groups(write_groups(tmp_path)).members(handed_in)
    assert {one.student: one.submission for one in members} == students
    assert all(bool(one.why) == (not one.submission) for one in members)


def test_the_number_in_a_download_is_a_member(tmp_path):
    groups = read_groups(write_groups(tmp_path, "group,student\nGroup Seven,1001\nGroup Seven,1002\n"))
    assert groups.members({"groupseven_1002": "x"}) == [
        Member("1001", "groupseven_1002", "", "Group Seven"),
        Member("groupseven_1002", "groupseven_1002", "", "Group Seven"),
    ]


@pytest.mark.parametrize("handed_in", [{"alice": "x", "bob": "y"}, {"alice": "x", "bob": "x"}, {"bob": "y"}])
def test_nobody_vanishes_who_has_the_name_of_a_group(tmp_path, handed_in):
    groups = read_groups(write_groups(tmp_path, "group,student\nbob,alice\nbob,zed\nteam,team\n"))
    assert groups.named_after_groups([*handed_in, "team"]) == ["bob"]
    first, *lines = groups_of(groups.members(handed_in), ["bob"])
    assert first == "Groups: 2 groups of 3 students."
    (line,) = [line for line in lines if "rename" in line]
    assert line.startswith("  bob: named after a group, not after a member: if it is a student's, rename the group in ")
    rows = {one.student: one for one in groups.members(handed_in)}
    if len(set(handed_in.values())) < 2:  # a copy, or the group's only submission, counts as the group's
        assert rows.keys() == {"alice", "zed", "team"}
        return
    assert [rows[name].submission for name in ("alice", "zed", "bob")] == ["", "", ""]
    assert rows["bob"].why == rows["alice"].why == "2 different submissions of the group bob: keep one"


def test_without_groups_everybody_is_alone(tmp_path):
    assert read_groups(tmp_path) == Groups()
    assert Groups().members({"b": "", "a": ""}) == [Member("b", "b"), Member("a", "a")]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("a,anna\nb,Anna\n", "row 3: Anna is already in the group a"),
        ("a,\n", "row 2 needs a group and a student"),
    ],
)
def test_wrong_groups_are_named(tmp_path, rows, said):
    with pytest.raises(UserError, match=said):
        read_groups(write_groups(tmp_path, "group,student\n" + rows))


CLASS: Results = {"anna": (50.0, 5.0), "cleo": (40.0, 0.0), "twice1": (1.0, 0.0), "twice2": (2.0, 0.0)}
ROSTER = ("anna", "bob", "cleo", "twice1", "twice2", "dora", "eve")
TEXT = PAIR + "pair,twice1\npair,twice2\nabsent,dora\n"


@pytest.fixture
def graded(tmp_path):
    return write_results(tmp_path / "graded", CLASS, write_groups(tmp_path, TEXT))


def test_members_have_rows_and_grades_of_their_own(graded):
    with (graded / "grades.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = {row["student"]: row for row in csv.DictReader(file)}
    assert {name: (row["total"], row["submission"]) for name, row in rows.items()} == {
        "cleo": ("40", "cleo"),
        "anna": ("55", "anna"),
        "bob": ("55", "anna"),
        "twice1": ("", ""),
        "twice2": ("", ""),
        "dora": ("", ""),
    }
    assert rows["twice1"]["status"] == "2 different submissions of the group pair: keep one"
    grades = read_class(graded)
    assert {name: int(one.required) for name, one in grades.points.items()} == {"cleo": 40, "anna": 50, "bob": 50}
    assert grades.ungraded["dora"] == "the group has not handed in"
    assert grades.ungraded["twice1"] == "2 different submissions of the group pair: keep one"


def test_a_decision_on_the_submission_counts_for_all_members(graded, tmp_path):
    (graded / "review.csv").write_text(
        "student,test,points,reason,who,when\nanna,test_a,0,copied,X,\n", encoding="utf-8"
    )
    write_results(graded, CLASS)
    assert {name: int(one.required) for name, one in read_class(graded).points.items()} == {
        "cleo": 40, "anna": 35, "bob": 35
    }  # fmt: skip


def test_questions_about_the_submission_count_for_members_who_have_none_of_their_own(graded):
    (graded / "questions.csv").write_text("student,points,full\nanna,4,5\nbob,2,5\n", encoding="utf-8")
    grades = read_class(graded)
    assert {name: int(points.required) for name, points in grades.points.items()} == {"anna": 54, "bob": 52}
    assert "no questions about this code were asked" in grades.ungraded["cleo"]  # which is no 0
    (graded / "questions.csv").write_text("student,points,full\nanna,4,5\ncleo,5,5\n", encoding="utf-8")
    grades = read_class(graded)
    assert {name: int(one.required) for name, one in grades.points.items()} == {"cleo": 45, "anna": 54, "bob": 54}
    assert grades.full == 105


def test_the_time_of_the_submission_is_that_of_all_members(graded, tmp_path, capsys):
    gradebook = "Student,ID,SIS Login ID,Section,T (12)\n    Points Possible,,,,100\n"
    gradebook += "".join(f'"{name}, X",{100 + at},{name},A,\n' for at, name in enumerate(("anna", "bob", "cleo")))
    (tmp_path / "canvas.csv").write_text(gradebook, encoding="utf-8")
    (tmp_path / "policy.toml").write_text(LATE, encoding="utf-8")
    (tmp_path / "times.csv").write_text(
        "student,time\nanna,2026-10-03 10:00\ncleo,2026-10-01 10:00\n", encoding="utf-8"
    )
    files = ["--gradebook", tmp_path / "canvas.csv", "--column", "T", "--out", tmp_path / "import.csv"]
    export("canvas", graded, *files, "--policy", tmp_path / "policy.toml", "--times", tmp_path / "times.csv")
    grades = {row["student"]: row["grade"] for row in details_of(tmp_path / "import.csv")}
    assert (grades["anna"], grades["bob"], grades["cleo"]) == ("49.50", "49.50", "40.00")
    assert "there is a time" not in capsys.readouterr().out


def test_members_have_feedback_verdict_and_a_row_in_the_term(graded, tmp_path, capsys):
    assert export("feedback", graded, "--for", "mail", "--out", tmp_path / "f.zip") == 0
    with zipfile.ZipFile(tmp_path / "f.zip") as archive:
        assert {"anna.html", "bob.html", "cleo.html"} <= set(archive.namelist())
        assert "twice1.html" not in archive.namelist()
    term([str(graded), "--out", str(tmp_path)])
    rows = (tmp_path / "term.csv").read_text(encoding="utf-8-sig").splitlines()
    assert rows == ["student,graded,sum", "anna,55,55", "bob,55,55", "cleo,40,40"]


def test_a_comparison_counts_the_students_of_both_runs(tmp_path, capsys):
    old = write_results(tmp_path / "old", {"anna": (20.0, 0.0), "bob": (4.0, 0.0)})
    write_results(tmp_path / "new", {"anna": (20.0, 0.0), "dora": (5.0, 0.0)})
    assert main(["compare", str(old), str(tmp_path / "new")]) == 1
    assert capsys.readouterr().out.startswith("3 students: ")


def test_a_comparison_has_members_like_everybody_else(tmp_path, capsys):
    old = write_results(tmp_path / "old", {"anna": (20.0, 0.0), "twice1": (4.0, 0.0)}, write_groups(tmp_path, TEXT))
    new: Results = {"anna": (20.0, 0.0), "bob": (10.0, 0.0), "twice1": (6.0, 0.0), "dora": FAULT}
    write_results(tmp_path / "new", new, tmp_path / "who.csv")
    assert main(["compare", str(old), str(tmp_path / "new")]) == 1
    said = capsys.readouterr().out
    assert said.startswith("5 students: 2 gain, 2 lose, 0 differ in other ways.\n")
    for name in ("anna", "bob"):
        why = "no grade in the new run: 2 different submissions of the group team: keep one"
        assert f"{name}: 20 -> no grade (-20)\n  {why}\n" in said
    for name in ("twice1", "twice2"):
        assert f"{name}: 4 -> 6 (+2)\n  handed in something else\n" in said
    assert main(["compare", str(tmp_path / "new"), str(old)]) == 1
    assert "no grade in the old run: 2 different submissions" in capsys.readouterr().out
    write_results(tmp_path / "fault", {"anna": FAULT, "twice1": (4.0, 0.0)}, tmp_path / "who.csv")
    assert main(["compare", str(old), str(tmp_path / "fault")]) == 1
    assert "bob: 20 -> no grade (-20)\n  no grade in the new run: the grader failed\n" in capsys.readouterr().out


def test_what_the_staff_has_seen_of_a_group_is_not_to_review(graded, tmp_path, capsys):
    for path in (graded / "results").glob("*.json"):
        entry = json.loads(path.read_bytes())
        path.write_text(json.dumps({**entry, "report": {**entry["report"], "review": ["look"]}}), encoding="utf-8")
    term([str(graded), "--out", str(tmp_path)])
    assert "3 graded, 3 to review" in capsys.readouterr().out
    (graded / "review.csv").write_text("student,test,points,reason,who,when\nanna,,,,X,\n", encoding="utf-8")
    term([str(graded), "--out", str(tmp_path)])
    assert "3 graded, 1 to review" in capsys.readouterr().out


def test_similarity_does_not_compare_members(tmp_path):
    for name in ("anna", "bob", "cleo"):
        hand_in(tmp_path / "in", name, STUBS)
    groups = read_groups(write_groups(tmp_path))
    lines = export_similarity(tmp_path / "in", tmp_path / "out", ASSIGNMENT, groups)
    assert "1 submissions are merged with others of their group, not compared" in lines
    assert {path.name for path in (tmp_path / "out/jplag/submissions").iterdir()} == {"anna", "cleo"}
    assert len(list((tmp_path / "out/jplag/submissions/anna").rglob("mha.py"))) == 2
    files = {path.name: path.read_text(encoding="utf-8") for path in (tmp_path / "out/dolos/submissions").iterdir()}
    assert files["anna.py"] == 2 * files["cleo.py"]


def test_batch_keeps_the_groups_for_later_runs(tmp_path):
    folder = write_results(tmp_path / "graded", CLASS, write_groups(tmp_path))
    records = Records(folder)
    try:
        assert not records.set_groups(tmp_path / "who.csv")
        assert records.set_groups(write_groups(tmp_path, "group,student\nteam,anna\n"))
        assert records.groups.students == {"team": ("anna",)}
    finally:
        records.close()


def test_nbgrader_gets_the_points_of_all_members(tmp_path, monkeypatch):
    written = {}

    def write_points(place, assignment, graded):
        written.update({found.student: (found.path.name, report.points) for found, report in graded})

    monkeypatch.setattr("autograder.gradebooks.nbgrader.place_of", lambda url: SimpleNamespace(name=url))
    monkeypatch.setattr("autograder.gradebooks.nbgrader.write_points", write_points)
    folder = write_results(tmp_path / "graded", CLASS, write_groups(tmp_path, TEXT))
    found = [Found(name, tmp_path / name, ASSIGNMENT, safe_name=f"student-{at}") for at, name in enumerate(CLASS)]
    records = Records(folder)
    try:
        assert write_gradebook(found, records, ASSIGNMENT, "url") == "url"
    finally:
        records.close()
    assert written == {"cleo": ("cleo", 40), "anna": ("anna", 55), "bob": ("anna", 55)}


def test_batch_grades_groups_and_remembers_them(tmp_path, monkeypatch, capsys):
    """Without grading: every submission that is asked for gets 40 points."""

    def outcomes(queue, settings, args):
        while submission := queue.take():
            report = make_report(submission.name, 40.0, 0.0)
            yield Outcome(submission.name, submission.digest, to_json(report), "page")

    monkeypatch.setattr("autograder.classroom.batch.outcomes", outcomes)
    roster = tmp_path / "roster.csv"
    roster.write_text("student,name\n" + "".join(f"{name},{name}\n" for name in ROSTER), encoding="utf-8")
    monkeypatch.setattr("autograder.classroom.batch.course_config", lambda: replace(course_config(), roster=roster))
    for name in ("team", "cleo", "twice1", "twice2"):
        hand_in(tmp_path / "in", name, STUBS, mha=("import torch", f"import torch  # {name}"))
    out = tmp_path / "out"
    assert batch(tmp_path / "in", out, "--groups", str(write_groups(tmp_path, TEXT))) == 0
    said = capsys.readouterr().out
    assert "Groups: 3 groups of 5 students.\n  pair: 2 different submissions of the group pair: keep one\n" in said
    assert "  team: named after a group, not after a member: " in said
    assert "  absent: the group has not handed in\n" in said
    assert "2 students on the roster handed in nothing: dora, eve.\n" in said  # not those who handed in too much
    verdict = json.loads((out / "verdicts" / "team.json").read_bytes())
    assert verdict["students"] == ["anna", "bob"]
    assert export("verdict", out, "--out", tmp_path / "v", "--audience", "staff") == 0
    assert json.loads((tmp_path / "v" / "team.json").read_bytes())["students"] == ["anna", "bob"]
    assert batch(tmp_path / "in", out) == 0
    assert {name: row["total"] for name, row in rows(out).items() if row["total"]} == dict.fromkeys(
        ("anna", "bob", "cleo"), "40"
    )
    # A member's name selects the group's submission, so each of these lists regrades one submission.
    capsys.readouterr()
    for name in ("bob", "team", "cleo", "twice2"):
        (tmp_path / "list.txt").write_text(f"{name}\n", encoding="utf-8")
        assert batch(tmp_path / "in", out, "--regrade", str(tmp_path / "list.txt")) == 0
        assert "Graded 1 submissions" in capsys.readouterr().out
    for name in ("dora", "nobody"):
        (tmp_path / "list.txt").write_text(f"{name}\n", encoding="utf-8")
        assert batch(tmp_path / "in", out, "--regrade", str(tmp_path / "list.txt")) == 2
        assert f"list.txt names {name}, but there is no such submission" in capsys.readouterr().err
    # Other groups change rows and verdicts, without grading again.
    assert batch(tmp_path / "in", out, "--groups", str(write_groups(tmp_path))) == 0
    assert "Graded 0 submissions" in capsys.readouterr().out
    assert rows(out)["twice1"]["total"] == "40"

"""The plan of a term in course.toml: what `term` and `export` make of it, and what they say about mistakes in it."""

import csv
from pathlib import Path

import pytest

from autograder.__main__ import main
from course.location import VARIABLE
from tests.support.batches import CONFINED, ROOT, hand_in
from tests.support.exporting import FAULT, LATE, Results, details_of, export, write_results

CLASS: Results = {"team-a": (100.0, 0.0), "cleo": (40.0, 0.0)}
GROUPS = "group,student\nteam-a,alice\nteam-a,bob\n"
ROSTER = "student,name,id\nalice,Alice Oz,1001\nbob,Bob Oz,1002\ncleo,Cleo Li,1003\n"
PLAN = LATE + '[assignments.transformer]\ntimes = "times.csv"\n'


@pytest.fixture
def course(tmp_path, monkeypatch) -> Path:
    """The folder of a course with results of one assignment; `plan` writes its course.toml."""
    folder = tmp_path / "course"
    folder.mkdir()
    (folder / "groups.csv").write_text(GROUPS, encoding="utf-8")
    (folder / "roster.csv").write_text(ROSTER, encoding="utf-8")
    write_results(folder / "graded/transformer", CLASS, folder / "groups.csv")
    monkeypatch.setenv(VARIABLE, str(folder))
    monkeypatch.chdir(tmp_path)
    return folder


def plan(course: Path, text: str, times: dict[str, str], roster: bool = False) -> None:
    folders = f"[folders]\nassignments = '{ROOT / 'autograder/assignments'}'\n"
    (course / "course.toml").write_text('roster = "roster.csv"\n' * roster + text + folders, encoding="utf-8")
    rows = "".join(f"{student},{time}\n" for student, time in times.items())
    (course / "times.csv").write_text(f"student,time\n{rows}", encoding="utf-8")


def finals(folder: Path) -> dict[str, str]:
    with (folder / "final.csv").open(encoding="utf-8-sig", newline="") as file:
        return {row["student"]: row["final %"] for row in csv.DictReader(file)}


@pytest.mark.parametrize("roster", [False, True])
@pytest.mark.parametrize(
    ("times", "grade"),
    [
        ({"team-a": "2026-10-03 10:00"}, 90),
        ({"alice": "2026-10-03 10:00"}, 90),
        ({"bob": "2026-10-03 10:00"}, 90),
        ({"alice": "2026-10-02 10:00", "bob": "2026-10-04 10:00"}, 80),
        ({"team-a": "2026-10-02 10:00", "bob": "2026-10-04 10:00"}, 100),
    ],
)
def test_a_group_has_one_time_whoever_it_is_given_for(course, tmp_path, capsys, times, grade, roster):
    plan(course, PLAN, {**times, "cleo": "2026-10-01 10:00"}, roster)
    assert main(["term"]) == 0
    by_name = finals(tmp_path)
    alice, bob, cleo = ("Alice Oz", "Bob Oz", "Cleo Li") if roster else ("alice", "bob", "cleo")
    assert (by_name[alice], by_name[bob], by_name[cleo]) == (f"{grade}.00", f"{grade}.00", "40.00")
    assert "and their calculation; 0 have none yet.\n" in capsys.readouterr().out
    assert export("csv", "transformer", "--out", "grades.csv") == 0
    grades = {row["student"]: row["grade"] for row in details_of(tmp_path / "grades.csv")}
    assert grades == {"alice": f"{grade}.00", "bob": f"{grade}.00", "cleo": "40.00"}
    assert "Note: there is a time" not in capsys.readouterr().out


def test_a_number_of_the_gradebook_is_a_member_too(course, tmp_path):
    plan(course, PLAN, {"1002": "2026-10-03 10:00", "1003": "2026-10-01 10:00"})
    rows = "".join(f'"{name}, X",{1001 + at},{name},A,\n' for at, name in enumerate(("alice", "bob", "cleo")))
    header = "Student,ID,SIS Login ID,Section,T (12)\n    Points Possible,,,,100\n"
    (tmp_path / "canvas.csv").write_text(header + rows, encoding="utf-8")
    files = ["--gradebook", "canvas.csv", "--column", "T", "--out", "import.csv"]
    assert export("canvas", "transformer", *files) == 0
    grades = {row["student"]: row["grade"] for row in details_of(tmp_path / "import.csv")}
    assert grades == {"alice": "90.00", "bob": "90.00", "cleo": "40.00"}


def test_slip_days_are_those_of_the_whole_group(course, tmp_path):
    plan(course, PLAN.replace("[assignments", "slip_days = 1\n[assignments"), {"bob": "2026-10-04 10:00"}, roster=True)
    export("csv", "transformer", "--out", "grades.csv")
    grades = {row["student"]: row["grade"] for row in details_of(tmp_path / "grades.csv")}
    assert (grades["alice"], grades["bob"]) == ("90.00", "90.00")
    main(["term"])
    assert finals(tmp_path)["Alice Oz"] == "90.00"


def test_who_has_no_final_grade_yet_is_named(course, capsys):
    plan(course, PLAN, {"cleo": "2026-10-01 10:00"})
    assert main(["term"]) == 0
    assert "and their calculation; 2 have none yet: alice, bob.\n" in capsys.readouterr().out


@pytest.mark.parametrize("settings", ['match = "id"\n', "", 'match = "id"\nroster = "roster.csv"\n'])
@pytest.mark.parametrize("column", ['column = "T (12)"\n', ""])
def test_a_new_file_has_its_own_columns(course, tmp_path, settings, column):
    plan(course, f"{settings}[assignments.transformer]\n{column}", {})
    assert export("csv", "transformer", "--out", "grades.csv") == 0
    rows = (tmp_path / "grades.csv").read_text(encoding="utf-8-sig").splitlines()
    assert rows == ["student,grade", "alice,100.00", "bob,100.00", "cleo,40.00"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["review", "transformer", "--port", "0"],
        ["export", "feedback", "transformer", "--for", "mail", "--out", "f.zip"],
        ["export", "verdict", "transformer", "--out", "verdicts", "--audience", "staff"],
        ["export", "csv", "transformer", "--out", "grades.csv"],
        ["compare", "transformer", "transformer"],
        ["term", "transformer"],
    ],
)
def test_the_name_of_an_assignment_is_the_folder_of_its_results(course, monkeypatch, capsys, arguments):
    monkeypatch.setattr("autograder.classroom.review_server.Server.serve_forever", lambda _: None)
    plan(course, "[assignments.transformer]\ngraded = 'elsewhere'\n", {})
    (course / "graded/transformer").rename(course / "elsewhere")
    assert main(arguments) == 0
    assert main(["transfromer" if one == "transformer" else one for one in arguments]) == 2
    assert "transfromer" in capsys.readouterr().err


EXTENDED = 'extensions = { "alicia" = 2026-10-09T23:59:59, "alice" = 2026-10-09T23:59:59 }\n'


@pytest.mark.parametrize("roster", [False, True])
def test_extensions_and_times_for_nobody_are_named(course, tmp_path, capsys, roster):
    times = {"alice": "2026-10-03 10:00", "cleo": "2026-10-01 10:00", "bobby": "2026-10-01 10:00"}
    plan(course, PLAN + EXTENDED, times, roster)
    nobody = [
        "the policy has an extension for 'alicia', but no submission has that name.\n",
        "there is a time for 'bobby', but no submission has that name.\n",
    ]
    main(["term"])
    said = capsys.readouterr().out
    assert [line.removeprefix("Note: ") for line in said.splitlines(keepends=True) if "Note" in line] == [
        f"transformer: {note}" for note in nobody
    ]
    export("csv", "transformer", "--out", "grades.csv")
    assert said.count("Note: ") == capsys.readouterr().out.count("Note: ") == 2


def test_a_time_for_a_submission_on_which_the_grader_failed_is_no_mistake(course, capsys):
    write_results(course / "graded/transformer", {"team-a": FAULT, "cleo": (40.0, 0.0)})
    plan(course, PLAN, {"team-a": "2026-10-03 10:00", "cleo": "2026-10-01 10:00"})
    assert main(["term"]) == 0
    export("csv", "transformer", "--out", "grades.csv")
    assert "there is a time" not in capsys.readouterr().out


TERM, EXPORT = ["term"], ["export", "csv", "transformer", "--out", "grades.csv"]
BATCH = ["batch", "in", "--visible-only", *CONFINED]


@pytest.mark.parametrize(
    ("text", "said", "commands"),
    [
        ("[assignments.transfromer]\n", "there is no assignment 'transfromer'; known: att", [TERM, EXPORT, BATCH]),
        ("[late]\nslipdays = 1\n[assignments.transformer]\n", "slipdays is not a key", [TERM, EXPORT]),
        (f'match = "loginn"\n{PLAN}', "match = 'loginn' in course.toml is neither a column", [TERM, EXPORT, BATCH]),
    ],
)
def test_a_typo_in_course_toml_is_named_before_any_work(course, tmp_path, capsys, text, said, commands):
    """An export to a new file matches nobody with the roster, unless there are slip days."""
    hand_in(tmp_path / "in", "anna")
    (course / "groups.csv").unlink()
    plan(course, text.replace("[late]\n", "[late]\nslip_days = 1\n"), {"alice": "2026-10-01 10:00"}, roster=True)
    for command in commands:
        assert main(command) == 2
        error = capsys.readouterr().err
        assert said in error
        assert "slipdays" not in said or error.endswith("extensions, slip_days, slip_days_each\n")
    assert not (course / "graded/transformer/feedback/anna.html").exists()


@pytest.mark.parametrize("match", ["login", "name", "id", "sis", "email", "student"])
def test_a_roster_may_lack_the_column_of_the_gradebook(course, match):
    plan(course, f'match = "{match}"\n[assignments.transformer]\n', {}, roster=True)
    assert main(["term"]) == 0

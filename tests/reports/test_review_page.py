"""The page for review, and the overview of a term: what they are given, and what a row without words means."""

import json
import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from autograder.classroom.batch import print_end
from autograder.classroom.term import main
from autograder.gradebooks.people import People
from autograder.grading.results import to_json
from autograder.reports.class_report import class_html
from autograder.reports.review_file import COLUMNS, Decision, read_review, with_review
from autograder.reports.review_page import review_html
from tests.support.pages import make_report, make_test, text_of, without_script

EVIL = "</script><b>=1+1"


def data_of(page: str) -> dict:
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page)
    return json.loads(text)


def test_the_page_knows_students_tests_and_rows():
    anna = make_report(make_test("test_a", "failed", points=1), name="anna", review=("numpy.py ignored",))
    row = dict(zip(COLUMNS, ("anna", "test_a", "2.5", "right in the lab", "X", "2026-10-02", ""), strict=True))
    tables = {"review": [row], "rubric": [], "requests": []}
    pages = {"anna": "anna.html", EVIL: "a b.html"}
    page = review_html([anna, make_report(name=EVIL)], tables, pages, {"anna": "X"})
    data = data_of(page)
    first, second = data["students"]
    assert first["notes"] == ["numpy.py ignored"]
    assert first["page"] == "staff/anna.html"
    assert first["tests"]["test_a"] == {"points": "1", "most": 4, "status": "failed"}
    assert first["tests"]["mha"] == {"points": "1", "most": 4, "status": "stage"}
    assert (first["reviewer"], second["reviewer"], data["me"]) == ("X", "", "")
    assert (second["name"], second["page"]) == (EVIL, "staff/a%20b.html")
    assert data["review"] == [row]
    assert without_script(page, "review.js").count("</script>") == 1


def test_a_row_without_words_says_that_somebody_has_looked(tmp_path):
    (tmp_path / "review.csv").write_text(
        "student,test,points,reason,who,when\nanna,,,,X,2026-10-02\n", encoding="utf-8"
    )
    decisions = read_review(tmp_path)["anna"]
    report = make_report(name="anna", review=("numpy.py ignored",))
    assert with_review(report, decisions) == report
    words = text_of(without_script(class_html([report]), "class.js"))
    assert words.rstrip().endswith("review")
    words = text_of(without_script(class_html([report], decided={"anna"}), "class.js"))
    assert words.rstrip().endswith("reviewed")


@pytest.fixture
def graded(tmp_path):
    """Two assignments: ben has handed in one of them."""
    for name, students in {"first": ["anna", "ben"], "second": ["anna"]}.items():
        folder = tmp_path / name
        (folder / "results").mkdir(parents=True)
        (folder / "batch.json").write_text("{}")
        for student in students:
            report = make_report(name=student, review=("look",))
            entry = {"student": student, "digest": "", "fault": "", "report": to_json(report)}
            (folder / "results" / f"{student}.json").write_text(json.dumps(entry))
    (tmp_path / "first" / "review.csv").write_text("student,test,points,reason,who,when\nben,,,,X,\n")
    return tmp_path


def test_a_term_side_by_side(graded, capsys):
    assert main([str(graded / "first"), str(graded / "second"), "--out", str(graded)]) == 0
    said = capsys.readouterr().out
    assert "2 students, 1 with a grade in all 2 assignments." in said
    assert "first: mean 5.5 of 4 and 2 extra, 2 graded, 1 to review" in said  # the mean has the extra credit in it
    rows = (graded / "term.csv").read_text(encoding="utf-8-sig").splitlines()
    assert rows == ["student,first,second,sum", "anna,5.5,5.5,11", "ben,5.5,,5.5"]
    page = without_script((graded / "term.html").read_text(encoding="utf-8"), "class.js")
    assert re.search(r"ben 5\.5 \D+ 5\.5", text_of(page))


def test_two_runs_of_one_assignment_do_not_count_twice(graded, capsys):
    for name in ("first", "second"):
        (graded / name / "batch.json").write_text('{"assignment": "transformer", "seed": 1}')
    assert main([str(graded / "first"), str(graded / "second"), "--out", str(graded)]) == 2
    assert "first and second both have results of the assignment transformer" in capsys.readouterr().err
    assert not (graded / "term.csv").exists()


def test_grades_with_different_maximum_points_have_no_mean(graded, capsys):
    path = graded / "first" / "results" / "ben.json"
    entry = json.loads(path.read_bytes())
    entry["report"]["stages"][0]["tests"][0]["max_points"] += 5
    path.write_text(json.dumps(entry), encoding="utf-8")
    assert main([str(graded / "first"), "--out", str(graded)]) == 2
    assert "have different full marks: run batch again" in capsys.readouterr().err
    reports = {"anna": make_report(name="anna"), "ben": make_report(replace(make_test(), max_points=9), name="ben")}
    students: Any = [SimpleNamespace(student=name) for name in reports]
    records: Any = SimpleNamespace(folder=graded, review={}, report=lambda one: reports[one.student])
    print_end(students, records)
    assert "No mean: the grades have different maximum points (6, 11)." in capsys.readouterr().out


def test_students_of_moodle_have_another_number_in_each_assignment():
    """So they go by their names in a term; two of one name do not, and Canvas' numbers stay the same."""
    of_moodle = ["Frank Oz_11_assignsubmission_file_", "Li Na_12", "Jo Doe_13", "Jo Doe_14_assignsubmission_file_"]
    assert People().called(of_moodle) == {
        "Frank Oz_11_assignsubmission_file_": "Frank Oz",
        "Li Na_12": "Li Na",
        "Jo Doe_13": "Jo Doe_13",
        "Jo Doe_14_assignsubmission_file_": "Jo Doe_14_assignsubmission_file_",
    }
    others = ["ozfrank_1001", "anna", "Frank Oz"]
    assert People().called(others) == {one: one for one in others}


def test_a_list_says_who_is_who(graded, capsys):
    """Where one assignment came from Canvas and another from Moodle."""
    second = graded / "second" / "results" / "anna.json"
    report = make_report(name="ozanna_1001")
    second.write_text(json.dumps({"student": "ozanna_1001", "digest": "", "fault": "", "report": to_json(report)}))
    (graded / "names.csv").write_text("student,name\nANNA,Anna O\nanna,Anna Oz\n", encoding="utf-8")
    folders = [str(graded / "first"), str(graded / "second"), "--out", str(graded)]
    assert main([*folders, "--names", str(graded / "names.csv")]) == 2
    assert "has two names for anna" in capsys.readouterr().err
    (graded / "names.csv").write_text("student,name\nozanna_1001,Anna Oz\nAnna,Anna Oz\n,\n", encoding="utf-8")
    assert main([*folders, "--names", str(graded / "names.csv")]) == 0
    rows = (graded / "term.csv").read_text(encoding="utf-8-sig").splitlines()
    assert rows == ["student,first,second,sum", "Anna Oz,5.5,5.5,11", "ben,5.5,,5.5"]


def test_a_folder_without_results_is_named(tmp_path, capsys):
    assert main([str(tmp_path)]) == 2
    assert "has no results of batch" in capsys.readouterr().err


def test_who_was_looked_at_is_no_longer_to_review(tmp_path, capsys):
    students: Any = [SimpleNamespace(student=name) for name in ("anna", "ben")]
    seen = {"ben": [Decision("ben", "", None, "", "X", "")]}
    report = make_report(review=("look",))
    records: Any = SimpleNamespace(folder=tmp_path, review=seen, report=lambda one: report)
    print_end(students, records)
    said = capsys.readouterr().out
    assert "1 to review, see review.html and the pages in staff: anna." in said
    assert "0 comments added, 1 marked as reviewed." in said

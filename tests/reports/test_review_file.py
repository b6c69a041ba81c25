"""The pages of the staff, and review.csv: what people decide survives regrading and goes wherever grades go."""

import csv
import json
import re
import shutil
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

from autograder.__main__ import main
from autograder.classroom.feedback_export import place_of
from autograder.diagnosis.line_verdict import LineMark
from autograder.gradebooks import class_grades
from autograder.gradebooks.class_grades import read_class
from autograder.gradebooks.grading_policy import Policy, grade_of
from autograder.grading.results import PartResult, Report, StageResult, TestResult, to_json
from autograder.reports.review_file import COLUMNS, read_review, with_review
from autograder.reports.staff_page import spoken_of, staff_html
from course.errors import UserError
from tests.support.batches import ASSIGNMENT, SEED, SOLUTION, STUBS, batch, hand_in, recorded, rows, without_jobs
from tests.support.worth import FULL

WRONG = ("key_padding_mask[:, None, None, :] != 0", "key_padding_mask[:, None, None, :] == 0")
TEST = "test_pe"


def decide(out: Path, *decisions: tuple[str, ...]) -> None:
    with (out / "review.csv").open("w", encoding="utf-8-sig", newline="") as file:
        csv.writer(file).writerows([COLUMNS, *decisions])


@pytest.fixture(scope="module")
def graded(tmp_path_factory) -> Iterator[tuple[Path, Path]]:
    folder, slip = tmp_path_factory.mktemp("class"), ("import math", "import math\nA = nn.MultiheadAttention  # <b>")
    hand_in(folder / "in", "anna", SOLUTION, only=["mha", "pe"], mha=slip)
    hand_in(folder / "in", "bob", STUBS, only=["mha", "pe"])
    with pytest.MonkeyPatch.context() as patch:
        without_jobs(patch)
        assert batch(folder / "in", folder / "out", "--seed", str(SEED)) == 0
        yield folder / "in", folder / "out"


def test_a_page_for_the_staff(graded):
    page = (graded[1] / "staff" / "anna.html").read_text(encoding="utf-8")
    assert "nn.MultiheadAttention is a ready-made part" in page
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    line = 1 + (SOLUTION / "mha.py").read_text(encoding="utf-8").splitlines().index("import math") + 1
    assert f'<a href="#mha-{line}">line {line}</a>' in page
    assert f'id="mha-{line}"' in page
    assert page.count('class="hll"') == 1
    assert '<span class="del">-        raise NotImplementedError(' in page
    assert (graded[1] / "report.html").read_text(encoding="utf-8").count('href="staff/') == 2


def test_what_people_decide_survives_and_goes_everywhere(graded, capsys):
    submissions, out = graded
    assert rows(out)["bob"]["total"] == "0"
    raw = recorded(out)["bob"]
    decide(
        out,
        ("bob", f"pe.{TEST}", "2,5", "shown in the lab", "N. N.", "2026-10-02"),
        ("bob", "", "", "Come to the office hour.", "N. N.", ""),
        ("nobody", "", "", "withdrawn", "", ""),
    )
    assert batch(submissions, out) == 0
    said = capsys.readouterr().out
    assert "The mean of 2 is " in said
    assert "review.csv: 1 score changed, 1 comment added." in said  # the comment for nobody does not count
    assert "review.csv or requests.csv names nobody, but no submission has that name." in said
    # The verdict of the grader stays what it was; grades, pages and exports have the decision.
    assert recorded(out)["bob"]["report"] == raw["report"]
    assert (rows(out)["bob"][f"pe.{TEST}"], rows(out)["bob"]["pe"], rows(out)["bob"]["total"]) == ("2.5", "2.5", "2.5")
    points = read_class(out).points["bob"]
    assert points.required == Fraction(5, 2)
    assert grade_of("bob", points, Policy()).explanation.startswith("2.5 of 100 points (1 change by the staff); ")
    for folder in ("feedback", "staff"):
        page = (out / folder / "bob.html").read_text(encoding="utf-8")
        assert "Points changed by the staff from 0 to 2.5: " in page
        assert "shown in the lab (N. N., 2026-10-02)" in page
        assert "Come to the office hour. (N. N.)" in page
    # Graded again, for instance after a resubmission, it is still there.
    hand_in(submissions, "bob", STUBS, only=["mha"], mha=("import torch", "import torch  # again"))
    assert batch(submissions, out) == 0
    assert rows(out)["bob"]["total"] == "2.5"
    assert "shown in the lab" in (out / "feedback" / "bob.html").read_text(encoding="utf-8")
    # Taken back, it is gone.
    decide(out)
    assert batch(submissions, out) == 0
    assert rows(out)["bob"]["total"] == "0"
    assert "shown in the lab" not in (out / "feedback" / "bob.html").read_text(encoding="utf-8")
    assert read_class(out).points["bob"].required == 0
    assert "staff" not in grade_of("bob", read_class(out).points["bob"], Policy()).explanation


def test_a_run_names_what_cannot_be_read_and_what_does_not_fit_at_once(graded, capsys):
    submissions, out = graded
    decide(
        out,
        ("anna", TEST, "six", "r", "", ""),
        ("bob", "test_nope", "1", "r", "", ""),
        ("bob", TEST, "99", "r", "", ""),
    )
    assert batch(submissions, out) != 0
    said = capsys.readouterr().err
    for words in ("row 2: points must", "row 3: bob has no test 'test_nope'", "row 4: bob gets 99 points"):
        assert words in said
    decide(out)


def test_two_runs_are_compared(graded, tmp_path, capsys):
    submissions, out = graded
    decide(out)
    assert batch(submissions, out) == 0
    shutil.copytree(out, tmp_path / "old")
    shutil.copytree(submissions, tmp_path / "in")
    assert main(["compare", str(tmp_path / "old"), str(out)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "2 students: 0 gain, 0 lose, 0 differ in other ways."
    decide(tmp_path / "old", ("bob", TEST, "2", "shown in the lab", "N. N.", ""))
    (tmp_path / "old" / "results" / "anna.json").unlink()
    assert main(["compare", str(tmp_path / "old"), str(out), "--out", str(tmp_path / "x.csv")]) == 1
    said = capsys.readouterr().out
    assert said.startswith("2 students: 1 gain, 1 lose, 0 differ in other ways.")
    assert "bob: 2 -> 0 (-2)" in said
    assert f"pe.{TEST}: not started, 2 -> not started, 0 of {FULL['pe']:g}" in said
    assert "anna: no grade -> " in said
    assert "is only in the new run" in said
    table = (tmp_path / "x.csv").read_text(encoding="utf-8-sig")
    assert table.startswith("student,before,after,difference,why")
    assert "\nbob,2,0,-2," in table
    assert main(["compare", str(tmp_path), str(out)]) == 2


def test_a_list_of_students_is_graded_again(graded, tmp_path, capsys):
    submissions, out = graded
    decide(out)
    (tmp_path / "list.txt").write_text("# complaints\nbob\n", encoding="utf-8")
    before = {path.name: path.stat().st_mtime_ns for path in (out / "results").iterdir()}
    assert batch(submissions, out, "--regrade", str(tmp_path / "list.txt")) == 0
    assert re.search(r"Graded 1 submissions in \d+ s; 1 were not requested\.", capsys.readouterr().out)
    after = {path.name: path.stat().st_mtime_ns for path in (out / "results").iterdir()}
    assert {name for name in after if after[name] != before[name]} == {"bob.json"}
    (tmp_path / "list.txt").write_text("bobby\n", encoding="utf-8")
    assert batch(submissions, out, "--regrade", str(tmp_path / "list.txt")) == 2
    assert "names bobby, but there is no such submission" in capsys.readouterr().err


def test_one_class_has_one_version_of_the_tests(graded, tmp_path, capsys):
    """Grading only some again would mix grades that cannot be compared."""
    submissions, out = graded
    decide(out)
    path = next(path for path in (out / "results").iterdir() if "anna" in path.name)
    before = path.read_bytes()
    entry = json.loads(before)
    path.write_text(json.dumps(entry | {"settings": entry["settings"] | {"grader": "an older one"}}), encoding="utf-8")
    assert read_class(out).notes == (
        "different versions of the tests graded 1 (anna) and 1 (bob): run batch again without --regrade",
    )
    (tmp_path / "list.txt").write_text("bob\n", encoding="utf-8")
    assert batch(submissions, out, "--regrade", str(tmp_path / "list.txt")) == 2
    assert "the tests have changed since anna were graded" in capsys.readouterr().err
    path.write_bytes(before)
    assert batch(submissions, out, "--regrade", str(tmp_path / "list.txt"), "--time-limit", "300") == 0


@pytest.mark.parametrize(
    ("student", "name", "kind", "place"),
    [
        ("Frank Oz_11_assignsubmission_file_", "", "moodle", "Frank Oz_11_assignsubmission_file_/feedback.html"),
        ("Frank Oz_11", "", "moodle", "Frank Oz_11_assignsubmission_file_/feedback.html"),
        ("anna", "anna", "moodle", ""),
        ("smithalice_1001", "smithalice_LATE_1001_5550_mha.py", "canvas", "smithalice_1001_5550_feedback.html"),
        ("leecleo_1003_5570_work", "leecleo_1003_5570_work", "canvas", "leecleo_1003_5570_feedback.html"),
        ("smithalice_1001", "smithalice_1001", "canvas", ""),
        ("../x", "../x", "mail", "_x.html"),
    ],
)
def test_the_names_of_feedback_in_a_platform(student, name, kind, place):
    assert place_of(student, name, kind) == place


def test_feedback_is_packed(graded, tmp_path, capsys):
    out = graded[1]
    assert main(["export", "feedback", str(out), "--for", "mail", "--out", str(tmp_path / "f.zip")]) == 0
    with zipfile.ZipFile(tmp_path / "f.zip") as archive:
        assert sorted(archive.namelist()) == ["anna.html", "bob.html", "list.csv"]
        assert archive.read("bob.html") == (out / "feedback" / "bob.html").read_bytes()
    assert main(["export", "feedback", str(out), "--for", "moodle", "--out", str(tmp_path / "m.zip")]) == 2
    assert "all 2 pages have names that Moodle could not assign: anna, bob" in capsys.readouterr().err


REPORT = Report("T", "anna", (StageResult("s", 1, "S", False, (TestResult("s", "test_a", "A", "failed", 1, 5),)),), 1.0)


PARTS = (PartResult("values", "failed", 0, 3), PartResult("a mask", "passed", 2, 2))
WITH_PARTS = Report(
    "T", "anna", (StageResult("s", 1, "S", False, (TestResult("s", "test_p", "P", "failed", 2, 5, parts=PARTS),)),), 1.0
)


@pytest.mark.parametrize(
    ("test", "points", "parts"),
    [
        ("s.test_p.values", "1.5", [1.5, 2]),
        ("test_p.a mask", "0", [0, 0]),
        ("test_p", "4", [2, 2]),
        ("s.test_p", "1", [0, 1]),
        ("test_p", "0", [0, 0]),
        ("test_p", "5", [3, 2]),
    ],
)
def test_parts_add_up_after_a_decision(tmp_path, test, points, parts):
    decide(tmp_path, ("anna", test, points, "seen in the lab", "", ""))
    decisions = read_review(tmp_path)["anna"]
    (after,) = with_review(WITH_PARTS, decisions).tests
    assert [part.points for part in after.parts] == parts
    assert after.points == sum(parts)
    assert "seen in the lab" in after.reviewed
    exported = class_grades.reviewed(to_json(WITH_PARTS), decisions)
    assert exported["stages"][0]["tests"][0]["points"] == sum(parts)


@pytest.mark.parametrize(
    ("tests", "wrong"),
    [
        (("test_p", "s.test_p"), True),
        (("test_p", "test_p.values"), True),
        (("s.test_p.values", "test_p.values"), True),
        (("test_p.values", "test_p.a mask"), False),
        (("test_p", "test_q"), False),
    ],
)
def test_two_rows_for_the_same_points_are_an_error(tmp_path, tests, wrong):
    decide(tmp_path, *(("anna", test, "1", "r", "", "") for test in tests), ("bob", tests[0], "2", "r", "", ""))
    if not wrong:
        assert len(read_review(tmp_path)["anna"]) == 2
        return
    with pytest.raises(UserError, match="rows 2 and 3 both set points of anna for test_p: keep one"):
        read_review(tmp_path)


def test_all_mistakes_of_the_file_are_named_at_once(tmp_path):
    rows = [("anna", "test_p", "six", "r", "", ""), ("", "test_p", "1", "r", "", ""), ("anna", "", "1", "", "", "")]
    decide(tmp_path, *rows)
    with pytest.raises(UserError) as raised:
        read_review(tmp_path)
    for words in ("row 2: points must", "row 3 names no student", "row 4 has points but", "row 4 changes points"):
        assert words in str(raised.value)
    decide(tmp_path, ("anna", "test_q", "1", "r", "", ""), ("anna", "test_p.masks", "1", "r", "", ""))
    with pytest.raises(UserError, match=r"row 2: anna has no test 'test_q'.*\n.*row 3: anna has no part 'masks'"):
        with_review(WITH_PARTS, read_review(tmp_path)["anna"])


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("separator", [False, True])
def test_what_spreadsheets_save_is_read(tmp_path, encoding, delimiter, separator):
    lines = [f"sep={delimiter}"] * separator + [
        delimiter.join(COLUMNS),
        delimiter.join(["Zoë", "test_a", "4", f'"so{delimiter}so"', "", ""]),
    ]
    (tmp_path / "review.csv").write_bytes("\r\n".join([*lines, ""]).encode(encoding))
    (decision,) = read_review(tmp_path)["Zoë"]
    assert (decision.points, decision.reason, decision.row) == (Decimal(4), f"so{delimiter}so", 2 + separator)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (("anna", "test_a", "six", "r", "", ""), "row 2: points must be a number of at least 0, such as 2.5, not"),
        (("anna", "test_a", "-1", "r", "", ""), "such as 2.5, not '-1'"),
        (("anna", "test_a", "nan", "r", "", ""), "such as 2.5, not 'nan'"),
        (("anna", "test_a", "1e-99999999", "r", "", ""), "such as 2.5, not '1e-99999999'"),
        (("anna", "test_a", "0e99999999", "r", "", ""), "such as 2.5, not '0e99999999'"),
        (("anna", "", "3", "r", "", ""), "row 2 has points but names no test"),
        (("anna", "test_a", "3", "", "", ""), "without a reason"),
        (("", "test_a", "3", "r", "", ""), "names no student"),
        (("anna", "test_b", "3", "r", "", ""), "anna has no test 'test_b'; the tests are test_a"),
        (("anna", "test_a", "5.5", "r", "", ""), "anna gets 5.5 points for test_a, which has 5"),
    ],
)
def test_what_cannot_be_meant_is_refused(tmp_path, row, said):
    decide(tmp_path, row)
    with pytest.raises(UserError, match=said):
        with_review(REPORT, read_review(tmp_path)["anna"])


@pytest.mark.parametrize("delimiter", [",", ";"])
@pytest.mark.parametrize("before", ["", "sep={}\n"])
def test_a_row_with_more_cells_than_the_header_is_refused(tmp_path, before, delimiter):
    header, good = "student,test,points,reason,who,when", '"b,b",test_pe,1,r,me,2026,,'
    shifted = "bob,pe.test_pe,1,5,half right,me,2026"
    path = tmp_path / "review.csv"
    for end in ("", ",,"):  # a spreadsheet fills up the header
        lines = "\n".join([header + end, good, shifted]).replace(",", delimiter)
        path.write_text(before.format(delimiter) + lines, encoding="utf-8")
        with pytest.raises(UserError) as raised:
            read_review(tmp_path)
        line = 4 if before else 3
        assert f"review.csv, line {line} has more cells than the header: " in str(raised.value)
        assert f"a cell that contains {delimiter!r} in quotes" in str(raised.value)
    path.write_text(before.format(delimiter) + f"{header}\n{good}".replace(",", delimiter), encoding="utf-8")
    assert [len(one) for one in read_review(tmp_path).values()] == [1]


@pytest.mark.parametrize(
    ("name", "header", "column"),
    [
        ("review.csv", "student,test,points,reason,who,when,Points", "points"),
        ("rubric.csv", "item,on,points,Comment, comment ", "comment"),
        ("requests.csv", "student,request,WHO,who", "who"),
        ("requests.csv", "student,request,odd,odd", ""),  # it is not used
    ],
)
def test_two_columns_with_one_name_are_refused(tmp_path, name, header, column):
    (tmp_path / name).write_text(header, encoding="utf-8")
    if not column:
        assert read_review(tmp_path) == {}
        return
    with pytest.raises(UserError, match=f"{name} has the column '{column}' 2 times: keep one"):
        read_review(tmp_path)


@pytest.mark.parametrize("points", ["1e99999999", "-1e-99999999", "0e99999999", "1e-999999999999999999999"])
def test_an_item_has_points_that_can_be_computed_with(tmp_path, points):
    (tmp_path / "rubric.csv").write_text(f"item,on,points,comment\na,,{points},b\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"row 2: points must be a number such as -1.5, not '.*e"):
        read_review(tmp_path)


def test_a_spreadsheet_may_save_it(tmp_path):
    text = ";".join(COLUMNS) + "\r\n'=anna;s.test_a;4;ok;x;\r\n;;;;;\r\n"
    (tmp_path / "review.csv").write_text(text, encoding="utf-8")
    (decision,) = read_review(tmp_path)["=anna"]
    assert with_review(REPORT, [decision]).points == 4
    (tmp_path / "review.csv").write_text("student,points\n", encoding="utf-8")
    with pytest.raises(UserError, match="lacks the column test, reason, who, when"):
        read_review(tmp_path)


def test_the_staff_sees_the_lines_that_students_are_pointed_at():
    marks = (LineMark("mha.py", 3, "a = b", "right"), LineMark("mha.py", 5, "c = a", "wrong", ("the scores",)))
    test = TestResult(
        "s", "test_a", "A", "failed", 0, 5, "wrong values", pointed=("Line 5 is the first.",), marks=marks
    )
    whole = replace(test, name="test_all", message="wrong from end to end", max_points=0, pointed=(), marks=())
    report = Report("T", "anna", (StageResult("s", 1, "S", False, (test,)),), 1.0, end_to_end=whole)
    assert spoken_of(report) == {"mha": {5: ["test_a"]}}
    page = staff_html(report, {"mha": "x\n" * 10}, ASSIGNMENT)
    assert "Line 5 is the first." in page
    assert "should compute: the scores" in page
    assert "wrong from end to end" in page


def test_the_lines_that_the_verdict_speaks_of():
    test = TestResult("s", "test_a", "A", "error", 0, 5, "TypeError", ("mha.py:7 in f: x", "mha.py:9: y"))
    report = Report("T", "anna", (StageResult("s", 1, "S", False, (test,)),), 1.0, review=("pe.py:3: odd",))
    assert spoken_of(report) == {"mha": {7: ["test_a"], 9: ["test_a"]}, "pe": {3: ["review"]}}
    page = staff_html(report, {"mha": "x\n" * 10}, ASSIGNMENT)
    assert page.count('class="hll"') == 2
    assert "pe.py was not handed in" in page

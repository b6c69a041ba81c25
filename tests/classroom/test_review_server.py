"""Reviewing in the browser: two at once lose nothing, everything has an author, nobody else gets in."""

import csv
import http.client
import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from autograder.classroom.pseudonyms import page_without_name, pseudonym
from autograder.classroom.review import run as review_command
from autograder.classroom.review_server import Review
from autograder.classroom.reviewers import deal, read_reviewers
from autograder.reports.review_file import read_review, with_review
from autograder.reports.review_tables import LOG
from course.errors import UserError
from tests.support.reviewing import NAMES, Reviewer, make_report, serving, write_class

ROW = {"student": "anna-lee", "test": "test_p.values", "points": "2", "reason": "right in the lab"}


@pytest.fixture
def folder(tmp_path) -> Path:
    return write_class(tmp_path / "graded")


def log_of(folder: Path) -> list[dict[str, str]]:
    with (folder / LOG).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_a_change_is_in_the_file_with_who_and_when(folder):
    with serving(folder, "X", "Y") as server:
        x, y = Reviewer(server, "X"), Reviewer(server, "Y")
        status, tables = x.change("review", None, ROW)
        assert status == 200
        (row,) = tables["review"]
        assert (row["who"], row["points"]) == ("X", "2")
        assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d", row["when"])
        assert y.state()["review"] == [row]
        assert json.loads(y.get("/api/places?student=anna-lee")[1])["test_p.values"]["points"] == "2"
        status, tables = y.change("review", row, {**row, "points": "1.5", "who": "nobody"})
        assert tables["review"][0]["who"] == "Y"
        assert y.change("review", tables["review"][0], None)[0] == 200
    assert read_review(folder) == {}
    changes = [(one["who"], one["table"], one["before"] != "", one["after"] != "") for one in log_of(folder)]
    assert changes == [
        ("X", "review", False, True),
        ("Y", "review", True, True),
        ("Y", "review", True, False),
    ]


def test_two_reviewers_at_once_lose_nothing(folder):
    """Each writes forty comments, while somebody adds a row in a spreadsheet before they begin."""
    (folder / "review.csv").write_text("student;test;points;reason;who;when\nbob-poe;;;by hand;Z;\n", encoding="utf-8")
    with serving(folder, "X", "Y") as server:

        def work(name: str) -> list[int]:
            one = Reviewer(server, name)
            rows = ({"student": NAMES[at % 3], "reason": f"{name} {at}"} for at in range(40))
            return [one.change("review", None, row)[0] for row in rows]

        with ThreadPoolExecutor() as pool:
            assert all(status == 200 for statuses in pool.map(work, "XY") for status in statuses)
    reasons = {(one.reason, one.who) for several in read_review(folder).values() for one in several}
    assert reasons == {("by hand", "Z")} | {(f"{name} {at}", name) for name in "XY" for at in range(40)}
    assert len(log_of(folder)) == 80


def test_who_comes_second_is_told(folder):
    with serving(folder, "X", "Y") as server:
        x, y = Reviewer(server, "X"), Reviewer(server, "Y")
        row = x.change("review", None, ROW)[1]["review"][0]
        assert x.change("review", row, {**row, "points": "1"})[0] == 200
        status, said = y.change("review", row, {**row, "points": "3"})
        assert (status, y.state()["review"][0]["points"]) == (409, "1")
        assert "somebody else has changed or removed this row" in said
        assert y.change("review", row, None)[0] == 409


@pytest.mark.parametrize(
    ("table", "row", "said"),
    [
        ("review", {**ROW, "points": "six"}, "points must be a number"),
        ("review", {**ROW, "points": "9"}, "gets 9 points for test_p.values, which has 3"),
        ("review", {**ROW, "reason": ""}, "changes points without a reason"),
        ("review", {**ROW, "test": "test_nope"}, "has no test 'test_nope'"),
        ("review", {**ROW, "test": "mha"}, "mha is a stage"),
        ("review", {**ROW, "item": "nope", "points": ""}, "there is no item 'nope'"),
        ("review", {**ROW, "student": "nobody"}, "there is no submission of 'nobody'"),
        ("rubric", {"item": "a", "points": "x", "comment": "c"}, "points must be a number such as -1.5"),
        ("rubric", {"item": "a", "points": "1", "comment": ""}, "needs the name of an item and a comment"),
        *(
            (
                "rubric",
                {"item": "a", "on": on, "comment": "c"},
                f"there is no stage, test or part {on!r}; there are mha, ",
            )
            for on in ("nosuch", "test_nope", "test_p.nope", "test_q.values")
        ),
        ("requests", {"student": "anna-lee", "request": ""}, "needs a student and a request"),
        ("grades", ROW, "a change needs a table"),
    ],
)
def test_what_batch_would_refuse_is_refused_at_once(folder, table, row, said):
    with serving(folder, "X") as server:
        status, words = Reviewer(server, "X").change(table, None, row)
        assert (status, said in words) == (422, True), words
    assert not (folder / LOG).exists()


def test_rubric_items_change_stages_tests_and_parts(folder):
    items = [
        {"item": "names", "on": "mha", "points": "-1", "comment": "Names say nothing."},
        {"item": "idea", "on": "", "points": "2", "comment": "The idea is right."},
        {"item": "part", "on": "mha.test_p.values", "points": "-1", "comment": "Not this one."},
        {"item": "well", "on": "", "points": "", "comment": "Well done."},
    ]
    with serving(folder, "X") as server:
        x = Reviewer(server, "X")
        for item in items:
            assert x.change("rubric", None, item)[0] == 200
        for row in (
            {"student": "anna-lee", "item": "names"},
            {"student": "anna-lee", "item": "idea", "test": "test_p.values"},
            {"student": "anna-lee", "item": "idea", "test": "mha.test_q", "reason": "See line 3."},
            {"student": "anna-lee", "item": "well"},
            {"student": "bob-poe", "item": "idea", "test": "pe"},
        ):
            assert x.change("review", None, row)[0] == 200, row
        assert "item 'names': keep one" in x.change("review", None, {"student": "anna-lee", "item": "names"})[1]
        used = x.state()["rubric"][0]
        assert "there is no item 'names'" in x.change("rubric", used, None)[1]
        anna = with_review(make_report("anna-lee"), read_review(folder)["anna-lee"])
        assert [(test.points, test.reviewed.partition(" (X")[0]) for test in anna.stages[0].tests] == [
            (4, "Points for values: +2: The idea is right"),
            (5, "Points: +2: The idea is right. See line 3."),
        ]
        stage = anna.stages[0]
        assert (stage.points, stage.adjustment) == (8, -1)
        assert stage.comments[0].startswith("\N{MINUS SIGN}1: Names say nothing (X, ")
        assert anna.comments[0].startswith("Well done (X, ")
        bob = with_review(make_report("bob-poe"), read_review(folder)["bob-poe"])
        assert (bob.stages[1].points, bob.stages[1].adjustment) == (4, 0)  # not more than there is
        x.change("rubric", used, {**used, "points": "-2"})
        anna = with_review(make_report("anna-lee"), read_review(folder)["anna-lee"])
        assert anna.stages[0].points == 7


def test_a_request_is_answered(folder):
    (folder / "requests.csv").write_text("student,request\nbob-poe,Test Q is right.\n", encoding="utf-8")
    with serving(folder, "X") as server:
        x = Reviewer(server, "X")
        (row,) = x.state()["requests"]
        assert read_review(folder) == {}
        assert x.change("requests", row, {**row, "answer": "It is not: line 3."})[0] == 200
    (comment,) = with_review(make_report("bob-poe"), read_review(folder)["bob-poe"]).comments
    assert comment.startswith("You asked: Test Q is right. Answer: It is not: line 3. (X, ")


def test_only_reviewers_of_this_machine_get_in(folder):
    with serving(folder, "X") as server:
        x = Reviewer(server, "X")
        change = json.dumps({"table": "review", "before": None, "after": ROW}).encode()
        assert x.get("/review.html")[0] == x.get("/staff/anna-lee.html")[0] == x.get("/report.html")[0] == 200
        assert x.get("/review.html", Host="evil.example")[0] == 403
        assert x.post(change, Origin="http://evil.example")[0] == 403
        assert x.post(change, **{"Content-Type": "text/plain"})[0] == 403
        assert x.post(b"x" * 70_000)[0] == 413
        assert x.post(b"[")[0] == 400
        assert x.post(change, "/api/state")[0] == 404
        for path in ("/staff/../batch.json", "/staff/..%2fbatch.json", "/batch.json", "/results/anna-lee.json"):
            assert x.get(path)[0] == 404
        assert not (folder / "review.csv").exists()
        connection = http.client.HTTPConnection("127.0.0.1", server.server_port)
        for headers in ({}, {"Cookie": f"review-{server.server_port}=YY"}, {"Cookie": "=;"}):
            connection.request("GET", "/review.html", headers=headers)
            answer = connection.getresponse()
            assert (answer.status, b"open the link" in answer.read()) == (403, True)
        connection.request("GET", "/?token=wrong")
        assert connection.getresponse().status == 403
        assert server.server_address[0] == "127.0.0.1"
    assert "connect-src &#39;self&#39;" in Review(folder, False).page("X")


def test_an_anonymous_review_has_no_names_and_writes_real_ones(folder):
    (folder / "review.csv").write_text("student,test,points,reason,who,when\nbob-poe,,,hello,Z,\n", encoding="utf-8")
    with serving(folder, "X", anonymous=True) as server:
        x = Reviewer(server, "X")
        page = x.get("/review.html")[1]
        data = json.loads(re.findall(r'id="data">(.*?)</script>', page)[0])
        shown = {one["name"]: one["page"] for one in data["students"]}
        pages = [page, json.dumps(x.state()), *(x.get(f"/{place}")[1] for place in shown.values())]
        assert not any(name in text for text in pages for name in NAMES)
        assert set(shown) == {pseudonym("5", name) for name in NAMES}
        anna = pseudonym("5", "anna-lee")
        staff = x.get(f"/staff/{anna}.html")[1]
        assert f"review.html#{anna}" in staff
        assert f"# by {anna}" in re.sub("<[^>]*>", "", staff)
        for path in ("/report.html", "/staff/anna-lee.html", f"/feedback/{anna}.html"):
            assert x.get(path)[0] == 404
        status, said = x.change("review", None, {**ROW, "student": anna, "points": "9"})
        assert (status, said) == (422, f"{anna} gets 9 points for test_p.values, which has 3")
        assert x.change("review", None, {**ROW, "student": anna})[0] == 200
        bob = next(row for row in x.state()["review"] if row["reason"] == "hello")
        assert x.change("review", bob, {**bob, "reason": "bye"})[0] == 200
    assert {name: rows[0].reason for name, rows in read_review(folder).items()} == {
        "bob-poe": "bye",
        "anna-lee": "right in the lab",
    }


UNKNOWN = "zz-unknown"


def answers_about(x: Reviewer, name: str, row: dict[str, str]) -> dict[str, tuple[int, object]]:
    """What every route answers if this name is written in every place of a request, each time with an error."""
    asked: dict[str, tuple[int, object]] = {
        path: x.get(path.format(name))
        for path in ("/api/places?student={}", "/staff/{}.html", "/feedback/{}.html", "/{}", "/results/{}.json")
    }
    good = {"review": row, "rubric": {"item": "a", "on": "", "points": "1", "comment": "c"}, "requests": row}
    for table, fields in good.items():
        for field in fields:
            bad = {**fields, "points": "-", "request": ""} | {field: name}
            asked[f"{table} {field}"] = x.change(table, None, bad)
            asked[f"before {table} {field}"] = x.change(table, {**fields, field: name}, None)
    return asked


@pytest.mark.parametrize("broken", [False, True])
def test_no_answer_of_an_anonymous_review_says_who_is_who(folder, broken):
    """A name is treated as an unknown word, in every place of every request; no answer contains a different name.

    Args:
        broken: with mistakes in the tables, which the answers name.
    """
    rows = [f"{name},test_p,9{name == 'cleo-fry'},hello,Z,,\n{name},test_p,1,twice,Z,,\n" for name in NAMES]
    with serving(folder, "X", anonymous=True) as server:
        x = Reviewer(server, "X")
        if broken:
            header = "student,test,points,reason,who,when,item\n"
            (folder / "review.csv").write_text(header + "".join(rows), encoding="utf-8")
            (folder / "requests.csv").write_text("student,request,answer\nbob-poe,why?,so\n", encoding="utf-8")
        for student in NAMES:
            shown = pseudonym("5", student)
            row = {"student": shown, "test": "test_p", "points": "1", "reason": "r", "item": "", "who": "", "when": ""}
            unknown = answers_about(x, UNKNOWN, row)
            for place in ("/review.html", f"/api/places?student={shown}", "/api/state"):
                status, text = x.get(place)
                assert status == (422 if broken and place != "/api/state" else 200)
                assert not any(name in text for name in NAMES)
                assert status == 200 or pseudonym("5", NAMES[0]) in text
            for name in NAMES:
                for place, (status, said) in answers_about(x, name, row).items():
                    assert status >= 400, (place, said)
                    assert (status, str(said).replace(name, UNKNOWN)) == unknown[place], place
                    assert not any(other in str(said) for other in NAMES if other != name)
    assert not (folder / LOG).exists()


def test_a_name_that_is_a_word_of_html_breaks_no_page():
    page = "<style>p { a: b }</style><title>p</title><p>p and paper</p><a href='../review.html#p'>p</a>"
    assert page_without_name(page, "p", "k-1") == (
        "<style>p { a: b }</style><title>k-1</title><p>k-1 and paper</p><a href='../review.html#k-1'>k-1</a>"
    )


def test_students_are_dealt_out_evenly_and_stay(folder):
    names = [f"student-{number}" for number in range(31)]
    first = deal(names[:20], ["X", "Y"], {})
    assert sorted(map(list(first.values()).count, "XY")) == [10, 10]
    later = deal(names, ["X", "Y", "Z"], first)
    assert later.items() >= first.items()
    assert sorted(map(list(later.values()).count, "XYZ")) == [10, 10, 11]


def test_the_command_prints_a_link_for_each(folder, capsys, monkeypatch):
    class Args:
        results, anonymous, assign, port, reviewer = folder, False, True, 0, ["X", "Y", "X"]

    monkeypatch.setattr("autograder.classroom.review_server.Server.serve_forever", lambda _: None)
    assert review_command(Args) == 0  # type: ignore[arg-type]
    said = capsys.readouterr().out
    assert len(set(re.findall(r"  [XY]: http://127\.0\.0\.1:\d+/\?token=(\S{22})\n", said))) == 2
    assert set(read_reviewers(folder).values()) == {"X", "Y"}


def test_a_folder_without_results_is_refused(tmp_path):
    with pytest.raises(UserError, match="has no results of batch"):
        Review(tmp_path, False)

"""Exports as an instructor calls them: the gradebook of Canvas, and results that are not finished."""

import csv
import io
import json
import unicodedata
from pathlib import Path

import pytest

from tests.support.exporting import ASSIGNMENT, FAULT, LATE, NOT_GRADED, Results, details_of, export, write_results

ROOT = Path(__file__).resolve().parents[2]
SOLUTION, STUBS = ROOT / "solutions" / ASSIGNMENT.name, ROOT / "notebooks" / ASSIGNMENT.name


# Canvas

CANVAS_HEADER = (
    "Student,ID,SIS User ID,SIS Login ID,Section,Notes,Essay (11),Transformer (12),Assignments Final Points\r\n"
    ",,,,,,,Manual Posting,\r\n"
    "    Points Possible,,,,,,50.00,100.00,(read only)\r\n"
)
CANVAS_CLASS: Results = {
    "perfect": (100.0, 10.0),
    "Partial@Example.org": (33.335, 0.0),
    unicodedata.normalize("NFD", "übung"): (87.5, 8.0),  # as macOS writes the name of the folder
    "stubs": (0.0, 0.0),
    "excused": (50.0, 0.0),
    "other-course": (50.0, 0.0),
    "broken": FAULT,
    "waiting": NOT_GRADED,
    "unknown": (70.0, 0.0),
    "=1+1": (1.005, 0.0),  # in floating point it is less
}


def canvas(**cells: str) -> str:
    """The gradebook, with some cells in the column Transformer."""
    old = {"stubs": "12.00", "excused": "EX", "other": "N/A", "broken": "66.00", "waiting": "", "absent": "5.50"}
    cell = {"perfect": "", "partial": "", "umlaut": "", "formula": ""} | old | cells
    return CANVAS_HEADER + (
        f'"Perfect, Ä ""the"" one",101,s1,perfect,"A, B",,40.00,{cell["perfect"]},40.00\r\n'
        f'"Partial, Ö",102,s2,partial@example.org,A,"two\r\nlines",,{cell["partial"]},0.00\r\n'
        f'"Übung, ß",103,s3,übung,A,,,{cell["umlaut"]},0.00\r\n'
        f'"Stubs, ",104,s4,stubs,A,,,{cell["stubs"]},0.00\r\n'
        f'"Excused, E",105,s5,excused,A,,,{cell["excused"]},0.00\r\n'
        f'"Other, O",106,s6,other-course,A,,,{cell["other"]},0.00\r\n'
        f'"Broken, B",107,s7,broken,A,,,{cell["broken"]},0.00\r\n'
        f'"Waiting, W",108,s8,waiting,A,,,{cell["waiting"]},0.00\r\n'
        f'"Absent, A",109,s9,absent,A,,,{cell["absent"]},0.00\r\n'
        f'"=""=HYPERLINK(1)""",110,s10,=1+1,A,,,{cell["formula"]},0.00\r\n'
        '"Student, Test",111,,1a2b3c,A,,,,0.00\r\n'
    )


def export_canvas(tmp_path: Path, *arguments: object, column: str = "Transformer (12)") -> int:
    files = ["--gradebook", tmp_path / "canvas.csv", "--out", tmp_path / "import.csv", "--column", column]
    return export("canvas", tmp_path / "results", *files, *arguments)


@pytest.fixture
def for_canvas(tmp_path):
    write_results(tmp_path / "results", CANVAS_CLASS)
    (tmp_path / "canvas.csv").write_bytes(b"\xef\xbb\xbf" + canvas().encode())
    return tmp_path


@pytest.mark.parametrize("column", ["Transformer (12)", "12", "Transformer"])
def test_canvas(for_canvas, capsys, column):
    """Five cells are written; not a byte beside them changes."""
    assert export_canvas(for_canvas, column=column) == 1
    filled = canvas(perfect="110.00", partial="33.34", umlaut="95.50", stubs="0.00", formula="1.01")
    assert (for_canvas / "import.csv").read_bytes() == b"\xef\xbb\xbf" + filled.encode()
    said = capsys.readouterr().out
    assert "5 grades are in" in said
    for line in (
        "2 without a grade: their cells stay as they were:\n  broken = Broken, B: the grader failed",
        "  waiting = Waiting, W: not graded",
        "1 not found in the gradebook: nothing was written for them:\n  unknown: no row has 'unknown'",
        "  excused = Excused, E: excused in Canvas (EX)\n  other-course = Other, O: not assigned in Canvas (N/A)",
        "2 in the gradebook without a submission here: their cells stay as they were:\n  Absent, A\n  Student, Test",
        "2 cells of the gradebook begin like a formula",
    ):
        assert line in said


def test_the_details_explain_every_row(for_canvas):
    export_canvas(for_canvas)
    rows = details_of(for_canvas / "import.csv")
    assert len(rows) == len(CANVAS_CLASS) + 2
    by_name = {row["gradebook"] or row["student"]: row for row in rows}
    row = by_name["Übung, ß"]
    assert (row["points"], row["extra credit"], row["counted"], row["grade"]) == ("87.5", "8", "95.5", "95.50")
    assert row["explanation"] == "87.5 of 100 points + 8 extra credit = 95.5; grade 95.50"
    assert (by_name["Broken, B"]["status"], by_name["Broken, B"]["grade"]) == ("no grade", "")
    assert (by_name["unknown"]["status"], by_name["unknown"]["grade"]) == ("not in the gradebook", "70.00")
    assert (by_name["Absent, A"]["status"], by_name["Absent, A"]["grade"]) == ("no submission", "")
    assert all(cell[:1] not in ("=", "+", "-", "@") for row in rows for cell in row.values())
    assert '\'="=HYPERLINK(1)"' in by_name


def test_canvas_only_the_column(for_canvas):
    export_canvas(for_canvas, "--only")
    rows = list(csv.reader(io.StringIO((for_canvas / "import.csv").read_text(encoding="utf-8-sig"), newline="")))
    assert rows[0] == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Transformer (12)"]
    assert rows[2][0] == "    Points Possible"
    assert rows[3] == ['Perfect, Ä "the" one', "101", "s1", "perfect", "A, B", "110.00"]
    assert [len(row) for row in rows] == [6] * 14


def test_canvas_of_another_country(for_canvas):
    """Semicolons, decimal commas, LF, first and last names, no mark at the beginning."""
    gradebook = (
        "LastName;FirstName;ID;SIS Login ID;Section;Transformer (12)\n"
        "    Points Possible;;;;;100,00\n"
        "Übung, ß;Ä;103;übung;A;3,5\n"
    )
    (for_canvas / "canvas.csv").write_text(gradebook, encoding="utf-8", newline="")
    export_canvas(for_canvas)
    expected = gradebook.replace("A;3,5", "A;95.50").encode()
    assert (for_canvas / "import.csv").read_bytes() == expected


def test_canvas_names_of_downloaded_files(tmp_path):
    students = {"perfectä_101_9001_transformer": (100.0, 0.0), "stubs_LATE_104_9002_transformer-1": (0.0, 0.0)}
    write_results(tmp_path / "results", {**students, "103": (50.0, 0.0)})
    (tmp_path / "canvas.csv").write_text(canvas(), encoding="utf-8", newline="")
    assert export_canvas(tmp_path, "--match", "id") == 0
    expected = canvas(perfect="100.00", stubs="0.00", umlaut="50.00").encode()
    assert (tmp_path / "import.csv").read_bytes() == expected


def test_two_submissions_or_two_rows_are_not_guessed(tmp_path, capsys):
    write_results(tmp_path / "results", {"perfect": (9.0, 0.0), "PERFECT": (8.0, 0.0), "stubs": (7.0, 0.0)})
    (tmp_path / "canvas.csv").write_text(canvas().replace(",waiting,", ",stubs,"), encoding="utf-8", newline="")
    assert export_canvas(tmp_path) == 1
    assert (tmp_path / "import.csv").read_bytes() == (tmp_path / "canvas.csv").read_bytes()
    said = capsys.readouterr().out
    assert "2 submissions belong to 'perfect'" in said
    assert "2 rows have 'stubs'" in said


def test_late_days_from_timestamps_and_from_a_file(for_canvas, capsys):
    policy = LATE + '[late.extensions]\n"übung" = 2026-10-05T23:59:59\nnobody = 2026-10-05T23:59:59\n'
    (for_canvas / "policy.toml").write_text('[grade]\nextra_credit = "capped"\n' + policy, encoding="utf-8")
    submissions = for_canvas / "submitted"
    for student, time in {
        "perfect": "2026-10-03 00:10:00 UTC",  # 2:10 in Berlin
        "Partial@Example.org": "2026-10-02 21:59:59.999999 UTC",
        "übung": "2026-10-05 21:59:59 UTC",
        "=1+1": "2026-10-02 10:00:00 UTC",
    }.items():
        folder = submissions / student / ASSIGNMENT.name
        folder.mkdir(parents=True)
        (folder / "timestamp.txt").write_text(time, encoding="utf-8")
    times = 'student,time\n"=1+1",2026-10-05 12:00\nmisspelt,2026-10-05 12:00\n'
    (for_canvas / "times.csv").write_text(times, encoding="utf-8")
    options = ["--policy", for_canvas / "policy.toml", "--times", for_canvas / "times.csv"]
    assert export_canvas(for_canvas, *options, "--submissions", submissions) == 1
    filled = canvas(perfect="90.00", partial="30.00", umlaut="95.50", formula="0.70")
    assert (for_canvas / "import.csv").read_bytes() == b"\xef\xbb\xbf" + filled.encode()
    said = capsys.readouterr().out
    assert "stubs = Stubs, : the submission time is not known" in said
    assert "an extension for 'nobody', but no submission has that name" in said
    assert "a time for 'misspelt', but no submission has that name" in said
    row = next(row for row in details_of(for_canvas / "import.csv") if row["student"] == "perfect")
    assert (row["days late"], row["penalty percent"], row["penalty"]) == ("1", "10", "10")
    assert (row["handed in"], row["due"]) == ("2026-10-03 02:10:00 +0200", "2026-10-02 23:59:59 +0200")


def test_canvas_says_itself_when_work_was_handed_in(tmp_path, capsys):
    """Its API gives pages, one list each, which belong to the numbers of students, not to their names."""
    write_results(tmp_path / "results", {"perfectä_101": (100.0, 0.0), "stubs_104": (50.0, 0.0)})
    (tmp_path / "canvas.csv").write_text(canvas(), encoding="utf-8", newline="")
    (tmp_path / "policy.toml").write_text(LATE, encoding="utf-8")
    first = [{"user_id": 101, "submitted_at": "2026-10-03T22:30:00Z", "late": True, "attempt": 2}]
    second = [{"user_id": 104, "submitted_at": "2026-10-02T21:00:00Z"}, {"user_id": 109, "submitted_at": None}]
    (tmp_path / "times.json").write_text(json.dumps(first) + "\n" + json.dumps(second), encoding="utf-8")
    options = ["--policy", tmp_path / "policy.toml", "--times", tmp_path / "times.json"]
    for by in ("id", "login"):  # by the log-in nobody is found here, and the times are known all the same
        assert export_canvas(tmp_path, *options, "--match", by) == (by == "login")
        assert "nobody here" not in capsys.readouterr().out
        if by == "id":
            filled = canvas(perfect="80.00", stubs="50.00").encode()
            assert (tmp_path / "import.csv").read_bytes() == filled


CANVAS_WRONG = {
    "no gradebook": ("a,b\n", [], "is not a Canvas gradebook"),
    "empty": ("", [], "is empty"),
    "another column": (canvas(), ["--column", "Exam"], "its columns: Essay (11), Transformer (12)"),
    "read only": (canvas().replace("100.00,(r", "(read only),(r"), [], "is read-only"),
    "no such match": (canvas(), ["--match", "Nickname"], "has no column 'Nickname'; its columns are: Student, ID"),
    "other points": (canvas().replace("100.00,(r", "50.00,(r"), [], "full marks are 50 points there and 100 (110 with"),
    "broken quotes": (canvas().replace('""the""', '"the"'), [], "line 4"),
    "late without times": (canvas(), ["--policy", "policy.toml"], "say when work was handed in"),
    "over the gradebook": (canvas(), ["--out", "canvas.csv"], "choose another name for --out"),
    "details over the gradebook": (canvas(), ["--gradebook", "import-details.csv"], "choose another name for --out"),
    "no folder": (canvas(), ["--out", "nowhere/import.csv"], "there is no folder"),
    "a folder": (canvas(), ["--out", "results"], "results is a folder"),
    "no gradebook file": (canvas(), ["--gradebook", "none.csv"], "cannot read none.csv"),
}


@pytest.mark.parametrize("case", CANVAS_WRONG)
def test_canvas_wrong_usage(case, for_canvas, monkeypatch, capsys):
    text, arguments, message = CANVAS_WRONG[case]
    monkeypatch.chdir(for_canvas)
    for name in ("canvas.csv", "import-details.csv"):
        Path(name).write_text(text, encoding="utf-8", newline="")
    Path("policy.toml").write_text(LATE, encoding="utf-8")
    assert export_canvas(Path(), *arguments) == 2
    assert message in capsys.readouterr().err
    assert not Path("import.csv").exists()
    assert Path("canvas.csv").read_bytes() == Path("import-details.csv").read_bytes() == text.encode()


def test_not_utf8(for_canvas, capsys):
    (for_canvas / "canvas.csv").write_bytes(canvas().encode("cp1252"))
    assert export_canvas(for_canvas) == 2
    assert "is not UTF-8: export it again, or save it as 'CSV UTF-8'" in capsys.readouterr().err


def test_points_that_include_extra_credit(for_canvas):
    """An assignment may be worth all points with extra credit; with `points` everything is scaled."""
    whole = canvas().replace("100.00,(r", "110.00,(r")
    (for_canvas / "canvas.csv").write_text(whole, encoding="utf-8", newline="")
    assert export_canvas(for_canvas) == 1
    assert "110.00,40.00" in (for_canvas / "import.csv").read_text(encoding="utf-8")
    half = canvas().replace("100.00,(r", "50,(r")
    (for_canvas / "canvas.csv").write_text(half, encoding="utf-8", newline="")
    (for_canvas / "policy.toml").write_text("[grade]\npoints = 50\n", encoding="utf-8")
    assert export_canvas(for_canvas, "--policy", for_canvas / "policy.toml") == 1
    assert ",16.67,0.00" in (for_canvas / "import.csv").read_text(encoding="utf-8")


# The results of batch


def test_results_that_are_not_finished(tmp_path, capsys):
    (tmp_path / "canvas.csv").write_text(canvas(), encoding="utf-8", newline="")
    for damage, message in {
        "grades.csv": "has no finished results",
        "batch.json": "has no finished results",
    }.items():
        write_results(tmp_path / "results", {"perfect": (100.0, 0.0)})
        (tmp_path / "results" / damage).unlink()
        assert export_canvas(tmp_path) == 2
        assert message in capsys.readouterr().err
    write_results(tmp_path / "results", {"perfect": (100.0, 0.0)})
    grades = tmp_path / "results" / "grades.csv"
    before = grades.read_bytes()
    write_results(tmp_path / "results", {"perfect": (90.0, 0.0)})
    grades.write_bytes(before)
    assert export_canvas(tmp_path) == 2
    assert "is older than the result of perfect: run batch again" in capsys.readouterr().err


@pytest.mark.parametrize("left", [None, "report", "stages", "seconds"])
def test_a_damaged_result_is_no_grade(for_canvas, capsys, left):
    path = for_canvas / "results" / "results" / "student-0.json"
    entry = json.loads(path.read_bytes())
    for part in (entry, entry["report"]):
        part.pop(left, None)
    path.write_text(json.dumps(entry) if left else '{"student": "perf', encoding="utf-8")
    assert export_canvas(for_canvas) == 1
    assert 'perfect = Perfect, Ä "the" one: the result is missing or damaged' in capsys.readouterr().out
    filled = canvas(partial="33.34", umlaut="95.50", stubs="0.00", formula="1.01")
    assert (for_canvas / "import.csv").read_bytes() == b"\xef\xbb\xbf" + filled.encode()


@pytest.mark.parametrize("names", ["files", "letters"])
def test_canvas_students_are_found_by_what_fits_most_of_them(tmp_path, capsys, names):
    """Without --match: what Canvas' download gives has no login in it, but a number and the letters of the name."""
    students = {"perfectäthe_one_101": 10.0, "partialö_102": 20.0, "übungß_103": 30.0, "stubs_104": 40.0}
    if names == "letters":
        students = {name.rpartition("_")[0]: points for name, points in students.items()}
    write_results(tmp_path / "results", {name: (points, 0.0) for name, points in students.items()})
    (tmp_path / "canvas.csv").write_bytes(canvas(stubs="").encode())
    assert export_canvas(tmp_path) == 0
    filled = canvas(perfect="10.00", partial="20.00", umlaut="30.00", stubs="40.00")
    assert (tmp_path / "import.csv").read_bytes() == filled.encode()
    way = {"files": "id", "letters": "name"}[names]
    assert f"students are matched by {way}" in capsys.readouterr().out

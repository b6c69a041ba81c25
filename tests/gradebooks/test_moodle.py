"""Grades into Moodle's worksheet, and a class laid out for JPlag and Dolos."""

import csv
import shlex
from pathlib import Path

import pytest

from autograder.__main__ import main
from autograder.submissions.read_submission import read_submission
from tests.support.exporting import ASSIGNMENT, FAULT, LATE, Results, details_of, export, write_results

ROOT = Path(__file__).resolve().parents[2]
SOLUTION, STUBS = ROOT / "solutions" / ASSIGNMENT.name, ROOT / "notebooks" / ASSIGNMENT.name


# Moodle

MOODLE_HEADER = (
    "Identifier,Full name,Email address,Status,Grade,Maximum Grade,Grade can be changed,Last modified (submission),"
    "Last modified (grade),Feedback comments\n"
)
MOODLE_CLASS: Results = {
    "Perfect Ä, the one_21_assignsubmission_file_": (100.0, 0.0),
    "Partial Ö_22_assignsubmission_file_": (33.335, 8.0),
    "Participant_23_assignsubmission_file_": (87.5, 0.0),
    "Locked L_24_assignsubmission_file_": (50.0, 0.0),
    "Broken B_25_assignsubmission_file_": FAULT,
    "Other O_99_assignsubmission_file_": (10.0, 0.0),
}
DATES = {
    "perfect": '"Friday, 2 October 2026, 11:59 PM"',
    "partial": '"Saturday, 3 October 2026, 12:00 AM"',
    "blind": '"Sunday, 4 October 2026, 09:30 AM"',
}


def moodle(feedback: bool = True, **cells: str) -> str:
    old = {"perfect": "", "partial": "20.00", "blind": "", "locked": "40.00", "broken": "", "absent": ""}
    cell = {name: (cells.get(name, grade), cells.get(f"{name}_says", "")) for name, grade in old.items()}
    return MOODLE_HEADER + "".join(
        f"Participant {number},{name},{mail},Submitted for grading,{cell[who][0]},100.00,{can},{DATES.get(who, '-')},-,"
        f"{cell[who][1]}\n"
        for number, who, name, mail, can in (
            (21, "perfect", '"Perfect Ä, the one"', "perfect@example.org", "Yes"),
            (22, "partial", "Partial Ö", "partial@example.org", "Yes"),
            (23, "blind", "Blind", "blind@example.org", "Yes"),
            (24, "locked", "Locked L", "locked@example.org", "No"),
            (25, "broken", "Broken B", "broken@example.org", "Yes"),
            (26, "absent", "=cmd", "absent@example.org", "Yes"),
        )
    )


def export_moodle(tmp_path: Path, *arguments: object) -> int:
    files = ["--worksheet", tmp_path / "moodle.csv", "--out", tmp_path / "upload.csv"]
    return export("moodle", tmp_path / "results", *files, *arguments)


@pytest.fixture
def for_moodle(tmp_path):
    write_results(tmp_path / "results", MOODLE_CLASS)
    (tmp_path / "moodle.csv").write_bytes(b"\xef\xbb\xbf" + moodle(blind_says="See me.").encode())
    return tmp_path


def test_moodle(for_moodle, capsys):
    assert export_moodle(for_moodle) == 1
    filled = moodle(
        perfect="100.00",
        partial="41.34",
        blind="87.50",
        blind_says="See me.",
        perfect_says="Autograder: 100 of 100 points; grade 100.00",
        partial_says="Autograder: 33.335 of 100 points + 8 extra credit = 41.335; grade 41.34",
    )
    assert (for_moodle / "upload.csv").read_bytes() == b"\xef\xbb\xbf" + filled.encode()
    said = capsys.readouterr().out
    assert "Broken B_25_assignsubmission_file_ = Broken B: the grader failed" in said
    assert "Other O_99_assignsubmission_file_: no row has '99'" in said
    assert "= Locked L: the grade is locked in Moodle" in said
    assert "  =cmd" in said
    assert "the existing feedback stays" in said
    # What we wrote there before is replaced.
    (for_moodle / "moodle.csv").write_bytes((for_moodle / "upload.csv").read_bytes())
    (for_moodle / "policy.toml").write_text('[grade]\nextra_credit = "capped"\n', encoding="utf-8")
    write_results(for_moodle / "results", MOODLE_CLASS | {"Partial Ö_22_assignsubmission_file_": (90.0, 10.0)})
    export_moodle(for_moodle, "--policy", for_moodle / "policy.toml")
    uploaded = (for_moodle / "upload.csv").read_text(encoding="utf-8-sig")
    assert "Autograder: 90 of 100 points + 10 extra credit = 100; grade 100.00" in uploaded


def test_moodle_late_days_from_the_worksheet(for_moodle):
    """The minute counts as a whole: 23:59 is on time until 23:59:59."""
    (for_moodle / "policy.toml").write_text(LATE, encoding="utf-8")
    export_moodle(for_moodle, "--policy", for_moodle / "policy.toml")
    grades = {row["gradebook"]: (row["days late"], row["grade"]) for row in details_of(for_moodle / "upload.csv")}
    assert grades["Perfect Ä, the one"] == ("0", "100.00")
    assert grades["Partial Ö"] == ("1", "37.20")
    assert grades["Blind"] == ("2", "70.00")


def test_moodle_by_mail_and_by_name(tmp_path):
    (tmp_path / "moodle.csv").write_text(moodle(), encoding="utf-8", newline="")
    write_results(tmp_path / "mail" / "results", {"Partial@Example.org": (33.0, 0.0)})
    write_results(tmp_path / "name" / "results", {"partial ö_7_assignsubmission_file_": (33.0, 0.0)})
    for by in ("mail", "name"):
        (tmp_path / by / "moodle.csv").write_bytes((tmp_path / "moodle.csv").read_bytes())
        assert export_moodle(tmp_path / by, "--match", {"mail": "email"}.get(by, by)) == 0
        assert ",33.00,100.00," in (tmp_path / by / "upload.csv").read_text(encoding="utf-8")


def test_moodle_ignores_grades_above_the_maximum_so_they_are_refused(tmp_path, capsys):
    write_results(tmp_path / "results", {"21": (100.0, 8.0)})
    (tmp_path / "moodle.csv").write_text(moodle(), encoding="utf-8", newline="")
    assert export_moodle(tmp_path) == 2
    assert "21 would get 108.00 of 100, and Moodle ignores grades above the maximum" in capsys.readouterr().err
    assert not (tmp_path / "upload.csv").exists()
    (tmp_path / "moodle.csv").write_text(moodle().replace("100.00", "110,00".join('""')), encoding="utf-8", newline="")
    assert export_moodle(tmp_path) == 0
    assert ',108.00,"110,00",' in (tmp_path / "upload.csv").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("Identifier", "ID", "is not a Moodle grading worksheet: it has no column 'Identifier'"),
        ("Last modified (grade)", "Zuletzt geändert (Bewertung)", "set the language to English"),
        ("Maximum Grade", "Scale", "graded with a scale"),
        ("100.00", "20.00", "full marks are 20 points there"),
        ("Status", "Grade", "has the column 'Grade' 2 times"),
    ],
)
def test_moodle_wrong_worksheets(for_moodle, capsys, old, new, message):
    (for_moodle / "moodle.csv").write_text(moodle().replace(old, new), encoding="utf-8", newline="")
    assert export_moodle(for_moodle) == 2
    assert message in capsys.readouterr().err
    assert not (for_moodle / "upload.csv").exists()


# Similarity


def hand_in(folder: Path, source: Path) -> None:
    folder.mkdir(parents=True)
    for module in ASSIGNMENT.modules:
        (folder / f"{module}.py").write_bytes((source / f"{module}.py").read_bytes())


def test_similarity(tmp_path, capsys):
    submissions, out = tmp_path / "submitted", tmp_path / "out of it"
    for student in ("perfect", "stubs", "=1+1"):
        hand_in(submissions / student / ASSIGNMENT.name, STUBS if student == "stubs" else SOLUTION)
    (submissions / "empty").mkdir()
    (submissions / "perfect" / "notes.py").write_text("secret = 1\n", encoding="utf-8")
    time = "2026-10-02 21:00:00.000000 UTC"
    (submissions / "perfect" / ASSIGNMENT.name / "timestamp.txt").write_text(time, encoding="utf-8")
    assert export("similarity", submissions, "--out", out) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("left out empty: ")
    assert said[1] == f"The modules of 3 students are in {out}. Run one of these:"

    # JPlag: a folder for each student in one folder, the stubs apart from them.
    command = shlex.split(said[2])
    assert command[:5] == ["java", "-jar", "jplag.jar", "-l", "python3"]
    options = dict(zip(command[5:-1:2], map(Path, command[6:-1:2]), strict=True))
    modules = {f"{module}.py" for module in ASSIGNMENT.modules}
    folders = list(Path(command[-1]).iterdir())
    assert len(folders) == 3
    assert {folder.name for folder in folders} >= {"perfect", "stubs"}
    assert all({path.name for path in folder.iterdir()} == modules for folder in [*folders, options["-bc"]])
    assert read_submission(options["-bc"], ASSIGNMENT).sources == read_submission(STUBS, ASSIGNMENT).sources
    graded = read_submission(Path(command[-1]) / "perfect", ASSIGNMENT)
    assert graded.sources == read_submission(SOLUTION, ASSIGNMENT).sources

    # Dolos: one file for each student, named in info.csv, and one to ignore.
    where, run = said[3].split(" && ")
    folder = Path(shlex.split(where)[1])
    assert run == "dolos run -l python -f web -i stubs.py info.csv"
    with (folder / "info.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["full_name"]: row["created_at"] for row in rows} == {
        "perfect": "2026-10-02 21:00:00 +0000",
        "stubs": "",
        "'=1+1": "",
    }
    for text in [(folder / row["filename"]).read_text(encoding="utf-8") for row in rows]:
        compile(text, "together", "exec")
        assert all(f"# {module}.py\n" in text for module in ASSIGNMENT.modules)
    stubs = (folder / "stubs.py").read_text(encoding="utf-8")
    assert stubs == (folder / "submissions" / "stubs.py").read_text(encoding="utf-8")

    # Nothing old is mixed with it.
    assert export("similarity", submissions, "--out", out) == 2
    assert "already exists: choose a new folder" in capsys.readouterr().err


def test_similarity_where_nothing_can_be_written(tmp_path, capsys):
    hand_in(tmp_path / "submitted" / "stubs" / ASSIGNMENT.name, STUBS)
    (tmp_path / "file").write_text("text", encoding="utf-8")
    assert export("similarity", tmp_path / "submitted", "--out", tmp_path / "file" / "out") == 2
    assert "cannot write to" in capsys.readouterr().err
    assert (tmp_path / "file").read_text(encoding="utf-8") == "text"


def test_help_says_what_there_is(capsys):
    with pytest.raises(SystemExit):
        main(["export", "--help"])
    said = capsys.readouterr().out
    assert all(kind in said for kind in ("canvas", "moodle", "similarity"))


def test_students_of_a_download_are_matched_whatever_is_in_their_names(tmp_path):
    """Moodle leaves some signs out of the names of files, and writes a group before them; the number stays."""
    rows = {12: "Ben O'Neil", 13: "Li Xu", 14: "Zoë Müller", 15: "Ana-Maria d'Été_2"}
    results: Results = {
        "Ben ONeil_12": (12.0, 0.0),
        "Gruppe A-Li Xu_13": (13.0, 0.0),
        "Zoe\u0308 Mu\u0308ller_14": (14.0, 0.0),
    }
    write_results(tmp_path / "results", {**results, "Ana-Maria dÉté 2_15": (15.0, 0.0)})
    lines = [f"Participant {number},{name},x@example.org,,{{}},100.00,Yes,-,-,{{}}" for number, name in rows.items()]
    for way, last in (("id", 0), ("name", 1)):  # by name, a member of a group is nobody
        (tmp_path / "moodle.csv").write_text(
            MOODLE_HEADER + "".join(line.format("", "") + "\n" for line in lines), encoding="utf-8"
        )
        assert export_moodle(tmp_path, "--match", way) == last
        with (tmp_path / "upload.csv").open(encoding="utf-8", newline="") as file:
            given = {row["Identifier"]: row["Grade"] for row in csv.DictReader(file)}
        for number in rows:
            expected = "" if way == "name" and number == 13 else f"{number}.00"
            assert given[f"Participant {number}"] == expected

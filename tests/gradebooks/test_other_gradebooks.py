"""Gradebook files of Brightspace and Blackboard, and any CSV file: only grades change, byte for byte."""

import csv

import pytest

from tests.support.exporting import FAULT, Results, export, write_results

CLASS: Results = {"anna": (87.5, 10.0), "Bob": (60.0, 0.0), "cleo": FAULT}
ITEM = "Transformer Points Grade <Numeric MaxPoints:100 Weight:10 Category:Labs CategoryWeight:40>"
BRIGHTSPACE = (
    "OrgDefinedId,Username,Last Name,First Name,Essay Points Grade <Numeric MaxPoints:10>,"
    f"{ITEM},End-of-Line Indicator\r\n"
    "#0011,#anna,Lee,Anna,7,{anna},#\r\n#0012,#bob,Poe,Bob,,{bob},#\r\n#0013,#cleo,Fry,Cleo,,5,#\r\n"
)
BLACKBOARD = (
    '"Last Name"\t"First Name"\t"Username"\t"Student ID"\t"Total [Total Pts: up to 110 Score] |1"\t'
    '"Transformer [Total Pts: 100 Score] |271854"\r\n'
    '"Lee"\t"Anna"\t"anna"\t"0011"\t"7"\t"{anna}"\r\n"Poe"\t"Bob"\t"bob"\t"0012"\t""\t"{bob}"\r\n'
)


@pytest.fixture
def graded(tmp_path):
    return write_results(tmp_path / "graded", CLASS)


def filled(kind, graded, text, encoding, *arguments, column):
    source, out = graded.parent / "gradebook", graded.parent / "import.csv"
    source.write_bytes(text.format(anna="", bob="3").encode(encoding))
    files = ["--gradebook", source, "--column", column, "--out", out, *arguments]
    return export(kind, graded, *files), out.read_bytes().decode(encoding) if out.exists() else ""


@pytest.mark.parametrize("column", ["Transformer", ITEM])
def test_brightspace(graded, capsys, column):
    status, text = filled("brightspace", graded, BRIGHTSPACE, "utf-8-sig", column=column)
    assert text == BRIGHTSPACE.format(anna="97.50", bob="60.00")
    assert status == 1
    said = capsys.readouterr().out
    assert "cleo = Fry, Cleo: the grader failed" in said
    assert "Brightspace cuts grades above the maximum" in said


def test_brightspace_only_one_item_and_other_keys(graded, tmp_path):
    folder = write_results(tmp_path / "by-id", {"0011": (87.5, 10.0), "0012": (60.0, 0.0), "0013": FAULT})
    _, text = filled("brightspace", folder, BRIGHTSPACE, "utf-8", "--match", "id", "--only", column="Transformer")
    rows = list(csv.reader(text.splitlines()))
    assert rows[0] == ["OrgDefinedId", "Username", "Last Name", "First Name", ITEM, "End-of-Line Indicator"]
    assert rows[1] == ["#0011", "#anna", "Lee", "Anna", "97.50", "#"]


@pytest.mark.parametrize("column", ["Transformer", "271854", "Transformer [Total Pts: 100 Score] |271854"])
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_blackboard(graded, column, encoding):
    _, text = filled("blackboard", graded, BLACKBOARD, encoding, column=column)
    assert list(csv.reader(text.splitlines(), delimiter="\t")) == [
        *csv.reader(BLACKBOARD.format(anna="97.50", bob="60.00").splitlines(), delimiter="\t")
    ]


@pytest.mark.parametrize(
    ("kind", "text", "column", "said"),
    [
        ("brightspace", BLACKBOARD, "Transformer", "is not a Brightspace gradebook"),
        ("brightspace", BRIGHTSPACE, "Nope", "its columns: Essay, Transformer"),
        (
            "brightspace",
            BRIGHTSPACE.replace("MaxPoints:100", "MaxPoints:50"),
            "Transformer",
            "full marks are 50 points",
        ),
        ("blackboard", "a,b\n1,2\n", "Transformer", "is not a Blackboard gradebook"),
        ("blackboard", BLACKBOARD, "Total", "its columns: Transformer"),
    ],
)
def test_other_files_are_refused(graded, capsys, kind, text, column, said):
    assert filled(kind, graded, text, "utf-8", column=column) == (2, "")
    assert said in capsys.readouterr().err


def test_any_csv_file(graded):
    text = "Matrikel;Konto;Note\nA1;anna;{anna}\nA2;bob;{bob}\n"
    _, filled_text = filled("csv", graded, text, "utf-8", "--match", "Konto", column="Note")
    assert filled_text == text.format(anna="97.50", bob="60.00")


def test_a_class_without_a_gradebook_gets_one(graded, tmp_path):
    assert export("csv", graded, "--out", tmp_path / "grades.csv") == 1
    rows = (tmp_path / "grades.csv").read_text(encoding="utf-8-sig").splitlines()
    assert rows == ["student,grade", "Bob,60.00", "anna,97.50", "cleo,"]

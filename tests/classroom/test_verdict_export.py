"""`export verdict`: what batch has left, in each format, for students and for the staff."""

import json
from pathlib import Path

import jsonschema
import pytest

from autograder.__main__ import main
from autograder.grading.results import to_json
from autograder.manifest import assignment
from autograder.reports.verdict import as_text, fault_report, verdict
from course.location import ENGINE as ROOT
from tests.support.pages import make_report, make_test

ASSIGNMENT = assignment("transformer")
SCHEMA = json.loads((ROOT / "docs" / "verdict-1.schema.json").read_text(encoding="utf-8"))
SECRET = "secret 4711"


@pytest.fixture
def results(tmp_path) -> Path:
    """A folder as batch leaves it: one student is graded, on another one the grader failed."""
    anna = make_report(make_test("a", "failed", hidden=True, message=SECRET), hidden_seed=7, review=("look",))
    for folder in ("results", "verdicts"):
        (tmp_path / "graded" / folder).mkdir(parents=True)
    (tmp_path / "graded" / "batch.json").write_text('{"assignment": "transformer", "seed": 7}', encoding="utf-8")
    for name, report, fault in (("anna", anna, ""), ("bob", fault_report(ASSIGNMENT), "it broke")):
        entry = {"student": name, "fault": fault, "report": to_json(report) if not fault else None}
        found = {**verdict(report, ASSIGNMENT), "students": [name]}
        (tmp_path / "graded" / "results" / f"{name}.json").write_text(json.dumps(entry), encoding="utf-8")
        (tmp_path / "graded" / "verdicts" / f"{name}.json").write_text(as_text(found), encoding="utf-8")
    return tmp_path / "graded"


@pytest.mark.parametrize("form", ["json", "junit", "sarif", "markdown", "gradescope"])
def test_a_file_for_each_student(results, tmp_path, capsys, form):
    out = tmp_path / "out"
    assert main(["export", "verdict", str(results), "--out", str(out), "--format", form]) == 0
    assert {path.name.split(".")[0] for path in out.iterdir()} == {"anna", "bob"}
    assert not any(SECRET in path.read_text(encoding="utf-8") for path in out.iterdir())
    assert "The grader failed on 1 of them" in capsys.readouterr().out


def test_the_staff_sees_everything(results, tmp_path, capsys):
    command = ["export", "verdict", str(results), "--out", str(tmp_path / "out"), "--audience", "staff"]
    assert main(command) == 0
    found = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in (tmp_path / "out").iterdir()}
    for one in found.values():
        jsonschema.Draft202012Validator(SCHEMA).validate(one)
    assert (found["anna"]["tests"][0]["message"], found["anna"]["engine"]["seed"]) == (SECRET, "7")
    assert found["anna"]["review"] == ["look"]
    assert found["bob"]["outcome"] == "fault"
    assert main([*command, "--format", "junit"]) == 2
    assert "is for verdict/1 only" in capsys.readouterr().err


def test_there_must_be_some(tmp_path, capsys):
    assert main(["export", "verdict", str(tmp_path), "--out", str(tmp_path / "out")]) == 2
    assert "run batch first" in capsys.readouterr().err

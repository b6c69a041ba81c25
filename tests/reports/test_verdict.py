"""verdict/1: it keeps its schema, tells students nothing of hidden tests, and every format is computed from it."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest

from autograder.__main__ import main
from autograder.diagnosis.line_verdict import LineMark
from autograder.grading.results import PartResult, Report, from_json, to_json
from autograder.manifest import assignment
from autograder.reports.gradescope_results import results
from autograder.reports.junit_xml import junit
from autograder.reports.markdown_summary import summary
from autograder.reports.sarif import sarif
from autograder.reports.verdict import as_text, fault_report, score_line, verdict
from course.location import ENGINE as ROOT
from tests.support.pages import every_status, make_report, make_test

ASSIGNMENT = assignment("transformer")
SCHEMA = json.loads((ROOT / "docs" / "verdict-1.schema.json").read_text(encoding="utf-8"))
SECRET = "secret 4711"


def valid(found: Any) -> Any:
    """The verdict as others read it, if it keeps the schema and has nothing that the schema does not name."""
    read = json.loads(as_text(found))
    jsonschema.Draft202012Validator(SCHEMA).validate(read)
    assert read.keys() <= SCHEMA["properties"].keys()
    for name, entries in (("stage", read["stages"]), ("test", read["tests"])):
        assert all(entry.keys() <= SCHEMA["$defs"][name]["properties"].keys() for entry in entries)
    for test in read["tests"]:
        for name, one in (("part", "parts"), ("line", "lines"), ("diagnostic", "diagnostics")):
            assert all(entry.keys() <= SCHEMA["$defs"][name]["properties"].keys() for entry in test[one])
    return read


def hidden_failure() -> Report:
    mark = LineMark("mha.py", 3, SECRET, "wrong")
    parts = (PartResult("a", "passed", 2, 2, hidden=True), PartResult("b", "failed", 0, 2, SECRET, hidden=True))
    fields: dict[str, Any] = {"message": SECRET, "details": (SECRET,), "printed": SECRET, "pointed": (SECRET,)}
    failed = make_test(
        "test_h", "failed", 2, hidden=True, marks=(mark,), parts=parts, places=(("mha.py", 4),), **fields
    )
    passed = make_test("test_p", hidden=True, marks=(mark,), **fields)
    return make_report(failed, passed, hidden_seed=2**63 - 1, confined=True, review=(SECRET,))


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("audience", ["student", "staff"])
def test_every_outcome_keeps_the_schema(audience):
    report = every_status()
    report = replace(
        report,
        stages=tuple(
            replace(stage, tests=tuple(test for test in stage.tests if "future" not in test.status))
            for stage in report.stages
        ),
    )
    for one in (report, hidden_failure(), fault_report(ASSIGNMENT), make_report()):
        found = valid(verdict(one, ASSIGNMENT, audience, sources={"mha": "class MultiHeadAttention:\n  pass\n"}))
        assert ("review" in found) == (audience == "staff")


def test_what_hidden_tests_must_not_tell():
    report = hidden_failure()
    found = verdict(report, ASSIGNMENT, sources={"mha": ""})
    formats = [as_text(found), summary(found), junit(found), as_text(sarif(found)), as_text(results(found))]
    for text in formats:
        assert SECRET not in text
        assert str(report.hidden_seed) not in text
    staff = valid(verdict(report, ASSIGNMENT, "staff"))
    assert staff["engine"]["seed"] == str(report.hidden_seed)
    assert staff["review"] == [SECRET]
    assert SECRET in staff["tests"][0]["details"]


def test_only_a_graded_submission_has_the_outcome_graded():
    assert verdict(make_report(), ASSIGNMENT)["outcome"] == "graded"
    fault = verdict(make_report(make_test("a"), make_test("b", "fault", message=SECRET)), ASSIGNMENT)
    assert fault["outcome"] == "fault"
    assert SECRET not in as_text(fault)
    assert "grader itself failed" in fault["summary"]
    report = make_report(make_test("a", "no file"), make_test("b", "blocked"))
    empty = replace(report, stages=report.stages[:1])
    assert verdict(empty, ASSIGNMENT)["outcome"] == "nothing handed in"
    some = replace(report, stages=(*report.stages[:1], *make_report(make_test("c", "not started")).stages[:1]))
    assert verdict(some, ASSIGNMENT)["outcome"] == "graded"


def test_extra_credit_is_apart():
    found = verdict(make_report(make_test("a"), make_test("b", "failed")), ASSIGNMENT)
    assert (found["points"], found["max_points"], found["extra_points"], found["max_extra_points"]) == (4, 8, 1.5, 2)
    assert score_line(found) == found["summary"] == "4 of 8 points, and 1.5 of 2 extra"
    required = verdict(replace(make_report(), stages=make_report().stages[:1]), ASSIGNMENT)
    assert required["summary"] == "4 of 4 points"
    extra = verdict(replace(make_report(), stages=make_report().stages[1:]), ASSIGNMENT)
    assert extra["summary"] == "1.5 of 2 extra points"


def test_diagnostics_are_at_the_wrong_line_else_at_the_exception_else_at_the_function():
    marks = (LineMark("mha.py", 7, "x = 1", "right"), LineMark("mha.py", 9, "y = 2", "wrong"))
    tests = [
        make_test("a", "failed", message="x is wrong", marks=marks, hints=("It looks like this.",)),
        make_test("b", "error", message="TypeError:\nno", places=(("mha.py", 11),)),
        make_test("c", "failed", message="y is wrong"),
        make_test("d", "not started", message="f is not written yet", places=(("mha.py", 13),)),
        make_test("e", message="passes, but: unusual", places=(("mha.py", 15),)),
        make_test("f", "fault", message=SECRET),
        make_test("g", "failed", message="z", places=(("../x.py", 1),)),
        make_test("h"),
    ]
    source = "import torch\nclass MultiHeadAttention:\n    def __init__(self): ...\n    def forward(self): ...\n"
    found = valid(verdict(make_report(*tests), ASSIGNMENT, sources={"mha": source}))
    told = [(one["line"], one["severity"], one["message"]) for test in found["tests"] for one in test["diagnostics"]]
    first = ASSIGNMENT.stage("mha").writes[0].split(".")[2]
    assert first not in source
    assert told == [
        (9, "error", "x is wrong. It looks like this."),
        (11, "error", "TypeError: no"),
        (2, "error", "y is wrong"),
        (13, "info", "f is not written yet"),
        (15, "warning", "passes, but: unusual"),
    ]


def test_places_survive_the_record():
    report = make_report(make_test("b", "error", places=(("mha.py", 11),)))
    assert from_json(json.loads(json.dumps(to_json(report)))) == report


def test_one_cause_is_told_once_and_named_by_the_others():
    tests = [make_test(name, "error", message="SyntaxError", details=("mha.py, line 3: x",)) for name in "abc"]
    found = verdict(make_report(*tests), ASSIGNMENT)
    assert [test["same_as"] for test in found["tests"]] == ["", "mha.a", "mha.a", ""]
    assert all(test["message"] == "SyntaxError" for test in found["tests"][:3])
    assert summary(found).count("SyntaxError") == 1
    assert summary(found).count("same cause as in “Title of a”") == 2


def test_junit_has_a_case_for_each_part():
    parts = (PartResult("q", "passed", 2, 2), PartResult("k & v", "failed", 0, 2, "k <is> wrong"))
    tests = [make_test("a", "failed", 2, parts=parts), make_test("b", "fault"), make_test("c")]
    root = ElementTree.fromstring(junit(verdict(make_report(*tests), ASSIGNMENT)))
    cases = {case.get("name"): [child.tag for child in case] for case in root.iter("testcase")}
    assert cases == {"a[q]": [], "a[k & v]": ["failure"], "b": ["error"], "c": [], "test_extra": ["failure"]}
    counts = {name: root.get(name) for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "5", "failures": "2", "errors": "1", "skipped": "0"}


def test_sarif_has_a_result_for_each_diagnostic():
    log = sarif(verdict(make_report(make_test("b", "error", message="no", places=(("mha.py", 11),))), ASSIGNMENT))
    (run,) = log["runs"]
    (result,) = run["results"]
    assert result["ruleId"] in [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": 11}
    assert result["level"] == "error"


def test_the_command_writes_each_format(tmp_path, capsys):
    for name in ("v.json", "v.xml", "v.sarif"):
        command = ["pe", "--submission", str(ASSIGNMENT.solution), "--verdict", str(tmp_path / name)]
        assert main(command) == 0
    assert valid(json.loads((tmp_path / "v.json").read_text(encoding="utf-8")))["complete"]
    assert ElementTree.parse(tmp_path / "v.xml").getroot().tag == "testsuites"
    assert json.loads((tmp_path / "v.sarif").read_text(encoding="utf-8"))["version"] == "2.1.0"
    capsys.readouterr()
    assert main(["pe", "--verdict", str(tmp_path / "v.txt")]) == 2
    assert "must end in .json (verdict/1), .xml (JUnit) or .sarif" in capsys.readouterr().err
    assert not Path(tmp_path / "v.txt").exists()

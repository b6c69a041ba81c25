"""Lines for editors, annotations on GitHub within its limits, and the tasks of VS Code that read them."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from autograder.manifest import assignment
from autograder.reports.problems import annotations, diagnostics, problem_lines
from autograder.reports.verdict import Diagnostic, verdict
from course.location import ENGINE as ROOT
from tests.support.pages import make_report, make_test

ASSIGNMENT = assignment("transformer")
TASKS = json.loads((ROOT / "autograder/authoring/packing/vscode/tasks.json").read_text(encoding="utf-8"))["tasks"]


def one(line: int, message: str = "m", severity: Any = "error", file: str = "mha.py") -> Diagnostic:
    return {"file": file, "line": line, "severity": severity, "message": message, "code": "mha.test_a"}


def test_lines_are_relative_and_told_once():
    same: dict[str, Any] = {"message": "SyntaxError: [", "places": (("mha.py", 3),)}
    tests = [make_test("a", "error", **same), make_test("b", "error", **same)]
    found = diagnostics(verdict(make_report(*tests), ASSIGNMENT), Path("x/notebooks"), Path("x"))
    assert problem_lines(found) == ["notebooks/mha.py:3: error: SyntaxError: [ [mha.a]"]


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task["label"])
def test_vs_code_reads_the_lines(task):
    pattern = task["problemMatcher"]["pattern"]
    (line,) = problem_lines([one(3, "ValueError: a [b]: c", "warning", "notebooks/transformer/mha.py")])
    match = re.match(pattern["regexp"], line)
    assert match
    read = {name: match[pattern[name]] for name in ("file", "line", "severity", "message", "code")}
    assert read == {**one(3, "ValueError: a [b]: c", "warning", "notebooks/transformer/mha.py"), "line": "3"}


def test_annotations_keep_githubs_limits_and_cannot_be_forged():
    found = [one(line) for line in range(1, 13)] + [one(1, "100 %\n::error::x", "info", "a,b:c.py")]
    lines = annotations(found)
    assert sum(line.startswith("::error ") for line in lines) == 10
    assert lines[-1] == "2 more lines are in the summary."
    assert "::notice file=a%2Cb%3Ac.py,line=1,title=mha.test_a::100 %25%0A::error::x" in lines


def grade(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "grade.py", "pe", *arguments]
    env = {**os.environ, "PYTHONIOENCODING": "utf-8", **environment}
    return subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", env=env, timeout=120)


def test_the_command_prints_nothing_else():
    done = grade("--problems", GITHUB_ACTIONS="")
    assert done.returncode == 4
    *problems, score = done.stdout.splitlines()
    assert score == "0 of 5 points"
    assert all(re.match(TASKS[0]["problemMatcher"]["pattern"]["regexp"], line) for line in problems)
    assert problems[0].startswith("notebooks/transformer/pe.py:")


def test_a_job_on_github_gets_annotations_and_takes_no_command_of_a_student(tmp_path):
    text = (ASSIGNMENT.solution / "pe.py").read_text(encoding="utf-8")
    folder = tmp_path / "repository" / "notebooks"
    folder.mkdir(parents=True)
    (folder / "pe.py").write_text(text + '\nraise ValueError("\\n::error::forged")\n', encoding="utf-8")
    done = grade("--submission", str(folder), GITHUB_ACTIONS="true", GITHUB_WORKSPACE=str(tmp_path / "repository"))
    lines = done.stdout.splitlines()
    stop = next(line for line in lines if line.startswith("::stop-commands::"))
    start = lines.index("::" + stop.removeprefix("::stop-commands::") + "::")
    told = [line for line in lines[start + 1 :] if line.lstrip().startswith("::")]
    assert told
    assert all(line.startswith("::error file=notebooks/pe.py,line=") for line in told)
    assert lines.index(stop) == 0

"""A handout for GitHub: its workflow in a clean clone, the table in its summary; devcontainer, binder."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml

from autograder.__main__ import main
from autograder.grading.results import Report, StageResult, TestResult
from autograder.manifest import assignment
from autograder.reports.markdown_summary import summary
from autograder.reports.verdict import verdict
from tests.support.running_notebooks import unpacked_handout

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def clone(tmp_path_factory) -> Path:
    """The repository that a student has."""
    return unpacked_handout(tmp_path_factory.mktemp("github"), "--github")


@pytest.mark.skipif(sys.platform == "win32", reason="the workflow runs in a Unix shell")
def test_the_workflow_grades_in_a_clean_clone(clone, tmp_path):
    workflow = yaml.safe_load((clone / ".github" / "workflows" / "grade.yml").read_text(encoding="utf-8"))
    assert workflow[True][0] == "push"  # YAML reads "on" as true
    steps = [step["run"] for step in workflow["jobs"]["grade"]["steps"] if "run" in step]
    install, grade = steps
    assert install.startswith("pip install -c constraints.txt ")
    environment = {**os.environ, "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")}
    environment |= {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(clone)}
    done = subprocess.run(["bash", "-e", "-c", grade], cwd=clone, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    table = (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert table.startswith(
        "## The Transformer: 0 of 100 points, and 0 of 10 extra\n\n| test | verdict | points |\n|---|---|---|\n"
    )
    assert table.count("| ⬜ not started |") == 10


def test_the_table_is_a_table_whatever_stands_in_a_message():
    message = "ValueError: a | b\n<script>`x`</script> [y](z) @everyone"
    test = TestResult("s", "test_a", "Attend.", "error", 0, 5, message, hints=("It looks | so",))
    report = Report("T", "anna", (StageResult("s", 1, "S", True, (test,)),), 1.0)
    text = summary(verdict(report, assignment("transformer")))
    (row,) = [line for line in text.splitlines() if line.startswith("| Attend.")]
    assert row.replace("\\|", "").count("|") == 4
    assert "<script>" not in row
    assert "](" not in row
    assert "❌ error: ValueError: a" in row


def test_classroom_50_brings_its_own_workflow(tmp_path):
    template = unpacked_handout(tmp_path, "--classroom50")
    assert not (template / ".github").exists()
    assert (template / ".gitignore").is_file()


def test_github_is_told_apart(clone, tmp_path):
    assert main(["handout", str(tmp_path / "plain.zip")]) == 0
    with zipfile.ZipFile(tmp_path / "plain.zip") as archive:
        assert {name for name in archive.namelist() if "/." in name} == {"transformer-student/.vscode/tasks.json"}
    assert ".venv/" in (clone / ".gitignore").read_text(encoding="utf-8").splitlines()


def test_devcontainer_and_binder_install_as_the_guide_says(clone):
    guide = (ROOT / "docs" / "student-guide.md").read_text(encoding="utf-8")
    settings = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text(encoding="utf-8"))
    assert settings["postCreateCommand"] in guide
    assert (clone / ".devcontainer" / "devcontainer.json").is_file()
    build = (ROOT / "binder" / "postBuild").read_text(encoding="utf-8").splitlines()[-1]
    assert build.replace(" --no-cache-dir", "") == settings["postCreateCommand"]
    assert (ROOT / "binder" / "runtime.txt").read_text(encoding="utf-8").strip() == "python-3.12"
    if sys.platform != "win32":
        assert os.access(ROOT / "binder" / "postBuild", os.X_OK)

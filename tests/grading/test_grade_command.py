"""`python grade.py` as a student calls it: output, exit status, results.json, bad input."""

import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from autograder.__main__ import main
from autograder.manifest import Assignment
from tests.support.worth import ASSIGNMENT, FULL, REQUIRED, TESTS, TOTAL, of, total

ROOT = Path(__file__).resolve().parents[2]
SOLUTION = ROOT / "solutions" / "transformer"


def grade(*arguments: str | Path, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "grade.py"), *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, encoding="utf-8", timeout=120)


def test_stubs_from_another_folder(tmp_path):
    results = tmp_path / "results.json"
    done = grade("mha", "pe", "--json", results, cwd=tmp_path)
    assert done.returncode == 4
    assert done.stdout.count(" is not written yet") == 2  # a row for each stage
    most = FULL["mha"] + FULL["pe"]
    assert f"Total: {of(0, most)} points" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    written = json.loads(results.read_text(encoding="utf-8"))
    assert written["score"] == 0
    assert len(written["tests"]) == sum(len(ASSIGNMENT.stage(name).points) for name in ("mha", "pe"))
    assert sum(test["max_score"] for test in written["tests"]) == most


def test_one_stage_beside_a_torch_py_which_is_not_imported(tmp_path):
    """The modules in the current folder are meant: the course may lie elsewhere, as on a shared server."""
    (tmp_path / "pe.py").write_bytes((SOLUTION / "pe.py").read_bytes())
    (tmp_path / "torch.py").write_text("raise SystemExit('wrong torch')", encoding="utf-8")
    done = grade("pe", cwd=tmp_path)
    assert done.returncode == 0
    assert f"Total: {of(FULL['pe'], FULL['pe'])} points" in done.stdout
    assert "Stage 1" not in done.stdout
    assert "\x1b" not in done.stdout  # colours only on a terminal
    assert done.stderr == ""


def test_solution(tmp_path, capsys):
    results = tmp_path / "results.json"
    assert main(["--submission", str(SOLUTION), "--json", str(results)]) == 0
    assert total(REQUIRED, TOTAL - REQUIRED) in capsys.readouterr().out
    written = json.loads(results.read_text(encoding="utf-8"))
    assert written["score"] == TOTAL
    assert [test["max_score"] for test in written["tests"]] == list(TESTS.values())
    assert {test["status"] for test in written["tests"]} == {"passed"}


def test_extra_credit_is_not_required(tmp_path, capsys):
    for module in SOLUTION.glob("*.py"):
        text = module.read_text(encoding="utf-8")
        broken = text.replace("decoded_list.append", "decoded_list.extend") if module.name == "transformer.py" else text
        if module.name == "decoder.py":
            broken = broken.replace("def forward_one_step_ec(", "def forward_one_step(")
        (tmp_path / module.name).write_text(broken, encoding="utf-8")
    assert main(["--submission", str(tmp_path)]) == 0
    assert total(REQUIRED, 0) in capsys.readouterr().out


def test_verbose_shows_what_the_code_prints_without_control_characters(tmp_path, capsys):
    text = (SOLUTION / "pe.py").read_text(encoding="utf-8")
    text = text.replace("        T = x.size(1)", "        print('\\x1b[2J T is', x.size(1))\n        T = x.size(1)")
    (tmp_path / "pe.py").write_text(text, encoding="utf-8")
    main(["pe", "--submission", str(tmp_path), "--verbose"])
    shown = capsys.readouterr().out
    assert "T is 9" in shown
    assert "\x1b" not in shown


BAD_USAGE = {
    "stage": (["attention"], "there is no stage or command 'attention'"),
    "folder": (["--submission", "nowhere"], "there is no folder nowhere"),
    "file": (["--submission", "README.md"], "there is no folder README.md"),
    "no modules": (["--submission", "docs"], "contains none of the modules"),
    "option": (["--fast"], "unrecognized arguments: --fast"),
    "json folder": (["--json", "docs"], "docs is a folder"),
    "json nowhere": (["--json", "nowhere/results.json"], "there is no folder"),
}


@pytest.mark.parametrize("case", BAD_USAGE)
def test_wrong_usage(case, tmp_path, monkeypatch, capsys):
    arguments, message = BAD_USAGE[case]
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text("hello", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    try:
        status: object = main(arguments)
    except SystemExit as ended:  # by argparse
        status = ended.code
    assert status == 2
    said = capsys.readouterr().err
    assert message in said
    assert "Traceback" not in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["README.md", "docs"]


def test_a_fault_of_the_grader_is_not_the_students(tmp_path, monkeypatch, capsys):
    """With damaged expected tensors the verdict says that the grader failed, and the exit status is 3."""
    stored = ASSIGNMENT.expected / "pe.safetensors"
    (tmp_path / stored.name).write_bytes(stored.read_bytes()[:100])
    monkeypatch.setattr(Assignment, "expected", tmp_path)
    assert main(["pe", "--submission", str(SOLUTION)]) == 3
    shown = capsys.readouterr()
    assert "The grader itself failed" in shown.out
    assert "Traceback" not in shown.err


def test_zip_packs_what_is_handed_in(tmp_path, monkeypatch, capsys):
    from autograder.submissions.read_submission import read_submission

    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "own" / "transformer"
    shutil.copytree(ROOT / "solutions" / "transformer", folder)
    (folder / "pe.py").unlink()
    (folder / "notes.py").write_text("x", encoding="utf-8")
    assert main(["mha", "--submission", str(folder), "--zip"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "Packed mha.py, encoder.py, decoder.py, transformer.py into transformer.zip: hand in this file." in printed
    assert "NOT packed: pe.py is missing" in printed
    packed = read_submission(tmp_path / "transformer.zip", ASSIGNMENT)
    assert packed.sources == read_submission(folder, ASSIGNMENT).sources
    with zipfile.ZipFile(tmp_path / "transformer.zip") as archive:
        assert all(name.startswith("transformer/") and name.endswith(".py") for name in archive.namelist())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["own", "transformer.zip"]
    assert main(["mha", "--submission", str(folder), "--zip", "mine.rar"]) == 2
    assert "mine.rar is not the name of a zip file" in capsys.readouterr().err


def test_what_the_code_printed_is_shown_in_short(capsys):
    from rich.console import Console

    from autograder.grading.results import StageResult, TestResult
    from autograder.reports.console import print_stage

    long = "".join(f"line {number}\n" for number in range(20))
    texts = ("shape (3, 4)\n", "shape (3, 4)\n", long)
    tests = tuple(TestResult("s", f"test_{n}", "T", "passed", 1, 1, printed=text) for n, text in enumerate(texts))
    print_stage(Console(width=100), StageResult("s", 1, "S", False, tests))
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert lines.count("| shape (3, 4)") == 1
    assert "your code printed (the last 3 of 20 lines; --verbose shows all):" in lines
    assert [line for line in lines if line.startswith("| line")] == [f"| line {number}" for number in range(17, 20)]
    print_stage(Console(width=100), StageResult("s", 1, "S", False, tests), verbose=True)
    assert "| line 0" in capsys.readouterr().out

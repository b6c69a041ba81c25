"""Commands start on any Python, with nothing installed, and say what is missing and the line that mends it."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from autograder.grading.grade_submission import grade
from autograder.sandbox import worker_processes
from autograder.submissions.read_submission import Submission
from course import startup
from course.dependencies import requirements
from course.location import ENGINE as ROOT
from tests.support.batches import ASSIGNMENT

COMMANDS = {
    "grade.py": ["grade.py", "mha"],
    "autograder": ["-m", "autograder", "mha"],
    "course.doctor": ["-m", "course.doctor"],
    "course.update": ["-m", "course.update", "x.zip"],
    "course.translate": ["-m", "course.translate", "Der Hund schläft."],
}
# Runs a command as if this Python were another one: python -c PRETEND VERSION -m MODULE | FILE
PRETEND = """
import runpy, sys
sys.version_info = tuple(map(int, sys.argv[1].split(".")))
if sys.argv[2] == "-m":
    sys.argv = sys.argv[3:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
else:
    sys.argv = sys.argv[2:]
    sys.path.insert(0, ".")
    runpy.run_path(sys.argv[0], run_name="__main__")
"""


def run(*command):
    done = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_without_packages_commands_say_what_to_do(command):
    code, printed, errors = run("-S", *command)  # without the folder of installed packages
    assert (code, printed) == (2, "")
    assert "Traceback" not in errors
    first, _, line = errors.rstrip().splitlines()
    assert first.startswith("error: this Python (")
    assert "has no torch, numpy, safetensors, sentencepiece, rich" in first
    assert line.startswith("    ")


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_an_old_python_is_named(command):
    code, printed, errors = run("-c", PRETEND, "3.8.18", *command)
    assert (code, printed) == (2, "")
    assert "Traceback" not in errors
    assert errors.startswith("error: the course needs Python 3.10 or later, and this is an older one (")
    assert "3.8.18)" in errors


def test_what_is_read_before_the_check_is_the_language_of_an_old_python():
    for name in ("grade.py", "course/__init__.py", "course/startup.py", "autograder/__init__.py"):
        ast.parse(Path(ROOT, name).read_text(encoding="utf-8"), feature_version=(3, 8))
    # These are read as a whole before their first line is run.
    for name in ("course/doctor.py", "course/translate.py", "course/update.py", "autograder/__main__.py"):
        ast.parse(Path(ROOT, name).read_text(encoding="utf-8"), feature_version=(3, 8))


def test_nothing_is_imported_before_the_check():
    for name in ("grade.py", "course/doctor.py", "course/translate.py", "course/update.py", "autograder/__main__.py"):
        first, second, check = ast.parse(Path(ROOT, name).read_text(encoding="utf-8")).body[1:4]
        assert ast.unparse(first) == "import sys"
        assert ast.unparse(second) == "from course.startup import begin"
        assert ast.unparse(check).startswith("if __name__ == '__main__':\n    begin()")


def test_the_packages_are_declared():
    declared = {line.split(">=")[0] for line in requirements(ROOT / "pyproject.toml")}
    assert {*startup.PACKAGES, "tomli"} <= declared
    assert startup.problem() == ""


def test_the_line_is_the_one_that_helps_here(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.delenv("CONDA_PREFIX", raising=False)
    root = str(tmp_path)
    # In an environment, the packages are installed; outside, one is made; where there is one, it is made active.
    monkeypatch.setattr(sys, "base_prefix", "/elsewhere")
    assert startup.mend(False, root).endswith(f"\n    {startup.INSTALL}")
    monkeypatch.setattr(sys, "base_prefix", sys.prefix)
    assert startup.mend(False, root).endswith(
        f"\n    python3 -m venv .venv && . .venv/bin/activate && {startup.INSTALL}"
    )
    monkeypatch.setattr("shutil.which", lambda name: name if name == "python3.11" else None)
    assert "\n    python3.11 -m venv .venv && " in startup.mend(True, root)
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert startup.mend(True, root).startswith("Install Python 3.13 (python.org)")
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    assert startup.mend(True, root).endswith("\n    . .venv/bin/activate")
    monkeypatch.setattr(sys, "platform", "win32")
    (tmp_path / ".venv" / "Scripts").mkdir()
    assert startup.mend(False, root).endswith("\n    .venv\\Scripts\\activate")


@pytest.mark.parametrize("plain", [True, False])
def test_a_worker_that_cannot_start_is_a_fault_of_the_grader(monkeypatch, plain):
    """No student's code has run yet, so nothing may look like the student's mistake."""
    broken = "import sys; sys.stderr.write('ImportError: libtorch is missing\\n'); sys.exit(1)"
    monkeypatch.setattr(worker_processes, "python_command", lambda _: [sys.executable, "-c", broken])
    workers = worker_processes.make_workers(plain=plain)
    try:
        report = grade(Submission("anna", {"pe": "x = 1"}), ASSIGNMENT, workers, [ASSIGNMENT.stage("pe")])
    finally:
        workers.close()
    assert report.faulty
    for test in report.tests:
        assert test.status == "fault"
        assert "exit code 1: ImportError: libtorch is missing" in test.message

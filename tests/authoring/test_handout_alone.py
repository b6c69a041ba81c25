"""The handout works by itself, as students have it."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from urllib.request import urlopen

import pytest

from autograder.manifest import assignment
from tests.support.running_notebooks import unpacked_handout
from tests.support.secrets_in_files import SOLUTIONS
from tests.support.worth import FULL, REQUIRED, TOTAL, of, total

ROOT = Path(__file__).resolve().parents[2]
ASSIGNMENT = assignment("transformer")


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory) -> Path:
    """The course as a student has it. A test that writes takes a copy of the modules."""
    return unpacked_handout(tmp_path_factory.mktemp("student"))


def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "AUTOGRADER_PLAIN")}


# Without the project that the tests run in: pip has put it into the path of this Python.
ALONE = """
import io, json, os, runpy, sys
sys.meta_path[:] = [finder for finder in sys.meta_path if "__editable__" not in repr(finder)]
sys.path[:] = [entry for entry in sys.path if "__editable__" not in entry and entry != {root!r}]
sys.path[0] = os.getcwd()

def grade(*arguments):
    sys.argv[:] = ["grade.py", *arguments]
    try:
        runpy.run_path("grade.py", run_name="__main__")
    except SystemExit as end:
        return end.code
"""


def python(folder: Path, program: str) -> tuple[str, str]:
    """Run a program in a folder, in whose path nothing else of the course is; what it prints, and its errors."""
    command = [sys.executable, "-c", ALONE.format(root=str(ROOT)) + program]
    done = subprocess.run(
        command, cwd=folder, env=environment(), capture_output=True, text=True, encoding="utf-8", timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, done.stderr


# As students work, who have written nothing and then everything. Shows a verdict as a notebook does, and tells which of
# our modules have been loaded from where. What would start a warm process, which imports torch, shares one.
WORK = """
import shutil
from pathlib import Path
from autograder.sandbox import worker_processes

kept = worker_processes.make_workers()
stop, kept.close = kept.close, lambda: None
worker_processes.make_workers = lambda **_: kept
print("grade.py gave", grade())
print("{mark}")
os.chdir("notebooks/transformer")
{overview}
os.chdir("../..")
print("{mark}")
for source in {sources}:
    shutil.copy(source, "notebooks/transformer")
print("grade.py gave", grade())
print("{mark}")
from course.notebook import check as checks
checks.in_notebook = lambda: True
print("check gave", checks.check("pe", folder="notebooks/transformer"))
ours = [module for name, module in sys.modules.items() if name.partition(".")[0] in ("autograder", "course")]
print(len(ours), "modules, outside:", [str(module) for module in ours if str(Path.cwd()) not in str(module)])
stop()
"""
MARK = "- " * 9


@pytest.fixture(scope="module")
def work(unpacked, tmp_path_factory) -> list[str]:
    """What the steps of a student's work print."""
    course = tmp_path_factory.mktemp("work") / "course"
    shutil.copytree(unpacked, course)
    start = json.loads((course / "notebooks" / ASSIGNMENT.name / "0_start.ipynb").read_text(encoding="utf-8"))
    overview = "".join(start["cells"][-1]["source"]).replace("overview()", "print(overview())")
    sources = [str(SOLUTIONS / f"{module}.py") for module in ASSIGNMENT.modules]
    printed, errors = python(course, WORK.format(mark=MARK, overview=overview, sources=sources))
    assert errors == ""
    return printed.split(f"{MARK}\n")


def test_it_grades_the_stubs(work):
    assert total(0, 0) in work[0]
    assert work[0].endswith("grade.py gave 4\n")


def test_the_start_page_shows_what_is_done(work):
    lines = [" ".join(line.split()) for line in work[1].splitlines()]
    assert f"1 Multi-head attention mha.py {of(0, FULL['mha'])}" in lines
    assert lines[-1] == f"all {of(0, TOTAL)}"


def test_it_grades_what_a_student_wrote(work):
    assert total(REQUIRED, TOTAL - REQUIRED) in work[2]
    assert work[2].endswith("grade.py gave 0\n")
    assert f"check gave {float(FULL['pe'])}" in work[3]
    assert f"Stage 2: {of(FULL['pe'], FULL['pe'])} points" in work[3]
    assert work[3].endswith("modules, outside: []\n")


COMPLAINTS = {
    ("batch", "x", "--out", "y"): "batch is for instructors",
    ("gradescope", "x.zip"): "gradescope is for instructors",
    ("handout", "x.zip"): "handout is for instructors",
    ("--json", "x.json"): "--json is for instructors",
    ("--hidden",): "the hidden tests need the reference modules in solutions/, which are not here",
}
# Of each call: the exit status, and what is printed on both streams.
ASK = f"""
answers = []
for arguments in {[*COMPLAINTS]}:
    kept, sys.stdout, sys.stderr = (sys.stdout, sys.stderr), io.StringIO(), io.StringIO()
    answers.append([grade(*arguments), sys.stdout.getvalue(), sys.stderr.getvalue()])
    sys.stdout, sys.stderr = kept
print(json.dumps(answers))
"""


def test_what_is_not_shipped_is_said_in_a_sentence(unpacked):
    printed, errors = python(unpacked, ASK)
    assert errors == ""
    for complaint, (code, out, said) in zip(COMPLAINTS.values(), json.loads(printed), strict=True):
        assert (code, out) == (2, "")
        assert said.startswith(f"error: {complaint}")
        assert said.count("\n") == 1


@pytest.mark.slow
def test_the_doctor_finds_everything(unpacked):
    printed, _ = python(unpacked, 'runpy.run_module("course.doctor", run_name="__main__")')
    assert "checksums right" in printed
    assert str(unpacked) in printed


@pytest.mark.slow
def test_a_student_installs_it_and_works(unpacked, tmp_path):
    """Takes minutes and an index of packages: `pytest -m slow tests/authoring/test_handout.py`."""
    if shutil.which("make") is None or sys.platform == "win32":
        pytest.skip("needs make and a Unix shell")
    course = tmp_path / "course"
    shutil.copytree(unpacked, course)
    # The index of pytorch.org, unless the environment names another or none.
    make = ["make", f"PYTHON={sys.executable}", f"TORCH_INDEX={os.environ.get('TORCH_INDEX', '')}"]
    settings = {name: value for name, value in environment().items() if name not in ("VIRTUAL_ENV", "MAKEFLAGS")}

    def run(*command: str) -> str:
        done = subprocess.run(command, cwd=course, env=settings, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert total(0, 0) in run(*make, "grade")
    assert "Everything is here." in run(*make, "doctor")
    shutil.copy(SOLUTIONS / "mha.py", course / "notebooks" / ASSIGNMENT.name)
    assert f"Total: {of(FULL['mha'], FULL['mha'])} points" in run(*make, "grade", "ARGS=mha")
    program = "import autograder, torch; print(autograder.__file__, torch.__version__)"
    assert run(str(course / ".venv" / "bin" / "python"), "-c", program).startswith(str(course))

    lab = "--no-browser --port=0 --IdentityProvider.token=t --ServerApp.allow_root=True"
    log = tmp_path / "lab.txt"
    with log.open("w") as file:
        server = subprocess.Popen(
            [*make, "lab", f"ARGS={lab}"], cwd=course, env=settings, stdout=file, stderr=file, start_new_session=True
        )
    try:
        address = wait_for(log, r"http://(?:localhost|127\.0\.0\.1):\d+/")
        with urlopen(f"{address}api/contents/notebooks/{ASSIGNMENT.name}?token=t", timeout=60) as answer:
            listed = {entry["name"] for entry in json.load(answer)["content"]}
        assert listed >= set(ASSIGNMENT.notebooks)
        with urlopen(f"{address}lab?token=t", timeout=60) as answer:
            assert "JupyterLab" in answer.read().decode()
        with urlopen(f"{address}api/kernelspecs?token=t", timeout=60) as answer:
            assert "python3" in json.load(answer)["kernelspecs"]
    finally:
        os.killpg(server.pid, 15)
        server.wait(30)


def wait_for(log: Path, pattern: str) -> str:
    for _ in range(600):
        if found := re.search(pattern, log.read_text(encoding="utf-8")):
            return found[0]
        time.sleep(0.1)
    raise AssertionError(log.read_text(encoding="utf-8"))

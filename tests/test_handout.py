"""What students get: that it works by itself, and that nothing is in it which is not for students."""

import ast
import gzip
import io
import json
import marshal
import os
import re
import shutil
import subprocess
import sys
import time
import zipfile
from importlib.util import MAGIC_NUMBER
from pathlib import Path
from urllib.request import urlopen

import pytest

from autograder.__main__ import main
from autograder.authoring.packing import zip_files as files
from autograder.authoring.packing.handout import contents
from autograder.diagnosis.mistakes import all_mistakes
from autograder.manifest import assignment
from course.errors import UserError
from tests.secrets_in_files import RELEASE, SOLUTIONS, leaks, secrets, solution_lines
from tests.worth import FULL, TOTAL, of

ROOT = Path(__file__).resolve().parent.parent
ASSIGNMENT = assignment("transformer")
TOP = f"{ASSIGNMENT.name}-student"
# What the students' modules import late, for instructors only.
INSTRUCTORS = {"autograder.diagnosis.mistakes"}


@pytest.fixture(scope="module")
def archive(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("handout") / "build" / "handout.zip"
    assert main(["handout", str(path)]) == 0
    return path


@pytest.fixture(scope="module")
def unpacked(archive, tmp_path_factory) -> Path:
    """The course as a student has it. A test that writes takes a copy of the modules."""
    folder = tmp_path_factory.mktemp("student")
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(folder)
    (found,) = folder.iterdir()
    return found


@pytest.fixture(scope="module")
def shipped(archive) -> dict[str, bytes]:
    with zipfile.ZipFile(archive) as packed:
        return {name.removeprefix(f"{TOP}/"): packed.read(name) for name in packed.namelist()}


# What is not in it


def test_no_secret_is_shipped(shipped):
    known = secrets()
    assert {kind: len(lines) > 40 for kind, lines in known.items() if kind != "place"} == {
        "solution": True,
        "hidden test": True,
        "mistake": True,
    }
    assert leaks(shipped) == set()


def test_a_secret_would_be_found_wherever_it_lies():
    line = max((line for line in solution_lines() if line.isascii() and '"' not in line), key=len)
    source = f"class A:\n    def f(self):\n        '''{line}'''\n"
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as inner:
        inner.writestr("x/y.txt", line)
    output = {"cells": [{"outputs": [{"text": [line[:9], line[9:]]}]}]}
    places = {
        "a.py": source.encode(),
        "a.pyc": MAGIC_NUMBER + bytes(12) + marshal.dumps(compile(source, "a.py", "exec")),
        "a.zip": packed.getvalue(),
        "a.gz": gzip.compress(line.encode()),
        "a.ipynb": json.dumps(output).encode(),
    }
    for name, data in places.items():
        assert {kind for _, kind, _ in leaks({name: data})} == {"solution"}, name


def test_only_the_folders_of_students_are_shipped(shipped):
    folders = {name.rpartition("/")[0] for name in shipped}
    for part in (
        "solutions",
        "tests",
        "autograder/assignments/transformer/hidden",
        "autograder/assignments/transformer/mistakes",
        "autograder/authoring/packing",
        "build",
    ):
        assert not any(folder == part or folder.startswith(f"{part}/") for folder in folders)
    kinds = {Path(name).suffix for name in shipped}
    assert kinds <= {"", ".py", ".ipynb", ".md", ".toml", ".txt", ".yml", ".json", ".html", ".css"} | {
        *(".safetensors", ".model", ".svg", ".png", ".gz", ".js")
    }
    for name in (
        "autograder/authoring/release.py",
        "autograder/authoring/stored_tensors.py",
        "autograder/reports/gradescope_results.py",
        "autograder/grading/hidden_case.py",
        "nbgrader_config.py",
    ):
        assert name not in shipped
    rooms = {name.split("/")[1] for name in shipped if name.startswith("autograder/") and name.count("/") > 1}
    assert rooms == {
        "assignments",
        "diagnosis",
        "forbidden",
        "grading",
        "manifest",
        "reports",
        "sandbox",
        "submissions",
    }


def test_what_is_no_text_is_shipped_byte_by_byte(shipped):
    for name in ("course/data/tatoeba-small.tsv.gz", f"checkpoints/{ASSIGNMENT.checkpoints[0]}/model.safetensors"):
        assert shipped[name] == (ROOT / name).read_bytes()
    assert b"CC BY 2.0 FR" in shipped["course/data/README.md"]


def test_the_hints_are_those_of_the_visible_tests(shipped):
    stored = json.loads(shipped[f"autograder/assignments/{ASSIGNMENT.name}/expected/mistakes.json"])
    named = {entry["mistake"] for entries in stored["signatures"].values() for entry in entries}
    assert set(stored["hints"]) == named
    hidden = {mistake.id for mistake in all_mistakes("transformer") if mistake.seen_by == "hidden"}
    assert hidden
    assert not named & hidden


def test_the_same_sources_give_the_same_bytes(archive, tmp_path):
    again = tmp_path / "again.zip"
    assert main(["handout", str(again)]) == 0
    assert again.read_bytes() == archive.read_bytes()


# What is in it


def module_of(name: str) -> str:
    return name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def test_all_that_is_imported_is_shipped(shipped):
    modules = {module_of(name) for name in shipped if name.endswith(".py")}
    for name, data in shipped.items():
        for node in ast.walk(ast.parse(data)) if name.endswith(".py") else ():
            found = []
            if isinstance(node, ast.Import):
                found = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                found = [node.module or ""]
            ours = {one for one in found if one.partition(".")[0] in ("autograder", "course")}
            assert ours <= modules | INSTRUCTORS, f"{name} imports what is not shipped"


def test_each_engine_module_is_needed(shipped):
    """Everything of the autograder is imported by what students call."""
    imports: dict[str, set[str]] = {}
    for name, data in shipped.items():
        if name.endswith(".py"):
            found: set[str] = set()
            for node in ast.walk(ast.parse(data)):
                if isinstance(node, ast.ImportFrom) and node.module:
                    found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
                elif isinstance(node, ast.Constant) and isinstance(node.value, str):  # for processes of their own
                    found |= set(re.findall(r"from (autograder[\w.]+) import", node.value))
            imports[module_of(name)] = found
    reached = {"grade", "autograder.__main__", "course.notebook.check", "course.notebook.load", "course.doctor"}
    while more := {found for name in reached for found in imports.get(name, ()) if found in imports} - reached:
        reached |= more
    modules = {name for name in imports if f"{name.replace('.', '/')}.py" in shipped and name.startswith("autograder.")}
    by_name = "autograder.assignments."
    assert {name for name in modules - reached if not name.startswith(by_name)} == set()


def test_links_lead_somewhere(shipped):
    for name in (name for name in shipped if name.endswith(".md") and not name.startswith("checkpoints/")):
        for link in re.findall(r"\]\(([^)#]+)\)", shipped[name].decode()):
            if not link.startswith("https://"):
                path = os.path.normpath(os.path.join(os.path.dirname(name), link)).replace(os.sep, "/")
                assert path in shipped, f"{name} links to {link}"


def test_notebooks_find_their_pictures(shipped):
    for notebook in ASSIGNMENT.notebooks:
        text = shipped[f"notebooks/{ASSIGNMENT.name}/{notebook}"].decode()
        for picture in re.findall(r"img/[\w.]+", text):
            assert picture in shipped


# It works by itself


def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "AUTOGRADER_PLAIN")}


# Without the project that the tests run in: pip has put it into the path of this Python.
ALONE = """
import runpy, sys
sys.meta_path[:] = [finder for finder in sys.meta_path if "__editable__" not in repr(finder)]
sys.path[:] = [entry for entry in sys.path if "__editable__" not in entry and entry != {root!r}]
sys.argv[:] = sys.argv[1:]
sys.path[0] = "."
"""


def python(folder: Path, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a folder, in whose path nothing else of the course is."""
    command = [sys.executable, "-c", ALONE.format(root=str(ROOT)) + program, "program", *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment(), capture_output=True, text=True, encoding="utf-8", timeout=120
    )


GRADE = """
runpy.run_path("grade.py", run_name="__main__")
"""
# Shows a verdict as a notebook does, and tells which of our modules have been loaded from where.
CHECK = """
from pathlib import Path
from course.notebook import check as checks
checks.in_notebook = lambda: True
print("check gave", checks.check("pe", "notebooks/transformer"))
ours = [module for name, module in sys.modules.items() if name.partition(".")[0] in ("autograder", "course")]
print(len(ours), "modules, outside:", [str(module) for module in ours if str(Path.cwd()) not in str(module)])
"""


def test_it_grades_the_stubs(unpacked):
    done = python(unpacked, GRADE)
    assert f"Total: {of(0, TOTAL)} points" in done.stdout, done.stderr
    assert (done.returncode, done.stderr) == (1, "")


def test_it_grades_what_a_student_wrote(unpacked, tmp_path):
    course = tmp_path / "course"
    shutil.copytree(unpacked, course)
    for module in ASSIGNMENT.modules:
        shutil.copy(SOLUTIONS / f"{module}.py", course / "notebooks" / ASSIGNMENT.name)
    done = python(course, GRADE)
    assert f"Total: {of(TOTAL, TOTAL)} points" in done.stdout, done.stderr
    assert (done.returncode, done.stderr) == (0, "")
    checked = python(course, CHECK)
    assert f"check gave {float(FULL['pe'])}" in checked.stdout, checked.stderr
    assert f"Stage 2: {of(FULL['pe'], FULL['pe'])} points" in checked.stdout
    assert checked.stdout.endswith("modules, outside: []\n")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["batch", "x", "--out", "y"], "batch is for instructors"),
        (["gradescope", "x.zip"], "gradescope is for instructors"),
        (["handout", "x.zip"], "handout is for instructors"),
        (["--json", "x.json"], "--json is for instructors"),
        (["--hidden"], "the hidden tests need the reference modules in solutions/, which are not here"),
    ],
)
def test_what_is_not_shipped_is_said_in_a_sentence(unpacked, arguments, complaint):
    done = python(unpacked, GRADE, *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(f"error: {complaint}")
    assert done.stderr.count("\n") == 1


@pytest.mark.slow
def test_the_doctor_finds_everything(unpacked):
    done = python(unpacked, 'runpy.run_module("course.doctor", run_name="__main__")')
    assert done.returncode == 0, done.stdout + done.stderr
    assert "checksums right" in done.stdout
    assert str(unpacked) in done.stdout


@pytest.mark.slow
def test_a_student_installs_it_and_works(unpacked, tmp_path):
    """Takes minutes and an index of packages: `pytest -m slow tests/test_handout.py`."""
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

    assert f"Total: {of(0, TOTAL)} points" in run(*make, "grade")
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


# It is not written if something is wrong


@pytest.fixture
def project(tmp_path) -> Path:
    """A copy of the project, as far as students get it."""
    wanted = ["autograder", "course", "docs", "img", "notebooks", "solutions", "checkpoints"]
    for folder in wanted:
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("grade.py", "constraints.txt", "environment.yml", "LICENSE", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def test_what_is_not_as_released_is_refused(project, shipped):
    before = contents(project, ASSIGNMENT)
    assert before.keys() == shipped.keys()
    released = project / "notebooks" / ASSIGNMENT.name
    (released / "draft.py").write_text("# mine", encoding="utf-8")
    (released / ".ipynb_checkpoints").mkdir()
    shutil.copy(SOLUTIONS / "pe.py", released / ".ipynb_checkpoints")
    (project / "autograder" / "authoring" / "new.py").write_text("", encoding="utf-8")
    other = project / "autograder" / "assignments" / "other"
    other.mkdir()
    shutil.copy(ASSIGNMENT.folder / "assignment.toml", other)
    assert contents(project, ASSIGNMENT) == before

    notebook = json.loads((released / "2_pe.ipynb").read_text(encoding="utf-8"))
    code = next(cell for cell in notebook["cells"] if cell["cell_type"] == "code")
    code["outputs"] = [{"output_type": "stream", "name": "stdout", "text": ["110"]}]
    (released / "2_pe.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    shutil.copy(SOLUTIONS / "pe.py", released)
    with pytest.raises(UserError, match=r"^pe\.py, 2_pe\.ipynb in notebooks/.* differ .* run make release"):
        contents(project, ASSIGNMENT)
    for name in ("pe.py", "2_pe.ipynb"):
        shutil.copy(RELEASE / name, released)

    line = max((line for line in solution_lines() if '"' not in line), key=len)
    (project / "course" / "help.py").write_text(f"# {line}\n", encoding="utf-8")
    with pytest.raises(UserError, match=f"course/help.py: {re.escape(line)}"):
        contents(project, ASSIGNMENT)


def test_an_incomplete_project_is_refused(project):
    shutil.rmtree(project / "img")
    with pytest.raises(UserError, match=r"there is no img/\*\.svg"):
        contents(project, ASSIGNMENT)
    shutil.copytree(ROOT / "img", project / "img")
    shutil.rmtree(project / "solutions")
    with pytest.raises(UserError, match="there is no folder"):
        contents(project, ASSIGNMENT)


def test_a_file_that_cannot_be_written_is_named(tmp_path, capsys):
    (tmp_path / "file").touch()
    assert main(["handout", str(tmp_path / "file" / "a.zip")]) == 2
    assert "error: cannot write" in capsys.readouterr().err
    with pytest.raises(UserError, match="is not the name of a zip file"):
        files.check_target(tmp_path)

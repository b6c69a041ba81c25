"""What students get: that it works by itself, and that nothing is in it which is not for students."""

import ast
import gzip
import io
import json
import marshal
import os
import posixpath
import re
import shutil
import sys
import zipfile
from datetime import datetime, timedelta, timezone
from importlib.util import MAGIC_NUMBER
from pathlib import Path

import pytest

from autograder.__main__ import main
from autograder.authoring.packing import handout
from autograder.authoring.packing import zip_files as files
from autograder.authoring.packing.handout import contents
from autograder.diagnosis.mistakes import all_mistakes
from autograder.manifest import assignment, every_assignment
from course.errors import UserError
from course.location import VARIABLE
from tests.support.secrets_in_files import RELEASE, SOLUTIONS, leaks, secrets, solution_lines

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
ASSIGNMENT = assignment("transformer")
TOP = f"{ASSIGNMENT.name}-student"
# What the students' modules import late, for instructors only.
INSTRUCTORS = {
    *("autograder.diagnosis.mistakes", "autograder.localization.named_steps", "autograder.submissions.find_submissions")
}


@pytest.fixture(scope="module")
def archive(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("handout") / "build" / "handout.zip"
    assert main(["handout", str(path)]) == 0
    return path


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
        *(".safetensors", ".model", ".svg", ".png", ".gz", ".tsv", ".js")
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
        "localization",
        "questions",
        "manifest",
        "reports",
        "sandbox",
        "submissions",
        "worker",
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


def test_the_files_have_the_date_of_the_day(archive, tmp_path, monkeypatch):
    with zipfile.ZipFile(archive) as packed:
        dates = {info.date_time[:3] for info in packed.infolist()}
    (date,) = dates
    assert abs(datetime.now(timezone.utc) - datetime(*date, tzinfo=timezone.utc)) < timedelta(days=2)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1760000000")
    assert handout.today() == (2025, 10, 9, 0, 0, 0)


def test_the_archive_of_another_assignment_is_not_overwritten(archive, capsys, monkeypatch, tmp_path):
    assert main(["handout", str(archive), "--assignment", "variants"]) == 2
    error = capsys.readouterr().err
    assert error == f"error: {archive} contains {TOP}, a different handout: choose another name, or omit the name\n"
    monkeypatch.setattr(handout, "course_folder", lambda: tmp_path)
    monkeypatch.setattr(handout, "contents", lambda chosen, github: {"README.md": b"x"})
    assert main(["handout", "--assignment", "variants"]) == 0
    assert main(["handout"]) == 0
    assert sorted(path.name for path in (tmp_path / "build").iterdir()) == [
        "transformer-student.zip",
        "variants-student.zip",
    ]


def test_each_handout_speaks_of_its_own_assignment(shipped):
    left = r"<!--|-->|\{(title|name|stages|stage|notebooks?|modules?)\}"
    for name in ("README.md", "docs/student-guide.md", "Makefile"):
        assert not re.search(left, shipped[name].decode()), name
    other = assignment("variants")
    files = contents([other])
    assert not any(name.startswith(("checkpoints/de-en", "notebooks/transformer")) for name in files)
    for name in ("README.md", "docs/student-guide.md", "Makefile"):
        text = files[name].decode()
        assert not re.search(left, text), name
        assert not re.search(r"\bmha\b|0_text|notebooks/transformer|course\.translate|`decoder\.py`", text), name
        for link in re.findall(r"\]\(([^)#]+)\)", text):
            path = os.path.normpath(os.path.join(os.path.dirname(name), link)).replace(os.sep, "/")
            assert link.startswith("https://") or path in files, f"{name} links to {link}"
    assert files["README.md"].decode().startswith(f"# {other.title}\n")
    assert "grade.py --watch layers" in files["docs/student-guide.md"].decode()


def test_students_have_nothing_of_instructors_in_their_lab(shipped):
    project = tomllib.loads(shipped["pyproject.toml"].decode())["project"]
    ours = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    names = {re.split("[<>=]", line)[0] for line in project["dependencies"]}
    assert {re.split("[<>=]", line)[0] for line in ours} - names == {"nbgrader", "sqlalchemy", "nbclient", "pygments"}
    assert "nbgrader" not in shipped["environment.yml"].decode()
    assert "jupyterlab" in shipped["environment.yml"].decode()
    imported = "".join(data.decode() for name, data in shipped.items() if name.endswith(".py"))
    assert not re.search(r"^\s*(import|from) (nbgrader|sqlalchemy|nbclient)", imported, re.MULTILINE)


def test_there_is_a_page_to_start_from(shipped):
    import nbformat

    notebook = nbformat.reads(shipped["notebooks/transformer/0_start.ipynb"].decode(), as_version=4)
    nbformat.validate(notebook)
    text = "\n".join(cell.source for cell in notebook.cells)
    for name in ASSIGNMENT.notebooks:
        assert f"]({name})" in text
    assert "| `mha.py` | 30 | 3 h |" in text
    assert "docs/student-guide.md" in shipped


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
    reached.add("course.notebook.own_code")
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


# It is not written if something is wrong


@pytest.fixture
def project(tmp_path, monkeypatch) -> Path:
    """A copy of the course, without the engine."""
    wanted = ["autograder/assignments", "docs", "img", "notebooks", "solutions", "checkpoints"]
    for folder in wanted:
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "course.toml", tmp_path)
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    return tmp_path


def test_what_is_not_as_released_is_refused(project, shipped):
    before = contents([ASSIGNMENT])
    assert before.keys() == shipped.keys()
    released = project / "notebooks" / ASSIGNMENT.name
    (released / "draft.py").write_text("# mine", encoding="utf-8")
    (released / ".ipynb_checkpoints").mkdir()
    shutil.copy(SOLUTIONS / "pe.py", released / ".ipynb_checkpoints")
    other = project / "autograder" / "assignments" / "other"
    other.mkdir()
    shutil.copy(ASSIGNMENT.folder / "assignment.toml", other)
    assert contents([ASSIGNMENT]) == before

    notebook = json.loads((released / "2_pe.ipynb").read_text(encoding="utf-8"))
    code = next(cell for cell in notebook["cells"] if cell["cell_type"] == "code")
    code["outputs"] = [{"output_type": "stream", "name": "stdout", "text": ["110"]}]
    (released / "2_pe.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    shutil.copy(SOLUTIONS / "pe.py", released)
    with pytest.raises(UserError, match=r"^pe\.py, 2_pe\.ipynb in notebooks/.* differ .* build first"):
        contents([ASSIGNMENT])
    for name in ("pe.py", "2_pe.ipynb"):
        shutil.copy(RELEASE / name, released)

    line = max((line for line in solution_lines() if '"' not in line), key=len)
    (project / "docs" / "glossary.md").write_text(f"# {line}\n", encoding="utf-8")
    with pytest.raises(UserError, match=f"docs/glossary.md: {re.escape(line)}"):
        contents([ASSIGNMENT])


def test_files_of_the_course_toml_are_shipped_unless_they_are_secret(project):
    def with_files(pattern: str) -> set[str]:
        text = (ROOT / "course.toml").read_text(encoding="utf-8")
        (project / "course.toml").write_text(f"{text}\n[handout]\nfiles = ['{pattern}']\n", encoding="utf-8")
        return {*contents([ASSIGNMENT])}

    (project / "graded").mkdir()
    (project / "graded" / "grades.csv").touch()
    assert "docs/training.md" in with_files("docs/training.md")
    for secret in ("solutions/*/pe.py", "autograder/assignments/*/hidden/*.py", "graded/*", "*.toml"):
        with pytest.raises(UserError, match=r"handout: files names .*, which students must not get"):
            with_files(secret)


def test_an_incomplete_project_is_refused(project):
    (project / "notebooks" / ASSIGNMENT.name / "2_pe.ipynb").rename(project / "kept")
    with pytest.raises(UserError, match=r"there is no notebooks/.*/2_pe\.ipynb"):
        contents([ASSIGNMENT])
    (project / "kept").rename(project / "notebooks" / ASSIGNMENT.name / "2_pe.ipynb")
    shutil.rmtree(project / "solutions")
    with pytest.raises(UserError, match="there is no folder"):
        contents([ASSIGNMENT])


def test_a_file_that_cannot_be_written_is_named(tmp_path, capsys):
    (tmp_path / "file").touch()
    assert main(["handout", str(tmp_path / "file" / "a.zip")]) == 2
    assert "error: cannot write" in capsys.readouterr().err
    with pytest.raises(UserError, match="is not the name of a zip file"):
        files.check_target(tmp_path)


@pytest.mark.parametrize("name", ["README.md", "docs/student-guide.md"])
def test_commands_of_another_assignment_stay_below_each_other(name):
    text = contents([assignment("variants")])[name].decode()
    shown = re.findall(r"^( *python grade\.py(?! --zip).* )# ", text, re.MULTILINE)
    assert [len(line) for line in shown] == [len(shown[0])] * len(shown)


@pytest.mark.parametrize("chosen", every_assignment(), ids=lambda chosen: chosen.name)
def test_every_link_leads_to_a_file_of_the_handout(chosen):
    content = contents([chosen])
    links = re.compile(r"\]\((?!https?:|mailto:|#|attachment:)([^)#\s]+)")
    dead = []
    for name, data in content.items():
        if name.endswith((".md", ".ipynb")):
            cells = json.loads(data)["cells"] if name.endswith(".ipynb") else []
            text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
            for target in links.findall(text or data.decode()):
                path = posixpath.normpath(posixpath.join(posixpath.dirname(name), target))
                if path not in content and not any(file.startswith(f"{path}/") for file in content):
                    dead.append((name, target))
    assert not dead

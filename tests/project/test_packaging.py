"""The declarations agree with each other and with the code: dependencies, pins, conda, package data, commands, make."""

import ast
import importlib
import os
import re
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
import yaml
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from autograder.authoring.init import OWN
from autograder.sandbox.confine import unsupported

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
# What a wheel leaves out: the content of this course.
THIS_COURSE = (
    "autograder/assignments/",
    *(f"course/{name}/" for name in ("data", "figures", "training", "translation", "variants")),
)
UNCONFINED = ["--unconfined"] if unsupported() else []
PYTHONS = ("3.10.0", "3.11.0", "3.12.0", "3.13.0", "3.14.0")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
DEPENDENCIES = [Requirement(text) for text in PROJECT["dependencies"]]
EXTRAS = [Requirement(text) for extra in PROJECT["optional-dependencies"].values() for text in extra]
CODE = [
    *(path for folder in ("autograder", "course", "solutions") for path in (ROOT / folder).rglob("*.py")),
    ROOT / "grade.py",
    ROOT / "nbgrader_config.py",
]
# The names that conda-forge has for what pip calls otherwise.
CONDA_NAMES = {"pytorch-cpu": "torch", "jupyter_client": "jupyter-client", "jupyter_core": "jupyter-core"}


def environment(python):
    """The values of markers under a version of Python."""
    return {**default_environment(), "python_version": python.rpartition(".")[0], "python_full_version": python}


def pins() -> list[Requirement]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return [Requirement(line) for line in lines if line.strip() and not line.startswith("#")]


# Dependencies


@pytest.mark.parametrize("python", PYTHONS)
def test_every_dependency_has_one_pin_inside_its_range(python):
    values = environment(python)
    pinned: dict[str, str] = {}
    for pin in pins():
        if pin.marker is None or pin.marker.evaluate(values):
            name = canonicalize_name(pin.name)
            assert name not in pinned, f"{name} is pinned twice"
            (specifier,) = pin.specifier
            assert specifier.operator == "=="
            pinned[name] = specifier.version
    for requirement in (*DEPENDENCIES, *EXTRAS):
        if requirement.marker is None or requirement.marker.evaluate(values):
            assert requirement.specifier.contains(pinned[canonicalize_name(requirement.name)]), requirement
    assert pinned["torch"] == "2.13.0"


def test_the_pins_name_no_build_and_no_place():
    for pin in pins():
        assert pin.url is None
        assert not pin.extras
        assert "+" not in str(pin.specifier)
    assert not re.search(r"//|^-", (ROOT / "constraints.txt").read_text(encoding="utf-8"), re.MULTILINE)


def test_no_grammar_is_built_whenever_jupyter_or_nbgrader_starts():
    """It took two seconds of every command; see `tool.uv` in pyproject.toml."""
    assert not {"lark", "rfc3987-syntax"} & {canonicalize_name(pin.name) for pin in pins()}


def imported(path: Path) -> set[str]:
    """The top-level names that a file imports."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    return names


def test_everything_that_the_code_imports_is_declared():
    declared = {canonicalize_name(requirement.name) for requirement in (*DEPENDENCIES, *EXTRAS)}
    distributions = packages_distributions()
    local = {"autograder", "course", *(path.stem for path in CODE)}
    for path in CODE:
        for name in imported(path) - set(sys.stdlib_module_names) - local:
            candidates = {canonicalize_name(distribution) for distribution in distributions.get(name, [name])}
            assert candidates & declared, f"{path.relative_to(ROOT)} imports {name}, which no dependency declares"


def test_conda_has_the_same_dependencies():
    entries = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))["dependencies"]
    (with_pip,) = (entry for entry in entries if isinstance(entry, dict))
    assert with_pip == {"pip": ["-e ."]}
    conda = {}
    for entry in entries:
        if isinstance(entry, str):
            name, _, specifier = entry.partition(" ")
            conda[CONDA_NAMES.get(name, name)] = SpecifierSet(specifier)
    del conda["pip"]
    python = conda.pop("python")
    assert not python.contains("3.10")  # tomli is only for 3.10
    assert python.contains("3.11")
    assert not python.contains("3.15")  # nobody has tried it
    # Of rapidfuzz and editdistance, conda has the one that there is for all versions of Python.
    ours = [one for one in DEPENDENCIES if one.marker is None or one.name == "rapidfuzz"]
    assert conda == {requirement.name: requirement.specifier for requirement in ours}


@pytest.mark.parametrize(("python", "installed"), [("3.12.0", "editdistance"), ("3.13.0", "rapidfuzz")])
def test_nothing_is_compiled_where_there_is_no_wheel(python, installed):
    both = [one for one in DEPENDENCIES if one.name in ("editdistance", "rapidfuzz")]
    assert [one.name for one in both if one.marker and one.marker.evaluate(environment(python))] == [installed]
    pinned = {pin.name: pin.marker for pin in pins() if pin.marker}
    assert pinned["editdistance"].evaluate(environment(python)) == (installed == "editdistance")


def test_conda_understands_the_specifications():
    rattler = pytest.importorskip("rattler")
    entries = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))["dependencies"]
    for entry in entries:
        if isinstance(entry, str):
            assert rattler.MatchSpec(entry, strict=True).name.normalized == entry.partition(" ")[0]


# The package


def test_the_commands_exist():
    for target in PROJECT["scripts"].values():
        module, _, function = target.partition(":")
        assert callable(getattr(importlib.import_module(module), function))


def test_every_file_of_the_packages_is_installed(monkeypatch):
    from setuptools import Distribution

    monkeypatch.chdir(ROOT)
    distribution = Distribution({"script_name": "setup.py"})
    distribution.parse_config_files()
    build = distribution.get_command_obj("build_py")
    build.ensure_finalized()
    installed = {Path(file) for _, _, file in build.find_all_modules()}
    installed |= {Path(folder, file) for _, folder, _, files in build.data_files for file in files}
    files = {
        path.relative_to(ROOT)
        for name in ("autograder", "course")
        for path in (ROOT / name).rglob("*")
        if path.is_file()
    }
    files = {file for file in files if "__pycache__" not in file.parts}
    ours = {file for file in files if file.as_posix().startswith(THIS_COURSE)} - {Path(THIS_COURSE[0], "__init__.py")}
    assert len(ours) > 100
    assert installed == files - ours
    beside = {name for _, names in distribution.data_files for name in names}
    assert {"pyproject.toml", "LICENSE", "environment.yml", *OWN, "docs/student-guide.md"} <= beside
    assert all((ROOT / name).is_file() for name in beside)
    # The documents that commands and documents name.
    named = {name for file in installed for name in re.findall(r"docs/[\w-]+\.md", (ROOT / file).read_text("utf-8"))}
    texts = [(ROOT / name).read_text("utf-8") for name in beside if name.startswith("docs/")]
    named |= {f"docs/{name}" for text in texts for name in re.findall(r"\]\(([\w-]+\.md)", text)}
    assert len(named) > 15
    assert named <= beside


@pytest.mark.slow
def test_a_wheel_makes_a_course_outside_of_this_repository(tmp_path):
    """Build, install, init, new, grade, batch with hidden tests, pack and handout: nothing of this folder is used."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    copy, prefix = tmp_path / "source", tmp_path / "prefix"
    everywhere = shutil.ignore_patterns("__pycache__", ".*")
    ours = {"build", "checkpoints", "tests", "notebooks", "solutions"}  # the template has a folder `solutions` too

    def left_out(folder: str, names: list[str]) -> set[str]:
        return everywhere(folder, names) | (ours & set(names) if Path(folder) == ROOT else set())

    shutil.copytree(ROOT, copy, ignore=left_out)
    shutil.copytree(ROOT / ".devcontainer", copy / ".devcontainer")
    wheel = [*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", str(tmp_path), str(copy)]
    subprocess.run(wheel, check=True, timeout=600)
    (built,) = tmp_path.glob("*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--prefix", str(prefix), str(built)], check=True, timeout=600)
    shutil.rmtree(copy)
    (packages,) = prefix.glob("lib*/python*/site-packages")
    environment = {**os.environ, "PYTHONPATH": str(packages), "COLUMNS": "120"}

    def run(*arguments: str, code: int = 0, cwd: Path = tmp_path / "mine") -> str:
        command = [sys.executable, "-m", "autograder", *arguments]
        done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, encoding="utf-8", timeout=1200)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    assert "is not in a course" in run("new", "toy", cwd=tmp_path, code=2)
    run("init", "mine", cwd=tmp_path)
    run("new", "toy", "--stage", "scale", "--class", "Scale")
    assert "10 of 10" in run("grade", "--submission", "solutions/toy", "--hidden", "--unconfined")
    assert "No problems." in run("audit", "toy", "manifest", "texts", "stored", "release")
    for name, source in {"anna": "solutions", "bob": "notebooks"}.items():
        folder = tmp_path / "mine" / "submitted" / name
        folder.mkdir(parents=True)
        shutil.copy(tmp_path / "mine" / source / "toy" / "toy.py", folder)
    assert "The mean of 2 is 5.0 of 10 points." in run("batch", "submitted", *UNCONFINED)
    for platform in ("gradescope", "prairielearn", "classroom50"):
        run("pack", "--for", platform, "toy")
    run("handout")
    with zipfile.ZipFile(tmp_path / "mine" / "build" / "toy-student.zip") as packed:
        packed.extractall(tmp_path)
    grade = [sys.executable, "grade.py"]
    bare = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(grade, cwd=tmp_path / "toy-student", env=bare, capture_output=True, timeout=600)
    assert done.returncode == 4, done.stdout + done.stderr


# make


@pytest.fixture
def make(tmp_path):
    """Run make with another virtual environment, whose Python is a script, so that nothing is installed."""
    if shutil.which("make") is None or sys.platform == "win32":
        pytest.skip("needs make and a Unix shell")

    def run(*arguments, script="exit 0", installed=True):
        python = tmp_path / "venv" / "bin" / "python"
        python.parent.mkdir(parents=True, exist_ok=True)
        python.write_text(f'#!/bin/sh\necho "ran $*"\n{script}\n', encoding="utf-8")
        python.chmod(0o755)
        if installed:
            for name in ("pyvenv.cfg", "installed", "installed-dev"):
                (tmp_path / "venv" / name).touch()
        command = ["make", f"VENV={tmp_path / 'venv'}", *arguments]
        # Without what a make around this test hands down.
        environment = {name: value for name, value in os.environ.items() if name not in ("ARGS", "MAKEFLAGS", "MFLAGS")}
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60)
        return done.returncode, [line for line in done.stdout.splitlines() if line.startswith("ran ")], done.stderr

    return run


STUBS_FAIL = 'case "$*" in *notebooks*) exit {code};; esac'


def test_make_grade_shows_the_solution_and_the_stubs(make):
    code, ran, _ = make("grade", script=STUBS_FAIL.format(code=4))
    assert code == 0
    assert ran == ["ran grade.py --submission solutions/transformer", "ran grade.py --submission notebooks/transformer"]


@pytest.mark.parametrize("script", [STUBS_FAIL.format(code=2), "exit 1"], ids=["grader fails", "solution fails"])
def test_make_grade_fails_when_something_else_is_wrong(make, script):
    assert make("grade", script=script)[0] != 0


def test_make_passes_the_corpora_on(make):
    _, ran, _ = make("evaluate", "CORPORA=my corpora", "ARGS=--threads 1")
    assert ran == ["ran -m course.evaluate --corpus-dir my corpora --threads 1"]
    assert make("evaluate")[1] == ["ran -m course.evaluate"]


def test_make_installs_once(make, tmp_path):
    (tmp_path / "venv").mkdir()
    (tmp_path / "venv" / "pyvenv.cfg").touch()
    install = "ran -m pip install --disable-pip-version-check -c constraints.txt -e ."
    assert make("expected", installed=False)[1] == [install, "ran -m autograder expected"]
    assert make("expected", installed=False)[1] == ["ran -m autograder expected"]


def test_make_names_a_python_that_is_too_old(make, tmp_path):
    old = tmp_path / "old-python"
    pretend = "import sys; sys.version_info = (3, 8, 18); exec(sys.argv[1])"
    old.write_text(f"#!/bin/sh\nexec '{sys.executable}' -c '{pretend}' \"$2\"\n", encoding="utf-8")
    old.chmod(0o755)
    code, ran, errors = make("grade", f"PYTHON={old}", installed=False)
    assert (code != 0, ran) == (True, [])
    assert f"error: Python 3.10 or later is needed, but {old} is 3.8; try: make PYTHON=python3.12" in errors

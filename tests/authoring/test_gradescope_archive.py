"""The archive for Gradescope: reproducible, with one seed for a class; its setup.sh."""

import os
import re
import subprocess
import zipfile
from pathlib import Path

import pytest

from autograder.platforms.grading import SETTINGS
from tests.support.containers import SEED, Container, needs_bash, pack
from tests.support.secrets_in_files import SOLUTIONS
from tests.support.worth import TOTAL


@pytest.fixture(scope="module")
def archive(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("archive") / "new folder" / "autograder.zip"
    assert pack(path, "--seed", str(SEED)) == 0
    return path


@pytest.fixture
def container(tmp_path, archive) -> Container:
    return Container(tmp_path, archive)


def test_the_same_sources_and_seed_give_the_same_bytes(archive, tmp_path):
    again, other = tmp_path / "again.zip", tmp_path / "other.zip"
    assert pack(again, "--seed", str(SEED)) == 0
    assert again.read_bytes() == archive.read_bytes()
    assert pack(other) == 0
    with zipfile.ZipFile(archive) as one, zipfile.ZipFile(other) as two:
        assert one.namelist() == two.namelist() == sorted(one.namelist())
        assert [name for name in one.namelist() if one.read(name) != two.read(name)] == [SETTINGS]
        assert one.getinfo(SETTINGS).external_attr >> 16 == 0o100600
        for script in ("setup.sh", "run_autograder"):
            assert one.getinfo(script).external_attr >> 16 == 0o100755
            assert one.read(script).startswith(b"#!/usr/bin/env bash\n")
            assert b"\r" not in one.read(script)


def test_an_archive_keeps_its_seed(tmp_path, capsys):
    path = tmp_path / "a.zip"
    assert pack(path) == 0
    first = path.read_bytes()
    assert pack(path) == 0
    assert path.read_bytes() == first
    (seed,) = set(re.findall(r"seed of the hidden tests is (\d+)", capsys.readouterr().out))
    assert pack(path, "--seed", seed) == 0
    assert pack(path, "--seed", "7") == 2
    assert f"has the seed {seed}" in capsys.readouterr().err
    assert path.read_bytes() == first


@pytest.mark.parametrize(
    ("name", "arguments", "complaint"),
    [
        ("notes.txt", [], "is not the name of a zip file"),
        ("notes.zip", [], "was not made by this command"),
        ("a.zip", ["--seed", "-1"], "must not be negative"),
        ("a.zip", ["--time-limit", "600"], "at most 480 seconds"),
        ("a.zip", ["--assignment", "cooking"], "there is no assignment 'cooking'"),
    ],
)
def test_wrong_usage(tmp_path, capsys, name, arguments, complaint):
    for note in ("notes.txt", "notes.zip"):
        (tmp_path / note).write_text("mine", encoding="utf-8")
    assert pack(tmp_path / name, *arguments) == 2
    assert complaint in capsys.readouterr().err
    assert {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()} == {
        "notes.txt": "mine",
        "notes.zip": "mine",
    }


# setup.sh


@needs_bash
def test_the_scripts_are_bash(container):
    for script in ("setup.sh", "run_autograder"):
        subprocess.run(["bash", "-n", container.root / "source" / script], check=True)


def test_setup_installs_with_pip_what_the_constraints_pin(archive):
    with zipfile.ZipFile(archive) as packed:
        setup, wanted, pins = (
            packed.read(name).decode() for name in ("setup.sh", "requirements.txt", "constraints.txt")
        )
    (install,) = re.findall(r"^python3 -m pip install (.*\\\n.*)$", setup, re.MULTILINE)
    assert '--constraint "$root/source/constraints.txt"' in install
    assert '--requirement "$root/source/requirements.txt"' in install
    assert "torch" not in re.sub(r"\$\{?torch_index\S*", "", install)  # it stands among the requirements
    names = [re.split(r"[^\w-]", line)[0] for line in wanted.splitlines()]
    assert {"torch", "numpy", "safetensors"} <= set(names)
    for name in names:
        assert re.search(rf"^{name}==", pins, re.MULTILINE)


@pytest.mark.slow
@needs_bash
def test_setup_installs_all_that_grading_needs(container, tmp_path):
    """Takes a minute: `pytest -m slow tests/authoring/test_gradescope.py`."""
    import venv

    venv.create(tmp_path / "bare", with_pip=True)
    container.python(f"exec '{tmp_path / 'bare' / 'bin' / 'python'}' \"$@\"")
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("PYTHON")},
        "PATH": os.pathsep.join([str(container.root / "bin"), os.environ["PATH"]]),
        "TORCH_INDEX": os.environ.get("TORCH_INDEX", ""),
    }
    done = subprocess.run(
        [container.root / "source" / "setup.sh", container.root], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "Grading works." in done.stdout, done.stdout + done.stderr
    container.hand_in(SOLUTIONS)
    found = container.grade()
    assert found["score"] == TOTAL, container.printed

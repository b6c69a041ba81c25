"""`python -m course.doctor`: what is wrong with a student's computer, and what to do."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from autograder.grading.check_machine import Finding
from course import doctor
from course.checkpoint import DEFAULT
from course.location import VARIABLE, inside

ROOT = Path(__file__).resolve().parents[2]


def test_a_complete_installation():
    command = [sys.executable, "-m", "course.doctor"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "MISSING" not in done.stdout
    for what in ("Python", "packages", "torch", "trained model", "JupyterLab", "widgets", "kernel", "write access"):
        assert what in done.stdout
    assert done.stdout.endswith("Everything is here.\n")
    assert done.stderr == ""


def test_missing_and_old_packages(tmp_path):
    pyproject = tmp_path / "pyproject.toml"
    lines = ["torch>=99", "no-such-package-of-anybody>=1", "numpy>=1", "tomli>=99; python_version < '3'"]
    pyproject.write_text(f"[project]\ndependencies = {lines}\n", encoding="utf-8")
    (finding,) = doctor.packages(pyproject)
    assert not finding.fine
    assert finding.words.startswith("torch is ")
    assert "but must be >=99; no-such-package-of-anybody is missing. In " in finding.words
    assert "pip install -c constraints.txt -e ." in finding.words


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("import sys; sys.exit('OMP: Error #15: Initializing libiomp5md.dll, but found it initialized')", "twice"),
        ("raise ImportError('DLL load failed')", "cannot compute (ImportError: DLL load failed)"),
        ("import os; os._exit(3)", "cannot compute (exit status 3)"),
    ],
)
def test_a_torch_that_does_not_work(program, words):
    finding = doctor.torch_works(program)
    assert not finding.fine
    assert words in finding.words
    assert "python -m venv" in finding.words


def test_the_trial_is_not_helped_by_the_variable_that_hides_the_mix_up(monkeypatch):
    monkeypatch.setenv("KMP_DUPLICATE_LIB_OK", "TRUE")
    finding = doctor.torch_works("import os; print(os.environ.get('KMP_DUPLICATE_LIB_OK'))")
    assert finding.words == "None computes"
    (note,) = doctor.openmp()
    assert (note.fine, note.needed) == (False, False)
    assert "Unset it" in note.words


def test_a_conda_environment_with_its_own_openmp(tmp_path, monkeypatch):
    monkeypatch.delenv("KMP_DUPLICATE_LIB_OK", raising=False)
    assert list(doctor.openmp(tmp_path)) == []
    (tmp_path / "conda-meta").mkdir()
    (tmp_path / "conda-meta" / "mkl-2024.0-0.json").touch()
    (note,) = doctor.openmp(tmp_path)
    assert (note.fine, note.needed) == (False, False)
    assert "MKL" in note.words


def test_all_trained_models_are_looked_at(tmp_path):
    for name in ("one", "two"):
        shutil.copytree(DEFAULT, tmp_path / name)
    assert [finding.fine for finding in doctor.trained_models(tmp_path)] == [True, True]
    (tmp_path / "two" / "model.safetensors").unlink()
    good, bad = doctor.trained_models(tmp_path)
    assert good.fine
    assert "one" in good.words
    assert not bad.fine
    (tmp_path / "empty").mkdir()
    assert len(list(doctor.trained_models(tmp_path / "empty"))) == 1


def test_a_damaged_checkpoint(tmp_path):
    copy = tmp_path / "de-en"
    shutil.copytree(DEFAULT, copy)
    assert doctor.checkpoint(copy).fine
    weights = copy / "model.safetensors"
    data = weights.read_bytes()
    weights.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    (copy / "config.json").unlink()
    finding = doctor.checkpoint(copy)
    assert not finding.fine
    assert finding.words.startswith("model.safetensors, config.json in ")
    (copy / "SHA256SUMS").unlink()
    assert not doctor.checkpoint(copy).fine


def test_a_folder_without_write_access(tmp_path):
    finding = doctor.writable(tmp_path / "missing")
    assert not finding.fine
    assert str(tmp_path / "missing") in finding.words
    assert doctor.writable(tmp_path).fine
    assert os.listdir(tmp_path) == []


def test_the_exit_status(monkeypatch, capsys):
    monkeypatch.setattr(doctor, "findings", lambda: iter([Finding("torch", "is ill", fine=False)]))
    assert doctor.main([]) == 1
    assert "MISSING" in capsys.readouterr().out
    monkeypatch.setattr(doctor, "findings", lambda: iter([Finding("kernel", "odd", False, needed=False)]))
    assert doctor.main([]) == 0
    assert "note" in capsys.readouterr().out


def test_a_module_that_is_gone_is_missed(tmp_path, monkeypatch):
    shutil.copytree(ROOT / "notebooks" / "transformer", tmp_path / "transformer")
    (finding,) = doctor.own_files(tmp_path)
    assert finding.fine
    (tmp_path / "transformer" / "pe.py").unlink()
    (finding,) = doctor.own_files(tmp_path)
    assert not finding.fine
    assert finding.words.startswith(f"pe.py missing in {tmp_path / 'transformer'}: ")


def test_git_is_advised_only_where_there_is_git(tmp_path, monkeypatch):
    (tmp_path / "course.toml").touch()
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    assert "git" not in doctor.again(tmp_path / "checkpoints")
    (tmp_path / ".git").mkdir()
    assert doctor.again(tmp_path / "checkpoints") == "git checkout -- checkpoints"


def test_paths_in_the_course_are_said_without_its_folder():
    assert inside(ROOT / "notebooks" / "transformer") == "notebooks/transformer"
    assert inside(ROOT.parent) == str(ROOT.parent)

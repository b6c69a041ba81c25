"""Where nothing can be confined: it is refused, or said aloud; and what `doctor` tells about it."""

import json
import platform
import re
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import pytest

from autograder.__main__ import main
from autograder.sandbox import confine
from autograder.sandbox.worker_processes import make_workers
from course.errors import UserError

ROOT = Path(__file__).resolve().parents[2]
SOLUTION = ROOT / "solutions" / "transformer"
needs_linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="about Linux")


def without_landlock(monkeypatch):
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(confine, "landlock_version", lambda: 0)


@needs_linux
def test_a_kernel_without_landlock_is_refused(monkeypatch, capsys):
    without_landlock(monkeypatch)
    assert "no Landlock" in confine.unsupported()
    with pytest.raises(UserError, match="cannot be confined here: this Linux kernel has no Landlock"):
        make_workers(confined=True)
    assert main(["pe", "--submission", str(SOLUTION), "--hidden"]) == 2
    shown = capsys.readouterr()
    assert "this Linux kernel has no Landlock" in shown.err
    assert "--unconfined" in shown.err
    assert "Total" not in shown.out


def test_other_systems_are_refused(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert confine.unsupported() == "workers can be confined only on Linux"


def test_plain_workers_are_refused():
    with pytest.raises(UserError, match="plain workers are never confined"):
        make_workers(plain=True, confined=True)


@needs_linux
def test_reports_say_that_nothing_was_confined(monkeypatch, capsys, tmp_path):
    without_landlock(monkeypatch)
    results = tmp_path / "results.json"
    arguments = ["pe", "--submission", str(SOLUTION), "--json", str(results)]
    assert main([*arguments, "--hidden", "--unconfined"]) == 0
    assert "Graded without confinement" in capsys.readouterr().out
    written = json.loads(results.read_text(encoding="utf-8"))
    assert written["extra_data"]["confined"] is False
    assert "without confinement" in written["output"]
    assert main(arguments) == 0  # a student's own run has nothing to say about it
    assert "confinement" not in capsys.readouterr().out + results.read_text(encoding="utf-8")


@needs_linux
def test_a_module_without_a_file_is_no_library(monkeypatch):
    made_up = ModuleType("made_up")
    made_up.__spec__ = ModuleSpec("made_up", None, origin="some-origin")
    monkeypatch.setitem(sys.modules, "made_up", made_up)
    assert all(Path(path).is_absolute() for path in confine.libraries())
    confine.libraries_are_public()


@needs_linux
def test_doctor(capsys, monkeypatch):
    from autograder.grading import check_machine as doctor

    assert doctor.main([]) == 0
    out = capsys.readouterr().out
    assert "Grading works." in out
    assert "MISSING" not in out
    without_landlock(monkeypatch)
    monkeypatch.setattr(doctor, "checkpoints", lambda: Path("/nowhere"))
    monkeypatch.setattr(doctor, "worker", lambda confined: doctor.Finding("worker", "started before"))
    assert doctor.main([]) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert "this Linux kernel has no Landlock" in out
    assert re.search(r"MISSING checkpoint de-en \S*/nowhere", out)
    assert "Something that grading needs is missing." in out

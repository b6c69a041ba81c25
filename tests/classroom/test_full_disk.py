"""The folder of the results gets full or read-only while a class is graded: one line says so, and it goes on later."""

import contextlib
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.batches import ROOT, SEED, SOLUTION, all_verdicts, batch, command, hand_in, recorded, rows

STUDENTS = ("anna", "ben", "cleo", "dan", "eva", "finn")
SOLVED = ("ben", "eva")
GOES_ON = "What was graded is kept. Run the same command again to continue"


def mount(*arguments: str | Path) -> None:
    """Call mount(8).

    Raises:
        OSError: if it fails.
    """
    done = subprocess.run(["mount", *map(str, arguments)], capture_output=True, text=True)
    if done.returncode:
        raise OSError(done.stderr.strip() or f"mount ended with {done.returncode}")


@contextlib.contextmanager
def small_disk(place: Path, size: int) -> Iterator[None]:
    """A file system in memory of a number of bytes."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        pytest.skip("only root may mount a small file system")
    place.mkdir(parents=True, exist_ok=True)
    try:
        mount("-t", "tmpfs", "-o", f"size={size}", "none", place)
    except OSError as error:
        pytest.skip(f"no file system can be mounted here: {error}")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.fixture(scope="module")
def calm(tmp_path_factory) -> Path:
    """A folder with the class and, in `out`, what it gets where nothing is in the way."""
    folder = tmp_path_factory.mktemp("class")
    for student in STUDENTS:
        hand_in(folder / "in", student)
        if student in SOLVED:
            (folder / "in" / student / "transformer" / "pe.py").write_bytes((SOLUTION / "pe.py").read_bytes())
    assert batch(folder / "in", folder / "out", "--seed", str(SEED)) == 0
    return folder


def room(folder: Path, *names: str) -> int:
    """Bytes that files need on a disk with blocks of 4 KiB."""
    return sum(-(-path.stat().st_size // 4096) * 4096 for name in names for path in (folder / name).iterdir())


def stopped(done: "subprocess.CompletedProcess[str]", out: Path) -> None:
    """Fail unless a run has ended with one line about the folder."""
    assert done.returncode == 2, done.stderr
    (line,) = done.stderr.strip().splitlines()
    assert "cannot write" in line
    assert str(out) in line
    assert line.endswith(GOES_ON)


def the_same(calm: Path, out: Path) -> None:
    assert all_verdicts(out) == all_verdicts(calm / "out")
    assert rows(out) == rows(calm / "out")
    assert (out / "report.html").exists()


@pytest.mark.parametrize("full", ["results", pytest.param("pages", marks=pytest.mark.slow)])
def test_a_full_disk(calm, tmp_path, full):
    out = tmp_path / "out"
    size = room(calm / "out", "results", "feedback")
    # Half of the results, or all of them and hardly anything of what the staff gets.
    with small_disk(out, size // 2 if full == "results" else size + 2**15):
        call = command(calm / "in", out, "--seed", str(SEED))
        stopped(subprocess.run(call, cwd=ROOT, capture_output=True, text=True), out)
        kept = recorded(out)  # each is whole
        assert 0 < len(kept) < len(STUDENTS) or (full == "pages" and len(kept) == len(STUDENTS))
        stopped(subprocess.run(call, cwd=ROOT, capture_output=True, text=True), out)  # still full
        mount("-o", "remount,size=64M", out)
        done = subprocess.run(call, cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert f"Graded {len(STUDENTS) - len(kept)} submissions" in done.stdout
        assert {student: recorded(out)[student] for student in kept} == kept
        the_same(calm, out)


@pytest.mark.slow
def test_a_folder_that_becomes_read_only(calm, tmp_path):
    out = tmp_path / "out"
    with small_disk(out / "results", 2**26):
        call = command(calm / "in", out, "--seed", str(SEED))
        process = subprocess.Popen(call, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 100
        while not list((out / "results").glob("*.json")):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        while True:
            try:
                mount("-o", "remount,ro", out / "results")
                break
            except OSError:  # a file is being written
                assert time.monotonic() < deadline
        output, complaints = process.communicate(timeout=100)
        kept = recorded(out)
        assert 0 < len(kept) < len(STUDENTS)
        stopped(subprocess.CompletedProcess(call, process.returncode, output, complaints), out)
        again = subprocess.run(call, cwd=ROOT, capture_output=True, text=True)  # it does not even begin
        assert again.returncode == 2
        assert again.stderr.count("\n") == 1
        assert f"cannot write to the folder {out}" in again.stderr
        mount("-o", "remount,rw", out / "results")
        assert subprocess.run(call, cwd=ROOT, capture_output=True).returncode == 0
        assert {student: recorded(out)[student] for student in kept} == kept
        the_same(calm, out)

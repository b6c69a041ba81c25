"""Grading a class, called wrongly: one sentence each, and nothing is written."""

from pathlib import Path

import pytest

from autograder.__main__ import main
from autograder.classroom.saved_results import Records
from tests.support.batches import CONFINED, batch, hand_in

# Wrong usage


def test_two_runs_do_not_write_to_one_folder(tmp_path, capsys):
    hand_in(tmp_path / "in", "anna")
    first = Records(tmp_path / "out")
    assert batch(tmp_path / "in", tmp_path / "out") == 2
    assert "another run is writing to" in capsys.readouterr().err
    first.close()
    Records(tmp_path / "out").close()


BAD_USAGE = {
    "no class": (["nowhere", "--out", "out"], "there is no folder or zip file nowhere"),
    "empty": (["empty", "--out", "out"], "empty contains no submissions"),
    "out is a file": (["in", "--out", "file"], "cannot write to the folder file"),
    "out below a file": (["in", "--out", "file/out"], "cannot write to the folder file/out"),
    "out among submissions": (["in", "--out", "in/out"], "is among the submissions"),
    "jobs": (["in", "--out", "out", "--jobs", "0"], "--jobs must be 1 or more, not 0"),
    "time": (["in", "--out", "out", "--time-limit", "0"], "--time-limit must be more than 0 seconds"),
    "time nan": (["in", "--out", "out", "--time-limit", "nan"], "--time-limit must be more than 0 seconds"),
    "seed": (["in", "--out", "out", "--seed", "-1"], "the seed must not be negative: -1"),
    "seed of nothing": (["in", "--out", "out", "--seed", "1", "--visible-only"], "leave out --visible-only"),
    "assignment": (["in", "--out", "out", "--assignment", "cooking"], "there is no assignment 'cooking'"),
    "two clusters": (["in", "--out", "out", "--scheduler", "tcp://a", "--scheduler-file", "f"], "not both"),
    "jobs on a cluster": (["in", "--out", "out", "--scheduler", "tcp://a", "--jobs", "2"], "leave out --jobs"),
    "damaged batch.json": (["in", "--out", "damaged"], "batch.json cannot be read"),
    "other assignment": (["in", "--out", "other"], "has results of the assignment variants"),
}


@pytest.mark.parametrize("case", BAD_USAGE)
def test_wrong_usage(case, tmp_path, monkeypatch, capsys):
    arguments, message = BAD_USAGE[case]
    monkeypatch.chdir(tmp_path)
    hand_in(tmp_path / "in", "anna")
    for folder in ("empty", "damaged", "other"):
        Path(folder).mkdir()
    Path("file").write_text("text", encoding="utf-8")
    Path("damaged/batch.json").write_text("{", encoding="utf-8")
    Path("other/batch.json").write_text('{"assignment": "variants", "seed": 1}', encoding="utf-8")
    assert main(["batch", *arguments, *CONFINED]) == 2
    assert message in capsys.readouterr().err
    assert not Path("out").exists()
    assert Path("file").read_text(encoding="utf-8") == "text"
    assert Path("damaged/batch.json").read_text(encoding="utf-8") == "{"


def test_a_class_is_not_graded_unconfined_unless_told(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("AUTOGRADER_PLAIN", "1")
    hand_in(tmp_path / "in", "anna")
    assert main(["batch", str(tmp_path / "in"), "--out", str(tmp_path / "out")]) == 2
    assert "give --unconfined if you trust them" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()

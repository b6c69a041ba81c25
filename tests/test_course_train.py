"""Training: it learns, it can be stopped and resumed without a trace, and it refuses what does not fit together."""

import csv
import shutil
from contextlib import contextmanager

import pytest
import torch
from torch import nn

from course import train
from course.checkpoint import load_checkpoint
from course.config import WEIGHTS
from course.decoding import greedy_decode
from course.errors import UserError
from course.train import TrainConfig, Trainer, fast_dropout, main
from tests.conftest import VOCABULARY

OPTIONS = f"""--corpus own --vocab-size {VOCABULARY} --threads 1 --d-model 16 --num-layers 1 --d-ff 24 --epochs 3
    --batch-tokens 600 --warmup-steps 4""".split()
STEPS = 12


class Stopped(Exception):
    """What a stop of the process is to the test."""


@pytest.fixture
def arguments(corpus_dir, tmp_path):
    """The command line of a short run, with dropout, so that the state of the random numbers matters."""
    folders = ["--corpus-dir", str(corpus_dir), "--state", str(tmp_path / "state"), "--out", str(tmp_path / "out")]
    return [*folders, *OPTIONS]


@contextmanager
def stop_after(steps):
    """Training saves its state after every step, and stops after a number of steps."""
    step = Trainer.train_step

    def step_or_stop(self):
        if self.step == steps:
            raise Stopped
        return step(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(train, "SAVE_EVERY_SECONDS", -1)
        patch.setattr(train, "LOG_EVERY_STEPS", 1)
        patch.setattr(Trainer, "train_step", step_or_stop)
        yield


def log_steps(folder):
    with (folder / "log.csv").open(encoding="utf-8", newline="") as file:
        return [int(row["step"]) for row in csv.DictReader(file)]


def test_a_trained_model_translates_what_it_has_learnt(tiny_checkpoint, sentences):
    checkpoint = load_checkpoint(tiny_checkpoint)
    results = greedy_decode(checkpoint.model, [checkpoint.source.encode(german) for german, _ in sentences])
    assert [checkpoint.target.decode(result) for result in results] == [english for _, english in sentences]


def test_stopped_and_resumed_is_the_same_as_not_stopped(arguments, tmp_path):
    assert main(arguments) == 0
    expected = (tmp_path / "out" / WEIGHTS).read_bytes()
    for name in ("out", "state"):
        shutil.rmtree(tmp_path / name)
    for steps in (5, 9):
        with stop_after(steps), pytest.raises(Stopped):
            main(arguments)
        assert not (tmp_path / "out").exists()
    assert main(arguments) == 0
    assert (tmp_path / "out" / WEIGHTS).read_bytes() == expected
    assert log_steps(tmp_path / "state") == [*range(1, 10), STEPS]


def test_a_finished_run_only_writes_the_checkpoint_again(arguments, tmp_path):
    main(arguments)
    expected = (tmp_path / "out" / WEIGHTS).read_bytes()
    (tmp_path / "out" / WEIGHTS).unlink()
    main(arguments)
    assert (tmp_path / "out" / WEIGHTS).read_bytes() == expected
    assert log_steps(tmp_path / "state") == [STEPS]


def test_a_state_that_does_not_fit_is_refused(arguments, tmp_path):
    main(arguments)
    for options, message in (
        ("--seed 2", "belongs to a run with other settings; give another --state folder"),
        ("--d-model 20", "cannot go on from .*size mismatch.*give another --state folder"),
        ("--vocab-size 33", "holds tokenizers of another --vocab-size; give another --state folder"),
    ):
        with pytest.raises(UserError, match=message) as caught:
            main([*arguments, *options.split()])
        assert "\n" not in str(caught.value)
    state = tmp_path / "state" / "state.pt"
    content = state.read_bytes()
    for damaged in (b"", content[:1000], content[:-100], b"x" * 1000):
        state.write_bytes(damaged)
        with pytest.raises(UserError, match=r"cannot go on from .*state\.pt"):
            main(arguments)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--d-model 18", r"d_model \(18\) must be a multiple of num_heads \(4\)"),
        ("--dropout-prob 1.5", "dropout_prob must be a number from 0"),
        ("--vocab-size 9000", "cannot train a tokenizer of 9000 pieces"),
        ("--corpus nothing", r"there is no corpus file .*nothing\.tsv\.gz"),
    ],
)
def test_wrong_settings_are_explained(arguments, tmp_path, options, message):
    with pytest.raises(UserError, match=message):
        main([*arguments, *options.split()])
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("option", ["--epochs", "--batch-tokens", "--warmup-steps", "--threads", "--peak-rate"])
def test_numbers_must_be_positive(arguments, capsys, option):
    with pytest.raises(SystemExit, match="2"):
        main([*arguments, option, "0"])
    assert f"{option} must be more than 0" in capsys.readouterr().err


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_a_missing_device_is_explained(arguments):
    with pytest.raises(UserError, match="there is no CUDA device here"):
        main([*arguments, "--device", "cuda"])


def test_the_learning_rate_rises_and_falls():
    config = TrainConfig(peak_rate=0.5, warmup_steps=10)
    rates = [config.rate(step, 100) for step in range(101)]
    assert max(rates) == rates[10] == 0.5
    assert rates[:11] == sorted(rates[:11])
    assert rates[10:] == sorted(rates[10:], reverse=True)
    assert rates[0] > 0
    assert rates[100] == 0


def test_fast_dropout_keeps_the_expected_value_and_stops_in_evaluation():
    layer = nn.Sequential(nn.Dropout(0.5))
    fast_dropout(layer)
    torch.manual_seed(0)
    x = torch.ones(300, 301)
    out = layer(x)
    assert set(out.unique().tolist()) == {0.0, 2.0}
    assert out.mean().item() == pytest.approx(1, abs=0.01)  # three standard deviations
    assert torch.equal(layer.eval()(x), x)

"""Training: it learns, it can be stopped and resumed without a trace, and it refuses what does not fit together."""

import csv
import math
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import replace

import pytest
import torch
from torch import nn

from course.checkpoint import DEFAULT, build_model, load_checkpoint, load_weights
from course.config import CONFIG, SOURCE_TOKENIZER, TARGET_TOKENIZER, WEIGHTS, ModelConfig
from course.errors import UserError
from course.location import ENGINE as ROOT
from course.modules import MODULE_NAMES, load_modules
from course.text import pad
from course.train import main
from course.training import loop
from course.training.data import TokenTable
from course.training.settings import TrainConfig
from course.training.speed import fast_dropout, fused_attention
from course.training.trainer import Trainer
from course.translation.decoding import greedy_decode
from tests.conftest import VOCABULARY

OPTIONS = f"""--corpus own --vocab-size {VOCABULARY} --threads 1 --d-model 16 --num-layers 1 --d-ff 24 --epochs 3
    --batch-tokens 600 --warmup-steps 4""".split()
STEPS = 12


class Stopped(Exception):
    """What a stop of the process is to the test."""


def command(corpus_dir, folder):
    """The command line of a short run, with dropout, so that the state of the random numbers matters."""
    folders = ["--corpus-dir", str(corpus_dir), "--state", str(folder / "state"), "--out", str(folder / "out")]
    return [*folders, *OPTIONS]


@pytest.fixture
def arguments(corpus_dir, tmp_path):
    return command(corpus_dir, tmp_path)


@pytest.fixture(scope="module")
def finished(corpus_dir, tmp_path_factory):
    """The folder of a short run that has come to its end."""
    folder = tmp_path_factory.mktemp("finished")
    assert main(command(corpus_dir, folder)) == 0
    return folder


@pytest.fixture
def resumed(finished, arguments, tmp_path):
    """The command line of that run, whose state is here."""
    shutil.copytree(finished / "state", tmp_path / "state")
    return arguments


@contextmanager
def stop_after(steps):
    """Training saves its state after every step, and stops after a number of steps."""
    step = Trainer.train_step

    def step_or_stop(self):
        if self.step == steps:
            raise Stopped
        return step(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "SAVE_EVERY_SECONDS", -1)
        patch.setattr(loop, "LOG_EVERY_STEPS", 1)
        patch.setattr(Trainer, "train_step", step_or_stop)
        yield


def read_rows(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def log_steps(folder):
    return [int(row["step"]) for row in read_rows(folder / "log.csv")]


def test_a_trained_model_translates_what_it_has_learnt(tiny_checkpoint, sentences):
    checkpoint = load_checkpoint(tiny_checkpoint)
    results = greedy_decode(checkpoint.model, [checkpoint.source.encode(german) for german, _ in sentences])
    assert [checkpoint.target.decode(result) for result in results] == [english for _, english in sentences]


@pytest.mark.parametrize("options", ["", "--average 3 --average-every 2"])
def test_stopped_and_resumed_is_the_same_as_not_stopped(arguments, finished, tmp_path, options):
    expected = (finished / "out" / WEIGHTS).read_bytes()
    if options:
        arguments += options.split()
        assert main(arguments) == 0
        other, expected = expected, (tmp_path / "out" / WEIGHTS).read_bytes()
        assert other != expected
        for name in ("out", "state"):
            shutil.rmtree(tmp_path / name)
    for steps in (5, 9):
        with stop_after(steps), pytest.raises(Stopped):
            main(arguments)
        assert not (tmp_path / "out").exists()
    assert main(arguments) == 0
    assert (tmp_path / "out" / WEIGHTS).read_bytes() == expected
    assert log_steps(tmp_path / "state") == [*range(1, 10), STEPS]


def test_the_last_weights_are_averaged(arguments, tmp_path):
    """The mean of steps 8, 10 and 12, each taken from the state that was saved after it."""
    seen = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "SAVE_EVERY_SECONDS", -1)
        patch.setattr(loop, "LOG_EVERY_STEPS", 1)
        save = Trainer.save

        def save_and_keep(self):
            save(self)
            weights = torch.load(self.folder / "state.pt", weights_only=True)["model"]
            seen.append((self.step, weights["encoder_embedding.weight"]))

        patch.setattr(Trainer, "save", save_and_keep)
        main([*arguments, "--average", "3", "--average-every", "2", "--peak-rate", "0.05"])
    weights = dict(seen)
    expected = (weights[8] + weights[10] + weights[12]) / 3
    found = load_weights(tmp_path / "out" / WEIGHTS)["encoder_embedding.weight"]
    torch.testing.assert_close(found, expected, atol=2e-3, rtol=1e-3)  # saved in float16
    assert (found - weights[12]).abs().max() > 0.01


def test_a_longer_run_averages_its_own_end(arguments, tmp_path):
    average = ["--average", "2", "--average-every", "1"]
    main([*arguments, *average, "--epochs", "1"])
    main([*arguments, *average, "--epochs", "2"])
    state = torch.load(tmp_path / "state" / "state.pt", weights_only=True)
    assert state["averaged"] == [7, 8]


def test_loss_and_bleu_are_measured_and_drawn_and_that_changes_nothing(arguments, finished, tmp_path, capsys):
    options = f"--validate own --validate-every 5 --curves {tmp_path / 'run.png'}".split()
    main([*arguments, *options])
    rows = read_rows(tmp_path / "state" / "validation.csv")
    assert [int(row["step"]) for row in rows] == [5, 10, STEPS]
    losses = [float(row["loss"]) for row in rows]
    assert losses[0] > losses[2] > 0
    assert all(0 <= float(row["bleu"]) <= 100 for row in rows)
    assert (tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")
    assert "own: loss" in capsys.readouterr().out
    assert (tmp_path / "out" / WEIGHTS).read_bytes() == (finished / "out" / WEIGHTS).read_bytes()
    main(arguments)  # the same run, which is at its end, without it
    curves = (tmp_path / "out" / "curves.svg").read_text(encoding="utf-8")
    assert "<svg" in curves
    assert len(read_rows(tmp_path / "state" / "validation.csv")) == 3


@pytest.mark.slow
def test_two_processes_learn_what_one_learns(arguments, tmp_path):
    """The same losses and weights. Many batches are too small to be shared: one process has nothing to do then."""
    options = ["--dropout-prob", "0", "--batch-tokens", "36", "--epochs", "1", "--peak-rate", "0.02"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "LOG_EVERY_STEPS", 5)
        main([*arguments, *options])
    code = "import sys; from course.training import loop; loop.LOG_EVERY_STEPS = 5; import course.train as t; t.main()"
    script = tmp_path / "two.py"
    script.write_text(code, encoding="utf-8")
    again = [argument.replace(str(tmp_path / "out"), str(tmp_path / "two")) for argument in arguments]
    again = [argument.replace(str(tmp_path / "state"), str(tmp_path / "both")) for argument in again]
    start = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(script)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    if sys.platform == "linux":
        environment["GLOO_SOCKET_IFNAME"] = "lo"  # wherever the name of the machine leads to
    done = subprocess.run(
        [*start, *again, *options, "--device", "cpu"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    one, two = (read_rows(tmp_path / name / "log.csv") for name in ("state", "both"))
    assert len(one) > 5
    assert [row["step"] for row in one] == [row["step"] for row in two]
    losses = [[float(row["loss"]) for row in rows] for rows in (one, two)]
    assert losses[0] == pytest.approx(losses[1], abs=2e-3)
    assert losses[0][0] > losses[0][-1] + 0.3  # there was something to learn
    weights = [load_weights(tmp_path / name / WEIGHTS) for name in ("out", "two")]
    for name, tensor in weights[0].items():
        torch.testing.assert_close(weights[1][name], tensor, atol=5e-3, rtol=0, msg=name)


def test_bfloat16_learns_nearly_the_same(arguments, finished, tmp_path):
    main([*arguments, "--precision", "bf16"])
    losses = [float(read_rows(folder / "state" / "log.csv")[-1]["loss"]) for folder in (finished, tmp_path)]
    assert losses[0] == pytest.approx(losses[1], rel=0.05)
    assert losses[0] != losses[1]


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
@pytest.mark.parametrize("options", [[], ["--precision", "float32"], ["--compile"]])
def test_a_gpu_learns_nearly_the_same(arguments, tmp_path, options):
    losses = []
    for device in (["--device", "cpu"], ["--device", "cuda", *options]):
        shutil.rmtree(tmp_path / "state", ignore_errors=True)
        main([*arguments, "--dropout-prob", "0", "--validate", "own", *device])
        losses.append(float(read_rows(tmp_path / "state" / "log.csv")[-1]["loss"]))
    assert losses[0] == pytest.approx(losses[1], rel=0.05)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile needs a compiler")
def test_a_compiled_model_learns_the_same(arguments, tmp_path):
    losses = []
    for option in ([], ["--compile"]):
        shutil.rmtree(tmp_path / "state", ignore_errors=True)
        main([*arguments, "--dropout-prob", "0", *option])
        losses.append(float(read_rows(tmp_path / "state" / "log.csv")[-1]["loss"]))
    for name in MODULE_NAMES:  # --compile left them there
        del sys.modules[name]
    assert losses[0] == pytest.approx(losses[1], abs=2e-3)


def test_a_finished_run_only_writes_the_checkpoint_again(resumed, finished, tmp_path):
    main(resumed)
    assert (tmp_path / "out" / WEIGHTS).read_bytes() == (finished / "out" / WEIGHTS).read_bytes()
    assert log_steps(tmp_path / "state") == [STEPS]


def test_a_run_begins_with_a_checkpoint(arguments, tmp_path, tiny_checkpoint):
    """Its weights, tokenizers and sizes; the dropout is that of the new run."""
    main([*arguments, "--init", str(tiny_checkpoint), "--peak-rate", "1e-9", "--dropout-prob", "0.25"])
    for name in (SOURCE_TOKENIZER, TARGET_TOKENIZER):
        assert (tmp_path / "out" / name).read_bytes() == (tiny_checkpoint / name).read_bytes()
    config = ModelConfig.load(tiny_checkpoint / CONFIG)
    assert ModelConfig.load(tmp_path / "out" / CONFIG) == replace(config, dropout_prob=0.25)
    found = load_weights(tmp_path / "out" / WEIGHTS)
    for name, tensor in load_weights(tiny_checkpoint / WEIGHTS).items():
        torch.testing.assert_close(found[name], tensor, atol=1e-3, rtol=0, msg=name)  # a rate of almost nothing


def test_a_checkpoint_to_begin_with_must_fit(arguments, finished, tmp_path, tiny_checkpoint):
    with pytest.raises(UserError, match=r"cannot read the model configuration .*nowhere"):
        main([*arguments, "--init", str(tmp_path / "nowhere")])
    shutil.copytree(finished / "state", tmp_path / "state", dirs_exist_ok=True)
    shutil.copy(DEFAULT / SOURCE_TOKENIZER, tmp_path / "state")
    with pytest.raises(UserError, match=r"tokenizers that differ from .*; choose another --state folder"):
        main([*arguments, "--init", str(tiny_checkpoint)])


def test_a_state_that_does_not_fit_is_refused(resumed, tmp_path):
    for options, message in (
        ("--seed 2", "belongs to a run with other settings; choose another --state folder"),
        ("--d-model 20", "cannot continue from .*size mismatch.*choose another --state folder"),
        ("--vocab-size 33", "has tokenizers with a different --vocab-size; choose another --state folder"),
    ):
        with pytest.raises(UserError, match=message) as caught:
            main([*resumed, *options.split()])
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 400  # one of the weights that do not fit, not all
    state = tmp_path / "state" / "state.pt"
    content = state.read_bytes()
    for damaged in (b"", content[:1000], content[:-100], b"x" * 1000):
        state.write_bytes(damaged)
        with pytest.raises(UserError, match=r"cannot continue from .*state\.pt"):
            main(resumed)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--d-model 18", r"d_model \(18\) must be a multiple of num_heads \(4\)"),
        ("--dropout-prob 1.5", "dropout_prob must be a number from 0"),
        ("--vocab-size 9000", "cannot train a tokenizer of 9000 pieces"),
        ("--corpus nothing", r"there is no corpus file .*nothing\.tsv\.gz"),
        ("--validate nothing", r"there is no corpus file .*nothing\.tsv\.gz"),
    ],
)
def test_wrong_settings_are_explained(arguments, tmp_path, options, message):
    with pytest.raises(UserError, match=message):
        main([*arguments, *options.split()])
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "option", ["--epochs", "--batch-tokens", "--warmup-steps", "--threads", "--peak-rate", "--average"]
)
def test_numbers_must_be_positive(arguments, capsys, option):
    with pytest.raises(SystemExit, match="2"):
        main([*arguments, option, "0"])
    assert f"{option} must be more than 0" in capsys.readouterr().err


def test_curves_of_another_kind_are_refused(arguments, capsys):
    with pytest.raises(SystemExit, match="2"):
        main([*arguments, "--curves", "curves.gif"])
    assert "--curves must end in .svg or .png, not curves.gif" in capsys.readouterr().err


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


def test_fused_attention_is_the_attention_of_the_modules():
    modules = load_modules()
    config = ModelConfig(30, 30, d_model=16, num_layers=2, d_ff=24, max_seq_length=20)
    model = build_model(config, modules).double().eval()
    src, src_lengths = pad([[5, 6, 7, 8, 9], [5, 6]])
    tgt, tgt_lengths = pad([[2, 7], [2, 9, 8, 4]])
    expected = model(src, tgt, src_lengths, tgt_lengths)
    fused_attention(model, modules.mha.MultiHeadAttention)
    assert type(model.encoder.layers[0].self_attn) is not modules.mha.MultiHeadAttention
    torch.testing.assert_close(model(src, tgt, src_lengths, tgt_lengths), expected)
    expected.sum().backward()
    gradients = [parameter.grad.clone() for parameter in model.parameters()]
    model.zero_grad()
    model(src, tgt, src_lengths, tgt_lengths).sum().backward()
    for parameter, gradient in zip(model.parameters(), gradients, strict=True):
        assert math.isfinite(gradient.sum())
        torch.testing.assert_close(parameter.grad, gradient)


def test_a_table_gives_the_batches_that_pad_gives():
    sequences = [[2, 5, 3], [2, 3], [2, 9, 8, 7, 6, 3], [2, 4, 4, 3]]
    table = TokenTable(sequences, "cpu")
    for rows in ([0], [3, 1], [1, 2, 0, 3], [2, 2]):
        for found, expected in zip(table.batch(rows), pad([sequences[row] for row in rows]), strict=True):
            assert torch.equal(found, expected)

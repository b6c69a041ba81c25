"""Small runs for notebooks: stopped and gone on with, begun anew when the code changes; parts taken out; the data."""

import gzip
import os
import shutil
import signal
from pathlib import Path

import pytest
import torch

from course.config import BOS, EOS
from course.data import DATA
from course.data.select_pairs import NAME, PAIRS, select
from course.errors import UserError
from course.modules import load_modules, standins_of
from course.training.ablation import (
    ABLATIONS,
    without_causal_mask,
    without_positions,
    without_residuals,
    without_scaling,
)
from course.training.loop import LOG, read_log
from course.training.settings import TrainConfig
from course.training.small import (
    Letters,
    count_exact,
    held_out_loss,
    new_model,
    reversal_config,
    reversal_pairs,
    train_small,
    weights_after,
)
from course.training.trainer import Trainer
from course.translation.corpora import read_pairs

SETTINGS = TrainConfig(epochs=1, batch_tokens=60, peak_rate=1e-3, warmup_steps=5, label_smoothing=0.0)
PAIRS_TO_LEARN = reversal_pairs(150, seed=1, longest=4)
STANDINS = standins_of("transformer")
MODULES = pytest.mark.parametrize("modules", [None, STANDINS], ids=["reference", "stand-ins"])


def make_trainer(folder: Path, modules: Path | None = None) -> Trainer:
    return Trainer(new_model(reversal_config(), load_modules(modules)), PAIRS_TO_LEARN, SETTINGS, folder)


def test_letters_backwards():
    letters = Letters()
    for source, target in reversal_pairs(50, seed=3):
        assert letters.decode(source) == letters.decode(target)[::-1]
        assert letters.encode(letters.decode(source)) == source
        assert (source[0], source[-1]) == (BOS, EOS)
        assert 3 <= len(source) == len(target) <= 12
    assert letters.pieces(letters.encode("a!")) == ["<s>", "a", "<unk>", "</s>"]
    assert reversal_pairs(5, seed=3) == reversal_pairs(5, seed=3) != reversal_pairs(5, seed=4)


def test_a_run_that_was_interrupted_goes_on_and_nothing_is_lost(tmp_path, capsys):
    whole = make_trainer(tmp_path / "whole")
    expected = train_small(whole, measure=lambda model: 1.0, measure_every=10, keep=(0, 7))
    assert expected.done

    def interrupted(model):
        os.kill(os.getpid(), signal.SIGINT)  # as the square above a notebook does
        return 1.0

    before = signal.getsignal(signal.SIGINT)
    first = make_trainer(tmp_path / "parts")
    stopped = train_small(first, measure=interrupted, measure_every=10, keep=(0, 7))
    assert first.step == 0
    assert not stopped.done
    second = make_trainer(tmp_path / "parts")

    def interrupted_at_ten(model):
        return interrupted(model) if second.step == 10 else 1.0

    stopped = train_small(second, measure=interrupted_at_ten, measure_every=10, keep=(7,))
    assert (second.step, stopped.done) == (10, False)
    assert signal.getsignal(signal.SIGINT) is before
    third = make_trainer(tmp_path / "parts")
    done = train_small(third, measure=lambda model: 1.0, measure_every=10)
    said = capsys.readouterr().out
    assert f"Stopped after step 10 of {third.total_steps}; run the cell again to continue." in said
    assert "Continuing after step 10." in said
    assert done == expected
    for name, weights in whole.model.state_dict().items():
        assert torch.equal(weights, third.model.state_dict()[name]), name
    for step in (0, 7):
        one, other = weights_after(step, tmp_path / "whole"), weights_after(step, tmp_path / "parts")
        assert all(torch.equal(one[name], other[name]) for name in one)
    with pytest.raises(UserError, match="step-8"):
        weights_after(8, tmp_path / "whole")


def test_a_finished_run_is_not_trained_again_unless_the_code_has_changed(tmp_path, capsys):
    folder = tmp_path / "modules"
    shutil.copytree(STANDINS, folder)
    trained = train_small(make_trainer(tmp_path / "run", folder), keep=(0, 3))
    log = (tmp_path / "run" / LOG).read_bytes()
    again = make_trainer(tmp_path / "run", folder)
    assert train_small(again) == trained
    assert (tmp_path / "run" / LOG).read_bytes() == log
    with (folder / "mha.py").open("a") as file:
        file.write("# changed\n")
    anew = make_trainer(tmp_path / "run", folder)
    capsys.readouterr()
    assert train_small(anew, keep=(0,)).done
    weights_after(0, tmp_path / "run")
    with pytest.raises(UserError):  # nothing of the run before is left
        weights_after(3, tmp_path / "run")
    assert "The modules have changed since this run began: it starts again." in capsys.readouterr().out
    assert len(read_log(tmp_path / "run" / LOG)) == len(trained.steps)


def test_what_is_measured_is_what_the_model_does():
    model = new_model(reversal_config(), load_modules())
    pairs = reversal_pairs(4, seed=5, longest=3)
    assert count_exact(model, pairs) == 0
    answers = [([BOS, 9, EOS], [BOS, EOS]), ([BOS, 7, 8, EOS], [BOS, EOS])]
    with torch.no_grad():
        model.decoder.output_layer.weight.zero_()
        model.decoder.output_layer.bias[EOS] = 5.0  # it always ends at once
    assert count_exact(model, answers) == 2
    assert count_exact(model, [*answers, *pairs]) == 2
    expected = -torch.log_softmax(model.decoder.output_layer.bias.detach(), 0)[EOS]
    assert held_out_loss(model, answers) == pytest.approx(float(expected), abs=1e-5)


# Parts taken out


@pytest.fixture
def batch():
    torch.manual_seed(0)
    src, tgt = torch.randint(4, 30, (2, 6)), torch.randint(4, 30, (2, 5))
    return {"src": src, "tgt": tgt, "src_lengths": torch.tensor([6, 6]), "tgt_lengths": torch.tensor([5, 5])}


def both(change, modules, batch):
    """A model as it is and changed, and their scores."""
    models = [
        kind(new_model(reversal_config(), load_modules(modules)).eval()) for kind in (lambda model: model, change)
    ]
    with torch.no_grad():
        return models, [model(**batch) for model in models]


@MODULES
def test_without_scaling(modules, batch):
    (plain, _), (one, other) = both(without_scaling, modules, batch)
    assert not torch.allclose(one, other, atol=1e-3)
    with torch.no_grad():  # the same as queries that are four times as long, d_k = 16
        for layer in (*plain.encoder.layers, *plain.decoder.layers):
            for attention in filter(None, (layer.self_attn, getattr(layer, "encoder_attn", None))):
                attention.W_q.weight *= 4
                attention.W_q.bias *= 4
        torch.testing.assert_close(plain(**batch), other)


@MODULES
def test_without_positions(modules, batch):
    (plain, changed), (one, other) = both(without_positions, modules, batch)
    shuffled = {**batch, "src": batch["src"][:, torch.randperm(6)]}
    with torch.no_grad():
        torch.testing.assert_close(changed(**shuffled), other)  # the source is a bag of letters
        assert not torch.allclose(plain(**shuffled), one, atol=1e-3)


@MODULES
def test_without_residuals(modules, batch):
    (_, changed), _ = both(without_residuals, modules, batch)
    layer, x = changed.encoder.layers[0], torch.randn(2, 6, 64)
    with torch.no_grad():
        attended = torch.nn.functional.layer_norm(layer.self_attn(x, x, x), (64,))
        expected = torch.nn.functional.layer_norm(layer.fc2(torch.relu(layer.fc1(attended))), (64,))
        torch.testing.assert_close(layer(x), expected, atol=1e-4, rtol=1e-4)


@MODULES
def test_without_causal_mask(modules, batch):
    (plain, changed), (one, other) = both(without_causal_mask, modules, batch)
    later = {**batch, "tgt": batch["tgt"].clone()}
    later["tgt"][:, -1] = 29 - later["tgt"][:, -1] + 4
    with torch.no_grad():
        torch.testing.assert_close(plain(**later)[:, :-1], one[:, :-1])
        assert not torch.allclose(changed(**later)[:, :-1], other[:, :-1], atol=1e-3)


def test_the_complete_model_is_not_changed(batch):
    _, (one, other) = both(ABLATIONS["complete"], None, batch)
    assert torch.equal(one, other)


# The data


def test_the_pairs_are_those_that_the_command_chooses(tmp_path):
    rows = [f"Satz {number}\tsentence {number}" for number in range(PAIRS + 500)]
    (tmp_path / "tatoeba.train.tsv.gz").write_bytes(gzip.compress("".join(f"{row}\n" for row in rows).encode()))
    first = select(tmp_path, tmp_path).read_bytes()
    chosen = read_pairs(tmp_path, NAME)
    assert len(set(chosen)) == PAIRS
    numbers = [int(german.split()[1]) for german, _ in chosen]
    assert numbers == sorted(numbers)  # in the order of the corpus
    assert select(tmp_path, tmp_path).read_bytes() == first
    (tmp_path / "tatoeba.train.tsv.gz").write_bytes(gzip.compress(b"a\tb\n"))
    with pytest.raises(UserError, match="fewer than the 10000"):
        select(tmp_path, tmp_path)


def test_the_data_has_its_attribution_beside_it():
    assert len(read_pairs(DATA, NAME)) == PAIRS
    text = " ".join((DATA / "README.md").read_text(encoding="utf-8").split())
    line = (
        "Sentences from Tatoeba (tatoeba.org), CC BY 2.0 FR, selected by www.manythings.org/anki; cleaned and re-split."
    )
    assert line in text
    assert {path.name for path in DATA.glob("*.gz")} <= set(text.replace("`", " ").split())

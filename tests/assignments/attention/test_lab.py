"""What the notebooks of `attention` work with: models without attention, accuracy by length, trained translators."""

import shutil
from itertools import pairwise
from pathlib import Path

import pytest
import torch

import course.notebook.load as notebook
from autograder.authoring.packing.handout import shipped
from autograder.manifest import assignment
from course.checkpoint import DEFAULT, save_weights
from course.config import CONFIG, SOURCE_TOKENIZER, TARGET_TOKENIZER, WEIGHTS
from course.kinds import KINDS
from course.recurrent import RecurrentConfig, build_recurrent
from course.training.recurrent import accuracy_by_length, precomputed_decoder, without_attention
from course.training.settings import TrainConfig
from course.training.small import reversal_pairs, train_small, weights_after
from course.training.trainer import Trainer
from tests.assignments.attention.loading import ASSIGNMENT, reference, standins

RECURRENT = KINDS["recurrent"]
SIZES = RecurrentConfig(30, 30, embed_size=8, hidden_size=8, attention_size=8, dropout_prob=0.0)


def test_without_attention_only_the_first_state_counts():
    model, quick = (RECURRENT.new_model(SIZES, reference()).eval() for _ in range(2))
    precomputed_decoder(quick)
    src, src_lengths = torch.tensor([[2, 7, 8, 9, 3], [2, 9, 3, 1, 1]]), torch.tensor([5, 3])
    tgt, tgt_lengths = torch.tensor([[2, 7, 8], [2, 9, 9]]), torch.tensor([3, 3])
    with_it = model(src, tgt, src_lengths, tgt_lengths)
    for changed in (model, quick):
        blind = without_attention(changed)(src, tgt, src_lengths, tgt_lengths)
        assert not torch.allclose(blind, with_it)
        _, state = changed.encoder(src, src_lengths)  # all that is left of the source
        nothing = torch.zeros(2, 5, 16)
        assert torch.allclose(changed.decoder(tgt, state, nothing, src_lengths)[0], blind, atol=1e-6)
        assert not torch.allclose(changed.decoder(tgt, 2 * state, nothing, src_lengths)[0], blind, atol=1e-3)


class Echo(torch.nn.Module):
    """Predicts of each target that the source comes again, token by token, and is right where it does."""

    def forward(self, src, tgt, src_lengths, tgt_lengths):
        guess = torch.nn.functional.pad(src[:, 1:], (0, max(0, tgt.size(1) + 1 - src.size(1))))[:, : tgt.size(1)]
        return torch.nn.functional.one_hot(guess, 30).float()


def test_accuracy_is_counted_by_length_without_the_ends():
    copied = [([2, 5, 6, 7, 3], [2, 5, 6, 7, 3]), ([2, 5, 6, 3], [2, 5, 9, 3])]  # of five letters one is wrong
    longer = [([2, *range(4, 10), 3], [2, 9, 8, 7, 7, 8, 9, 3])]  # 9 8 7 7 8 9 against 4 5 6 7 8 9: three are right
    assert accuracy_by_length(Echo(), copied + longer) == {4: 4 / 5, 8: 3 / 6}
    assert accuracy_by_length(Echo(), copied + longer, width=3) == {3: 4 / 5, 6: 3 / 6}


def test_a_recurrent_model_is_made_and_trained_by_the_small_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    first, second = (RECURRENT.new_model(SIZES, reference(), seed) for seed in (1, 1))
    for one, other in zip(first.parameters(), second.parameters(), strict=True):
        assert torch.equal(one, other)
    settings = TrainConfig(epochs=2, batch_tokens=300, peak_rate=5e-3, warmup_steps=5, label_smoothing=0.0)
    trainer = Trainer(first, reversal_pairs(300, seed=1, longest=4), settings, tmp_path)
    curve = train_small(trainer, keep=(0,), log_every=2)
    assert curve.done
    assert curve.losses[-1] < curve.losses[0]
    assert weights_after(0, tmp_path).keys() == first.state_dict().keys()
    # The modules of another folder are different code: the run starts again.
    again = Trainer(RECURRENT.new_model(SIZES, standins()), reversal_pairs(300, seed=1, longest=4), settings, tmp_path)
    train_small(again)
    assert "starts again" in capsys.readouterr().out


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of checkpoints: the Transformer, and a small recurrent model with random weights."""
    folder = tmp_path / "gru-de-en"
    folder.mkdir()
    config = RecurrentConfig(4000, 4000, embed_size=4, hidden_size=4, attention_size=4)
    config.save(folder / CONFIG)
    save_weights(build_recurrent(config, reference()), folder / WEIGHTS)
    for name in (SOURCE_TOKENIZER, TARGET_TOKENIZER):
        shutil.copy(DEFAULT / name, folder)
    (tmp_path / "de-en").symlink_to(DEFAULT)
    monkeypatch.setattr(notebook, "checkpoints", lambda: tmp_path)
    return tmp_path


def code_of(model: object) -> Path:
    return Path(type(model).forward.__code__.co_filename)  # type: ignore[attr-defined]


def test_a_trained_model_comes_in_the_modules_of_its_kind(models: Path):
    solution = assignment("attention").solution
    assert code_of(notebook.trained(checkpoint="gru-de-en").model).is_relative_to(ASSIGNMENT.standins)
    assert code_of(notebook.trained().model).is_relative_to(assignment("transformer").standins)
    own = notebook.trained(own=True, folder=solution, checkpoint="gru-de-en")
    assert code_of(own.model).is_relative_to(solution)
    assert own.source.vocab_size == own.config.src_vocab_size


def test_the_archive_has_the_modules_in_which_its_notebooks_load_models():
    patterns = shipped(ASSIGNMENT)
    for name in ("attention", "transformer"):
        assert f"autograder/assignments/{name}/standins/*.py" in patterns
    assert not any("attention" in pattern for pattern in shipped(assignment("transformer")))


def test_the_sums_of_attention_are_those_of_one_token_after_the_other():
    """Coverage, as notebook 3 computes it: over the tokens that the model reads in its own translation."""
    model = RECURRENT.new_model(SIZES, reference()).eval()
    src, tgt = torch.tensor([[2, 5, 6, 3]]), torch.tensor([[2, 9, 8]])
    weights = RECURRENT.cross_weights(model, src, tgt)[0, 0]  # (T_d, T_e)
    outputs, state = model.encoder(src, torch.tensor([4]))
    total = torch.zeros(4)
    for token, _ in pairwise([*tgt[0].tolist(), 3]):
        _, state, looks = model.decoder.step(torch.tensor([token]), state, outputs, torch.tensor([4]))
        total += looks[0].detach()
    assert torch.allclose(weights.sum(dim=0), total, atol=1e-6)
    assert weights.sum().item() == pytest.approx(3)

"""The shipped models of `llm`: whole, small, and as good as their cards say; the command that trains them."""

import json
import re

import pytest
import torch

from autograder.manifest import assignment
from course import try_model
from course.checkpoint import checksums
from course.config import CHECKSUMS, CONFIG, WEIGHTS
from course.errors import UserError
from course.llm import END, bits_per_character, encode_tales, load_standins, read_merges, repetitions
from course.location import checkpoints
from course.modules import standins_with
from course.training.llm import measure
from course.training.llm.__main__ import MODELS, main
from course.training.llm.tasks import ModernRun, ModernTales, Repetitions, load_llm, look_back
from course.training.loop import train
from course.training.settings import TrainConfig
from course.variants.tales import read_tales
from course.variants.trained import BYTE_PAIRS, BytePairs, build, load_ready_made, load_trained

LARGEST = 8_000_000  # bytes


def card(name: str) -> str:
    return (checkpoints() / name / "MODEL_CARD.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", MODELS)
def test_a_checkpoint_is_whole_and_loads(name):
    folder = checkpoints() / name
    lines = (folder / CHECKSUMS).read_text(encoding="utf-8").splitlines()
    assert dict(reversed(line.split()) for line in lines) == checksums(folder)
    assert sum(path.stat().st_size for path in folder.iterdir()) < LARGEST
    model = load_trained(name, load_standins()).model
    assert f"{sum(parameter.numel() for parameter in model.parameters()):,} parameters" in card(name)
    assert name in assignment("llm").checkpoints  # so that the handout has it


def test_a_held_out_tale_costs_the_bits_that_the_card_says():
    tale = read_tales("val")[3]
    (said,) = re.findall(rf"{tale.title} (\d\.\d+)", card("grimm-modern"), re.IGNORECASE)
    model, tokenizer = measure.load_modern()
    bits = bits_per_character(model, [tale], encode_tales([tale], tokenizer), ModernTales.T)
    assert bits == pytest.approx(float(said), abs=0.01)
    (total,) = re.findall(r"\*\*this model\*\* \| \*\*([\d.]+)\*\*", card("grimm-modern"))
    assert float(total) <= 1.68


def test_the_tokens_are_those_of_the_course():
    tokenizer = BytePairs(checkpoints() / "grimm-modern" / BYTE_PAIRS)
    known = load_standins().bpe.Tokenizer(read_merges(), [END])
    assert tokenizer.tokens.pieces == known.pieces
    ids = tokenizer.encode("Once upon a time")
    assert ids == [2047, *known.encode("Once upon a time"), 2047]
    assert tokenizer.decode(ids) == "Once upon a time"


def test_a_damaged_tokenizer_is_named(tmp_path):
    (tmp_path / BYTE_PAIRS).write_text('{"merges": [[1]]}', encoding="utf-8")
    with pytest.raises(UserError, match="is damaged"):
        BytePairs(tmp_path / BYTE_PAIRS)


def test_two_layers_look_back_and_one_does_not():
    found, control = (look_back(load_ready_made(name).model) for name in ("induction", "induction-1-layer"))
    assert found.scores.shape == (2, 4)
    assert found.scores.max() > 0.5
    assert control.scores.max() < 0.15
    assert found.right > 0.9 > 0.4 > control.right
    assert found.loss < control.loss < found.first_loss


def test_repetitions_repeat():
    period = torch.tensor([[2], [5]])
    tokens = repetitions(period, 11, torch.Generator().manual_seed(0))
    assert tokens.shape == (2, 11)
    assert torch.equal(tokens[0, 2:], tokens[0, :-2])
    assert torch.equal(tokens[1, 5:], tokens[1, :-5])
    (batch, counted), count = Repetitions(1).batch(3, 1)
    assert count == int(counted.sum())
    (again, _), _ = Repetitions(2).batch(3, 1)
    assert torch.equal(batch, again)
    first = counted.int().argmax(dim=1)  # the predictions from the last token of the first period on
    for row, start in enumerate(first.tolist()):
        assert torch.equal(batch[row, start + 1 :], batch[row, : -start - 1])
        assert counted[row, start:].all()


def test_the_command_writes_a_checkpoint_that_loads(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(Repetitions, "steps_per_epoch", 3)
    folder = tmp_path / "out"
    arguments = ["induction-1-layer", "--epochs", "1", "--state", str(tmp_path / "state"), "--out", str(folder)]
    assert main(arguments) == 0
    assert " 3 steps, from step 0" in capsys.readouterr().out
    assert {path.name for path in folder.iterdir()} == {CONFIG, WEIGHTS, CHECKSUMS, "curves.svg"}
    assert json.loads((folder / CONFIG).read_text(encoding="utf-8")) == {
        "model": "lm.LanguageModel",
        **Repetitions(1).sizes,
    }
    assert load_trained(folder, load_standins()).tokenizer is None
    weights = (folder / WEIGHTS).read_bytes()
    assert main(arguments) == 0  # the run is finished, so only the checkpoint is written
    assert "from step 3" in capsys.readouterr().out
    assert (folder / WEIGHTS).read_bytes() == weights


def test_the_command_for_the_tales_writes_what_the_shipped_checkpoint_has(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(ModernTales, "steps_per_epoch", 2)
    monkeypatch.setattr(ModernTales, "windows", 1)
    monkeypatch.setattr("course.training.llm.tasks.read_tales", lambda split: read_tales(split)[:2])
    folder = tmp_path / "out"
    assert main(["grimm-modern", "--epochs", "1", "--state", str(tmp_path / "state"), "--out", str(folder)]) == 0
    assert "2,189,248 parameters, 2 steps" in capsys.readouterr().out
    shipped = checkpoints() / "grimm-modern"
    assert {path.name for path in folder.iterdir()} == {path.name for path in shipped.iterdir()} - {"MODEL_CARD.md"}
    for name in (CONFIG, BYTE_PAIRS):
        assert (folder / name).read_bytes() == (shipped / name).read_bytes()


def test_a_stopped_run_continues_with_the_same_result(tmp_path):
    def run(folder) -> ModernRun:
        folder.mkdir(exist_ok=True)
        torch.manual_seed(1)
        task = Repetitions(1)
        task.steps_per_epoch = 6
        config = TrainConfig(1, peak_rate=1.0, warmup_steps=2)
        return ModernRun(build(task.model_class, task.sizes, load_llm()), task, config, folder)

    whole, first = run(tmp_path / "whole"), run(tmp_path / "parts")
    train(whole)
    for _ in range(3):
        first.train_step()
    first.save()
    second = run(tmp_path / "parts")
    assert second.resume()
    train(second)
    for name, weight in whole.model.state_dict().items():
        assert torch.equal(second.model.state_dict()[name], weight), name


def test_a_start_page_can_let_either_language_model_write():
    for name, million in (("grimm-modern", "2.2"), ("grimm-lm", "2.2")):
        box = try_model(name)
        assert f"({million} million weights)" in repr(box)
        assert "Once upon a time there was a" in box.answer("Once upon a time there was a")


def test_stand_ins_are_found_by_their_modules():
    assert standins_with("lm").parent.name == "llm"
    assert standins_with("language_model").parent.name == "variants"
    with pytest.raises(UserError, match="no stand-ins with nothing"):
        standins_with("nothing")


def test_a_measure_that_does_not_exist_is_refused():
    with pytest.raises(UserError, match="choose from grimm-modern, induction"):
        measure.main(["nothing"])

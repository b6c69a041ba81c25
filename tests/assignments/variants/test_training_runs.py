"""Training the small models: batches, resuming, what a finished checkpoint holds, and what it is measured by."""

import json
import math
from dataclasses import replace

import pytest
import torch

from course.config import CONFIG, WEIGHTS
from course.errors import UserError
from course.training.loop import train
from course.training.settings import TrainConfig
from course.training.variants.__main__ import main
from course.training.variants.digits import Recognition, Search
from course.training.variants.tales import bits_per_character, surprise
from course.training.variants.task import SmallRun
from course.variants.tales import Tale
from course.variants.trained import build, load_trained, save_sizes

CONFIGURATION = TrainConfig(epochs=1, peak_rate=2e-3, warmup_steps=5, label_smoothing=0, average=2, average_every=2)


def small_run(modules, folder, config=CONFIGURATION) -> SmallRun:
    torch.manual_seed(1)
    task = Recognition()
    model = build(task.model_class, task.sizes, modules).float()
    folder.mkdir(exist_ok=True)
    return SmallRun(model, task, config, folder, modules.training.parameter_groups(model, 0.1))


@pytest.fixture
def short(monkeypatch):
    """An epoch of eight steps."""
    monkeypatch.setattr(Recognition, "steps_per_epoch", 8)


def test_a_run_goes_on_with_the_same_result(modules, tmp_path, short):
    torch.set_default_dtype(torch.float32)
    whole = small_run(modules, tmp_path / "whole")
    train(whole, whole.task, validate_every=4)
    first = small_run(modules, tmp_path / "parts")
    for _ in range(3):
        first.train_step()
    first.save()
    second = small_run(modules, tmp_path / "parts")
    assert second.resume()
    assert second.step == 3
    train(second, second.task, validate_every=4)
    whole.finish()
    second.finish()
    for name, weight in whole.model.state_dict().items():
        torch.testing.assert_close(second.model.state_dict()[name], weight, rtol=0, atol=0, msg=name)
    rows = (tmp_path / "whole" / "validation.csv").read_text(encoding="utf-8").splitlines()
    assert rows[0] == "step,loss,accuracy"
    assert [row.split(",")[0] for row in rows[1:]] == ["4", "8"]


def test_a_state_of_other_settings_is_refused(modules, tmp_path):
    torch.set_default_dtype(torch.float32)
    run = small_run(modules, tmp_path)
    run.train_step()
    run.save()
    with pytest.raises(UserError, match="other settings"):
        small_run(modules, tmp_path, replace(CONFIGURATION, peak_rate=1e-4)).resume()


def test_the_command_writes_a_checkpoint_that_loads(tmp_path, capsys, short):
    torch.set_default_dtype(torch.float32)
    folder = tmp_path / "out"
    assert main(["digits-vit", "--epochs", "1", "--state", str(tmp_path / "state"), "--out", str(folder)]) == 0
    assert "102,666 parameters, 8 steps" in capsys.readouterr().out
    assert {path.name for path in folder.iterdir()} == {CONFIG, WEIGHTS, "SHA256SUMS", "curves.svg"}
    trained = load_trained(folder)
    assert trained.tokenizer is None
    assert trained.sizes["img_size"] == 8
    assert 0 <= Recognition().measure(trained.model).figure <= 100
    assert "</svg>" in (folder / "curves.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize("arguments", [["nothing", "--out", "x"], ["digits-vit", "--out", "x", "--epochs", "0"]])
def test_wrong_usage(arguments, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert "usage" in capsys.readouterr().err


def test_batches_depend_on_step_and_seed_alone():
    for task in (Recognition(), Search()):
        (images, labels), count = task.batch(25, 1)
        assert (len(images), len(labels), count) == (64, 64, 64)
        (again, _), _ = Recognition().batch(25, 1) if type(task) is Recognition else Search().batch(25, 1)
        assert torch.equal(again, images)
        (other, _), _ = task.batch(25, 2)
        assert not torch.equal(other, images)
    labels = torch.cat([Recognition().batch(step, 1)[0][1] for step in range(20)])
    assert len(labels) == 1280


def test_windows_of_a_text_count_every_token_once(modules):
    """The surprise of a text is that of its windows: with a model that ignores the context, the same for all sizes."""
    model = modules.language_model.DecoderTransformer(11, 6, 1, 1, 8, 8, 0.0, 1).eval()
    for parameter in model.blocks.parameters():
        torch.nn.init.zeros_(parameter)
    torch.nn.init.zeros_(model.position_embedding.weight)
    tokens = torch.randint(11, (29,)).tolist()
    with torch.no_grad():
        scores = torch.cat([model(torch.tensor([[token]]))[0] for token in tokens[:-1]]).log_softmax(-1)
    expected = -sum(float(scores[place, token]) for place, token in enumerate(tokens[1:]))
    for max_len in (2, 3, 4, 7, 8):
        assert surprise(model, tokens, max_len) == pytest.approx(expected), max_len


def test_bits_per_character_count_ends_of_lines(modules, tmp_path):
    from course.text import Tokenizer

    lines = [f"the {word} and the fox" for word in ("cat", "dog", "hen", "owl", "bee")] * 9
    tokenizer = Tokenizer.train(lines, tmp_path / "tokenizer.model", 21)
    model = modules.language_model.DecoderTransformer(21, 6, 1, 1, 8, 8, 0.0, 1)
    torch.nn.init.zeros_(model.token_embedding.weight)  # all tokens are equally likely
    tale = Tale("the cat", ("and the dog",))
    tokens = sum(len(tokenizer.encode(line)) - 1 for line in tale.lines)
    found = bits_per_character(model, [tale], tokenizer, 8)
    assert found.loss == pytest.approx(math.log(21))
    assert found.figure == pytest.approx(tokens * math.log2(21) / 20)
    strange = bits_per_character(model, [Tale("the cat", ("and the dög",))], tokenizer, 8)
    assert strange.figure > 7 / 20


def test_a_damaged_configuration_is_named(tmp_path):
    with pytest.raises(UserError, match="cannot read the configuration"):
        load_trained(tmp_path)
    (tmp_path / CONFIG).write_text("[1]", encoding="utf-8")
    with pytest.raises(UserError, match="'model'"):
        load_trained(tmp_path)
    save_sizes("vit.ViT", {"img_size": 8}, tmp_path)
    assert json.loads((tmp_path / CONFIG).read_text(encoding="utf-8")) == {"model": "vit.ViT", "img_size": 8}

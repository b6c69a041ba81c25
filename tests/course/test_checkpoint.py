"""Checkpoints: what is saved is loaded, and a file that does not fit is refused with the reason."""

import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

from course.checkpoint import build_model, load_checkpoint, load_weights, save_weights
from course.config import CONFIG, TARGET_TOKENIZER, WEIGHTS, ModelConfig
from course.errors import UserError
from course.modules import load_modules


@pytest.fixture
def copy(tiny_checkpoint, tmp_path):
    return shutil.copytree(tiny_checkpoint, tmp_path / "checkpoint")


def test_weights_come_back_rounded_to_float16(tmp_path):
    config = ModelConfig(20, 20, d_model=8, num_heads=2, num_layers=1, d_ff=16, max_seq_length=30)
    model = build_model(config, load_modules())
    save_weights(model, tmp_path / WEIGHTS)
    loaded = load_weights(tmp_path / WEIGHTS)
    assert loaded.keys() == model.state_dict().keys()
    for name, parameter in model.named_parameters():
        assert torch.equal(loaded[name], parameter.half().float()), name
    assert torch.equal(loaded["positional_encoding.pe"], model.positional_encoding.pe)
    assert list(tmp_path.iterdir()) == [tmp_path / WEIGHTS]


def test_a_checkpoint_is_ready_to_translate(copy, sentences):
    checkpoint = load_checkpoint(copy)
    assert not checkpoint.model.training
    assert checkpoint.model.encoder_embedding.weight.dtype == torch.float32
    german, english = sentences[5]
    source = checkpoint.source.encode(german)
    decoded, _ = checkpoint.model.inference(torch.tensor([source]), torch.tensor([len(source)]), 60)
    assert checkpoint.target.decode(decoded[0].tolist()) == english


def test_a_truncated_file_is_damaged(copy):
    content = (copy / WEIGHTS).read_bytes()
    for length in (0, 5, len(content) // 2, len(content) - 1):
        (copy / WEIGHTS).write_bytes(content[:length])
        with pytest.raises(UserError, match=r"are damaged .*fetch the file again"):
            load_checkpoint(copy)


def change(folder, edit):
    tensors = load_file(folder / WEIGHTS)
    edit(tensors)
    save_file(tensors, folder / WEIGHTS)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda t: t.pop("decoder.layers.0.fc1.bias"), "Missing key.*decoder.layers.0.fc1.bias"),
        (lambda t: t.update(extra=torch.zeros(2)), "Unexpected key.*extra"),
        (lambda t: t.update({"encoder.layers.0.fc2.bias": torch.zeros(7)}), "size mismatch for encoder.layers.0.fc2.b"),
    ],
    ids=["missing", "unknown", "another shape"],
)
def test_weights_of_other_names_or_shapes_are_refused_in_one_line(copy, edit, message):
    change(copy, edit)
    with pytest.raises(UserError, match=message) as caught:
        load_checkpoint(copy)
    assert "do not fit the model" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_configuration_of_another_size_does_not_fit(copy):
    ModelConfig(34, 34, d_model=16, num_layers=1, d_ff=64).save(copy / CONFIG)
    with pytest.raises(UserError, match="do not fit the model"):
        load_checkpoint(copy)


def test_missing_parts_are_named(copy, tmp_path):
    with pytest.raises(UserError, match="there is no checkpoint folder"):
        load_checkpoint(tmp_path / "nowhere")
    (copy / TARGET_TOKENIZER).unlink()
    with pytest.raises(UserError, match=r"there is no tokenizer at .*tokenizer\.en\.model"):
        load_checkpoint(copy)
    (copy / WEIGHTS).unlink()
    with pytest.raises(UserError, match="there are no weights at"):
        load_checkpoint(copy)

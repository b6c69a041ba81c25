"""The configuration of a model: what is refused, and how the message says so."""

import json

import pytest

from course.config import ModelConfig
from course.errors import UserError


def test_a_saved_configuration_is_read_again(tmp_path):
    config = ModelConfig(300, 200, d_model=24, num_heads=3, dropout_prob=0.25)
    config.save(tmp_path / "config.json")
    assert ModelConfig.load(tmp_path / "config.json") == config


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"d_model": 30, "num_heads": 4}, r"d_model \(30\) must be a multiple of num_heads \(4\)"),
        ({"num_layers": 0}, "num_layers must be a whole number of at least 1, not 0"),
        ({"d_ff": "512"}, "d_ff must be a whole number of at least 1, not '512'"),
        ({"d_model": 64.0}, "d_model must be a whole number of at least 1, not 64.0"),
        ({"src_vocab_size": True}, "src_vocab_size must be a whole number of at least 1, not True"),
        ({"eos_idx": -1}, "eos_idx must be a whole number of at least 0, not -1"),
        ({"dropout_prob": 1}, "dropout_prob must be a number from 0 up to, but not including, 1, not 1"),
        ({"dropout_prob": None}, "dropout_prob must be a number .* not None"),
        ({"heads": 4, "layers": 2}, "unknown entries: heads, layers"),
    ],
)
def test_a_wrong_entry_is_named(tmp_path, entries, message):
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"src_vocab_size": 10, "tgt_vocab_size": 10, **entries}), encoding="utf-8")
    with pytest.raises(UserError, match=message) as caught:
        ModelConfig.load(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"src_vocab_size": 10}', "lacks: tgt_vocab_size"),
        ("[1, 2]", "must be a JSON object"),
        ('{"src_vocab_size": ', "is not JSON"),
    ],
)
def test_a_wrong_file_is_described(tmp_path, text, message):
    path = tmp_path / "config.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=message):
        ModelConfig.load(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(UserError, match=r"cannot read the model configuration .*nowhere"):
        ModelConfig.load(tmp_path / "nowhere.json")

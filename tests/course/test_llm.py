"""The tales as tokens of the assignment `llm`, and bits per character."""

import json
import math

import pytest
import torch

from course.errors import UserError
from course.llm import END, MERGES, NUM_MERGES, bits_per_character, encode_tales, load_standins, read_merges, text_of
from course.variants.tales import read_tales


class Even(torch.nn.Module):
    """A model that finds all of eight tokens equally likely, and remembers how much it has read at most."""

    longest = 0

    def forward(self, tokens):
        self.longest = max(self.longest, tokens.size(1))
        return torch.zeros(*tokens.shape, 8), None


@pytest.mark.parametrize("length", [2, 9, 10, 31])
def test_each_token_but_the_first_costs_three_bits_under_a_model_that_knows_nothing(length):
    tale, model = read_tales("val")[0], Even()
    bits = bits_per_character(model, [tale], [torch.zeros(length, dtype=torch.int64)], 8)
    assert bits == pytest.approx(3 * (length - 1) / tale.characters)
    assert model.longest == min(8, length - 1)
    assert math.isfinite(bits)


def test_the_stored_merges_write_a_held_out_tale():
    merges, tale = read_merges(), read_tales("val")[0]
    assert len(merges) == NUM_MERGES
    tokenizer = load_standins().bpe.Tokenizer(merges, [END])
    (ids,) = encode_tales([tale], tokenizer)
    assert ids[0] == 256 + NUM_MERGES
    assert tokenizer.decode(ids.tolist()) == END + text_of(tale)
    assert len(ids) < len(text_of(tale)) / 3


@pytest.mark.parametrize("text", [None, "[[1, 2", json.dumps([[1]])])
def test_damaged_merges_are_reported_in_one_line(tmp_path, text):
    if text is not None:
        (tmp_path / MERGES).write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match="cannot be read"):
        read_merges(tmp_path)

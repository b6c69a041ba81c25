"""Tokenizers, padding and batches."""

import random
import sys

import pytest

from course.config import BOS, EOS, PAD, SOURCE_TOKENIZER
from course.errors import UserError
from course.text import Tokenizer, batch_by_length, edit_distance, in_batches, pad
from tests.conftest import VOCABULARY


def random_pairs(count=300):
    rng = random.Random(5)
    return [([4] * rng.randint(1, 30), [5] * rng.randint(1, 30)) for _ in range(count)]


def test_pad_fills_up_to_the_longest():
    tokens, lengths = pad([[7, 8, 9], [7], [7, 8]])
    assert tokens.tolist() == [[7, 8, 9], [7, PAD, PAD], [7, 8, PAD]]
    assert lengths.tolist() == [3, 1, 2]


def test_every_pair_is_in_exactly_one_batch_of_limited_size():
    pairs = random_pairs()
    batches = batch_by_length(pairs, max_tokens=120, seed=1)
    assert sorted(index for batch in batches for index in batch) == list(range(len(pairs)))
    assert all(len(batch) * max(len(side) for index in batch for side in pairs[index]) <= 120 for batch in batches)


def test_a_pair_above_the_limit_is_a_batch_of_its_own():
    pairs = [([4] * 50, [5]), ([4], [5]), ([4], [5])]
    assert [0] in batch_by_length(pairs, max_tokens=10, seed=1)


def test_batches_are_a_function_of_the_seed():
    pairs = random_pairs()
    first = batch_by_length(pairs, max_tokens=120, seed=1)
    assert batch_by_length(pairs, max_tokens=120, seed=1) == first
    assert batch_by_length(pairs, max_tokens=120, seed=2) != first


def test_batches_for_decoding_hold_every_sentence_once_and_the_longest_first():
    items = [source for source, _ in random_pairs()]
    batches = list(in_batches(items, max_tokens=100))
    assert sorted(index for batch in batches for index in batch) == list(range(len(items)))
    longest = [max(len(items[index]) for index in batch) for batch in batches]
    assert longest == sorted(longest, reverse=True)
    assert all(len(batch) * width <= 100 for batch, width in zip(batches, longest, strict=True))


def test_a_sentence_survives_encoding(tiny_checkpoint, sentences):
    tokenizer = Tokenizer(tiny_checkpoint / SOURCE_TOKENIZER)
    assert tokenizer.vocab_size == VOCABULARY
    for german, _ in sentences:
        tokens = tokenizer.encode(german)
        assert (tokens[0], tokens[-1]) == (BOS, EOS)
        assert tokenizer.decode([*tokens, PAD]) == german
        assert "".join(tokenizer.pieces(tokens[1:-1])) == "▁" + german.replace(" ", "▁")


def test_training_a_tokenizer_twice_gives_the_same_file(tmp_path, sentences):
    for name in ("a", "b"):
        Tokenizer.train((german for german, _ in sentences), tmp_path / name, VOCABULARY)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_too_large_a_vocabulary_is_the_user_s_mistake(tmp_path, sentences):
    with pytest.raises(UserError, match="cannot train a tokenizer of 9000 pieces"):
        Tokenizer.train((german for german, _ in sentences), tmp_path / "tokenizer", 9000)


def test_a_missing_a_damaged_and_a_foreign_tokenizer_are_refused(tmp_path, sentences):
    import sentencepiece

    path = tmp_path / "tokenizer.model"
    with pytest.raises(UserError, match="there is no tokenizer at"):
        Tokenizer(path)
    path.write_bytes(b"not a tokenizer")
    with pytest.raises(UserError, match="is damaged"):
        Tokenizer(path)
    german = (german for german, _ in sentences)
    with path.open("wb") as file:  # SentencePiece's own indices: no PAD, UNK 0, BOS 1, EOS 2
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=german, model_writer=file, vocab_size=VOCABULARY, minloglevel=2
        )
    with pytest.raises(UserError, match=r"has PAD, BOS, EOS, UNK = \(-1, 1, 2, 0\), not \(1, 2, 3, 0\)"):
        Tokenizer(path)


def edits(a, b):
    """The edit distance by its definition, without either library."""
    if not a or not b:
        return len(a) + len(b)
    same = edits(a[1:], b[1:])
    return same if a[0] == b[0] else 1 + min(same, edits(a[1:], b), edits(a, b[1:]))


@pytest.mark.parametrize("absent", [None, "editdistance", "rapidfuzz"])
def test_the_edit_distance_is_the_same_with_either_library(monkeypatch, absent):
    if absent:
        monkeypatch.setitem(sys.modules, absent, None)  # as if it were not installed
    rng = random.Random(3)
    for _ in range(40):
        a, b = (rng.choices(range(3), k=rng.randint(0, 6)) for _ in range(2))
        assert edit_distance(a, b) == edits(a, b)
    assert edit_distance(["the", "fat", "cat", "sat", "down"], ["the", "cat", "sat"]) == 2
    assert isinstance(edit_distance([1], []), int)

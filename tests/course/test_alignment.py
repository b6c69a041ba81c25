"""Hand-aligned word pairs: the data, and how the agreement of a head is counted."""

import pytest
import torch

from course import read_attention as attention
from course.checkpoint import load_checkpoint
from course.errors import UserError
from course.read_attention import AttentionMaps
from course.translation.alignment import Aligned, agreement, load_alignments, number_of, words


@pytest.fixture(scope="module")
def checkpoint():
    return load_checkpoint()


def test_there_are_forty_pairs_and_each_word_is_in_its_sentence():
    alignments = load_alignments()
    assert sum(len(aligned.pairs) for aligned in alignments) == 40
    for aligned in alignments:
        for german, english in aligned.pairs:
            number_of(german, aligned.german)
            number_of(english, aligned.english)


def test_every_word_of_the_sentences_is_known_to_the_checkpoint(checkpoint):
    for aligned in load_alignments():
        for tokenizer, text in ((checkpoint.source, aligned.german), (checkpoint.target, aligned.english)):
            pieces = tokenizer.pieces(tokenizer.encode(text))
            assert len(words(pieces)) == len(text.split())
            assert "<unk>" not in pieces


def test_a_trained_head_agrees_and_random_weights_do_not(checkpoint):
    found = agreement(checkpoint)
    assert found.pairs == 40
    assert found.share > 0.6
    layer, head = found.best
    assert found.agreeing[layer, head] == found.agreeing.max() == found.share * 40
    random = load_checkpoint()
    torch.manual_seed(1)
    for layer in random.model.decoder.layers:
        layer.encoder_attn.W_k.reset_parameters()
    assert agreement(random).share < found.share - 0.2


def test_a_head_agrees_where_it_looks_at_the_word(checkpoint, monkeypatch):
    """Head 0 looks at the word's first piece, head 1 at all its pieces a little, head 2 at the full stop."""
    sentence = Aligned("Die Lehrerin schläft.", "The teacher sleeps.", [("Lehrerin", "teacher")])
    src, tgt = checkpoint.source.encode(sentence.german), checkpoint.target.encode(sentence.english)
    (places,) = [places for number, places in enumerate(words(checkpoint.source.pieces(src))) if number == 1]
    (predicted,) = [places for number, places in enumerate(words(checkpoint.target.pieces(tgt))) if number == 1]
    cross = torch.zeros(1, 3, len(tgt) - 1, len(src))
    cross[..., -1] = 1  # elsewhere all look at the end of the sentence
    for place in predicted:
        cross[0, :, place - 1] = 0
        cross[0, 0, place - 1, places[0]] = 1
        cross[0, 1, place - 1, places] = 0.6 / len(places)
        cross[0, 1, place - 1, 0] = 0.4
        cross[0, 2, place - 1, -2] = 1
    maps = AttentionMaps(torch.tensor(src), cross, cross, cross=cross)
    monkeypatch.setattr(attention, "attention_maps", lambda *_: maps)
    assert agreement(checkpoint, [sentence]).agreeing.tolist() == [[1, 1, 0]]


def test_words_are_made_of_pieces():
    pieces = ["<s>", "▁Ge", "hen", ",", "▁", "Ö", "l", "▁zu", ".", "</s>"]
    assert words(pieces) == [[1, 2], [4, 5, 6], [7]]


@pytest.mark.parametrize(("word", "times"), [("Katze", 0), ("die", 2)])
def test_a_word_must_stand_once_in_its_sentence(word, times):
    with pytest.raises(UserError, match=f"the word '{word}' occurs {times} times in"):
        number_of(word, "Sieh, die Hunde und die Kinder.")

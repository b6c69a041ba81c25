"""The small grammar of short German sentences, and the tokenizer of its words."""

import re

from course.config import BOS, EOS, UNK
from course.training.short_german import OBJECT_VERBS, Words, _rows, short_sentences

TRAINING, TEST = short_sentences(3000, seed=1), short_sentences(200, seed=2, new=True)


def combination(pair: tuple[str, str]) -> set[tuple[str, str]]:
    """The verb and the last noun of an English sentence with an object."""
    words = re.findall(r"\w+", pair[1].removesuffix(" yesterday.").removesuffix(" today."))
    forms = {form: verb[5] for verb in _rows(OBJECT_VERBS) for form in verb[5:]}
    return {(forms[word], words[-1]) for word in words if word in forms}


def test_test_sentences_combine_verbs_and_objects_that_training_never_does():
    known = set().union(*map(combination, TRAINING))
    for pair in TEST:
        assert combination(pair), pair
        assert not combination(pair) & known, pair
    assert len(dict(TRAINING)) == 3000  # all different
    assert short_sentences(20, seed=1) == TRAINING[:20]


def test_every_word_of_the_test_is_known_from_training():
    source, target = (Words(side) for side in zip(*TRAINING, strict=True))
    for german, english in TEST:
        assert UNK not in source.encode(german), german
        assert target.decode(target.encode(english)) == english
    assert source.encode("Der Drache schläft.")[2] == UNK
    assert source.pieces(source.encode("Der Hund schläft."))[0::4] == ["<s>", "."]
    assert (source.encode("")[0], source.encode("")[-1]) == (BOS, EOS)


def test_articles_adjectives_and_verbs_agree():
    text = "\n".join(german for german, _ in TRAINING + TEST)
    for gender, wrong in {
        "Hund": r"die|das|eine|meine",
        "Katze": r"der|den|das|ein|einen|mein|meinen",
        "Buch": r"der|den|die|eine|einen|meine|meinen",
    }.items():
        assert gender in text
        assert not re.search(rf"\b({wrong}) ([a-zäöüß]+ )?{gender}\b", text, re.IGNORECASE), gender
    assert not re.search(r"\b(den|einen|meinen) ([a-zäöüß]+(?<!en)) Hund", text)

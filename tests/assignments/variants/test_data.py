"""The shipped data of the assignment `variants`: what is in it, and what its readers refuse."""

import gzip
import math

import numpy as np
import pytest

from course.errors import UserError
from course.variants.capitals import MostFrequentForm, capital, restore, score, units
from course.variants.digits import on_canvas, read_digits
from course.variants.tales import Tale, ngram_bits, read_tales

# Fairy tales


def test_tales_are_those_of_the_readme():
    training, held_out = read_tales("train"), read_tales("val")
    assert (len(training), len(held_out)) == (58, 4)
    assert {tale.title for tale in held_out} == {
        *("THE FROG-PRINCE", "RUMPELSTILTSKIN"),
        *("THE GOLDEN GOOSE", "THE SEVEN RAVENS"),
    }
    assert not {tale.title for tale in training} & {tale.title for tale in held_out}
    assert sum(tale.characters for tale in held_out) == 25_034
    assert all(line == line.strip() != "" for tale in training for line in tale.lines)


@pytest.mark.parametrize(
    "content", [None, b"no gzip", gzip.compress(b"\xff\xfe", mtime=0), gzip.compress(b"no title\ntext", mtime=0)]
)
def test_damaged_tales_are_named(tmp_path, content):
    if content is not None:
        (tmp_path / "grimm.val.en.txt.gz").write_bytes(content)
    with pytest.raises(UserError, match=r"fairy tales .*grimm\.val\.en\.txt\.gz"):
        read_tales("val", tmp_path)


def test_ngrams_by_hand():
    """One character after itself: counted three times of three, and one more that was never seen."""
    training, held_out = [Tale("aa", ("a",))], [Tale("b", ())]
    # Known are "a" and the end of a line, so the alphabet has three characters; seen are a, a, end, a, end.
    unseen, end = (2 * (1 / 3)) / (5 + 2), (2 + 2 * (1 / 3)) / (5 + 2)
    assert ngram_bits(training, held_out, 1) == pytest.approx((7 - math.log2(unseen) - math.log2(end)) / 2)


def test_longer_contexts_help_until_they_are_rare():
    training, held_out = read_tales("train")[:20], read_tales("val")[:1]
    bits = [ngram_bits(training, held_out, n) for n in (1, 2, 4)]
    assert bits == sorted(bits, reverse=True)
    assert 2 < bits[-1] < 2.6


# Digits


def test_digits_are_split_once_and_for_all():
    training, held_out = read_digits()
    assert training.images.shape == (1297, 1, 8, 8)
    assert held_out.images.shape == (500, 1, 8, 8)
    assert training.images.dtype == np.float32
    assert (training.images.min(), training.images.max()) == (0, 1)
    assert set(training.labels) == set(held_out.labels) == set(range(10))
    assert held_out.labels[:8].tolist() == read_digits()[1].labels[:8].tolist()
    seen = {image.tobytes() for image in training.images}
    assert sum(image.tobytes() in seen for image in held_out.images) == 0


@pytest.mark.parametrize(
    "content", [None, b"no gzip", gzip.compress(b"a,b", mtime=0), gzip.compress(b"1,2\n3,4\n", mtime=0)]
)
def test_damaged_digits_are_named(tmp_path, content):
    if content is not None:
        (tmp_path / "digits.csv.gz").write_bytes(content)
    with pytest.raises(UserError, match=r"digits .*digits\.csv\.gz"):
        read_digits(tmp_path)


def test_the_canvas_holds_the_digit_where_it_says():
    images = read_digits()[1].images[:50]
    canvases, places = on_canvas(images, 20, np.random.Generator(np.random.PCG64(3)))
    assert canvases.shape == (50, 1, 20, 20)
    assert (places.min(), places.max()) == (0, 12)
    for canvas, image, (row, column) in zip(canvases, images, places, strict=True):
        part = canvas[0, row : row + 8, column : column + 8]
        assert (part >= image[0]).all()
        assert (part[image[0] > 0.4] == image[0][image[0] > 0.4]).all()
        outside = canvas[0].copy()
        outside[row : row + 8, column : column + 8] = 0
        assert 0 < outside.max() <= 0.4


# Capitals


def test_units_and_their_capitals():
    found = units("Tom sagt: „Das ist 3-mal so viel!“")
    assert found == ["Tom", "sagt", ":", "„", "Das", "ist", "3", "-", "mal", "so", "viel", "!", "“"]
    wanted = [True, False, None, None, True, False, None, None, False, False, False, None, None]
    assert [capital(unit) for unit in found] == wanted


def test_restore_is_the_opposite_of_small_letters():
    for sentence in ("Der Hund schläft, und Anna liest.", "Kommst du am Dienstag?", "Übermut tut selten gut!"):
        found = [bool(capital(unit)) for unit in units(sentence)]
        assert restore(sentence.lower(), found) == sentence


def test_score_leaves_out_first_words():
    sentences = [units("Der Hund bellt."), units("Wir sehen den Mond.")]
    predicted = [[False, True, False, False], [True, True, False, False, False]]
    found = score(sentences, predicted)  # asked: Hund (right), bellt (right), sehen (wrong), den (right), Mond (wrong)
    assert found.accuracy == pytest.approx(60)
    assert found.f1 == pytest.approx(100 * 2 / (2 + 2))


def test_most_frequent_form():
    forms = MostFrequentForm(units(text) for text in ("Der Alte singt.", "Das alte Lied.", "Ein alter Hund."))
    assert forms.predict(units("das alte lied singt der fuchs.")) == [
        *(True, False, True, False, True, True),
        False,
    ]


def test_tokens_of_units(tmp_path):
    from course.text import Tokenizer
    from course.training.variants.capitals import encode_units

    sentences = [units(f"Der Hund Nummer {number} bellt laut, und Anna lacht.") for number in range(50)]
    tokenizer = Tokenizer.train((" ".join(one).lower() for one in sentences), tmp_path / "tokenizer.model", 35)
    tokens, starts = encode_units(sentences[7], tokenizer)
    assert len(starts) == len(sentences[7])
    assert tokenizer.decode(tokens).split() == [unit.lower() for unit in sentences[7]]
    assert all(tokenizer.pieces([tokens[start]])[0].startswith("▁") for start in starts)


def test_every_shipped_data_file_is_in_the_readme():
    from course.variants.tales import DATA

    readme = (DATA / "README.md").read_text(encoding="utf-8")
    assert all(f"`{path.name}`" in readme for path in DATA.glob("*.gz"))

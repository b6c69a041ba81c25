"""The shipped models of `variants`: whole, small, fit for both kinds of modules, and as good as their cards say."""

import re

import pytest
import torch

from autograder.manifest import assignment
from course.checkpoint import checksums
from course.config import CHECKSUMS
from course.location import checkpoints
from course.training.variants.capitals import predict
from course.training.variants.digits import Recognition, Search
from course.variants.capitals import MostFrequentForm, score, units
from course.variants.reading import self_attention
from course.variants.trained import load_standins, load_trained

NAMES = assignment("variants").checkpoints
LARGEST = 8_000_000  # bytes
# Our own sentences; most words can be written in both ways.
SENTENCES = (
    "Beim Essen spricht man nicht mit vollem Mund.",
    "Wir essen heute bei den Nachbarn im Garten.",
    "Die Reichen geben selten viel, die Armen geben gern.",
    "Das Schwimmen im kalten See macht den Kindern Angst.",
    "Wir schwimmen jeden Sommer im See hinter dem Wald.",
    "Nach dem Regen riecht die Straße nach Staub und Blättern.",
    "Er hat das Lesen von seinem Großvater gelernt.",
)


@pytest.fixture(autouse=True)
def _float32(_float64):
    torch.set_default_dtype(torch.float32)


def card(name: str) -> str:
    return (checkpoints() / name / "MODEL_CARD.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_a_checkpoint_is_whole_and_loads(name, modules):
    folder = checkpoints() / name
    lines = (folder / CHECKSUMS).read_text(encoding="utf-8").splitlines()
    assert dict(reversed(line.split()) for line in lines) == checksums(folder)
    assert sum(path.stat().st_size for path in folder.iterdir()) < LARGEST
    for code in (modules, load_standins()):
        model = load_trained(name, code).model
        assert f"{sum(parameter.numel() for parameter in model.parameters()):,} parameters" in card(name)


def accuracy(task, name, modules) -> None:
    (said,) = re.findall(r"\*\*this model\*\* \|.*?\*\*([\d.]+) %\*\*", card(name))
    assert task.measure(load_trained(name, modules).model).figure == pytest.approx(float(said), abs=0.25)  # a digit


def test_digits_are_named_as_the_card_says(modules):
    accuracy(Recognition(), "digits-vit", modules)


def test_digits_on_a_canvas_are_named_as_the_card_says_and_looked_at(modules):
    accuracy(Search(), "digits-vit-canvas", modules)
    task = Search()
    model = load_trained("digits-vit-canvas", modules).model
    images, inside = torch.zeros(10, 1, 16, 16), torch.zeros(10, 64, dtype=torch.bool)
    for image, patches, digit in zip(images, inside, task.held_out.images, strict=False):
        image += 0.4 * torch.rand(16, 16)
        image[0, 2:10, 6:14] = torch.maximum(image[0, 2:10, 6:14], torch.from_numpy(digit[0]))
        patches.view(8, 8)[1:5, 3:7] = True
    weights = self_attention(model, images).weights.mean(dim=2)[:, :, 0, 1:]  # (layers, B, N)
    shares = (weights * inside).sum(dim=-1) / weights.sum(dim=-1)
    assert shares.mean(dim=1).max() > 0.6  # by chance a quarter


def test_capitals_are_better_than_counting_on_german_of_our_own(modules):
    from course.training.variants.practice import small_task

    trained = load_trained("de-truecase", modules)
    assert trained.tokenizer is not None
    own = [units(sentence) for sentence in SENTENCES]
    counted = MostFrequentForm(units(text) for text in small_task("tagger").training)
    found = score(own, predict(trained.model, own, trained.tokenizer))
    assert found.f1 > 90
    assert found.f1 > score(own, [counted.predict(sentence) for sentence in own]).f1

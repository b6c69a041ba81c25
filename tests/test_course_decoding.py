"""Greedy decoding of batches gives what the graded `Transformer.inference` gives, token for token."""

import pytest
import torch

from course.checkpoint import build_model, load_checkpoint
from course.config import BOS, EOS, PAD, ModelConfig
from course.decoding import greedy_decode
from course.modules import load_modules

VOCABULARY, LONGEST = 30, 60


@pytest.fixture
def random_model():
    """Random weights in float64, so that no two scores are nearly equal. It never ends a sentence."""
    config = ModelConfig(VOCABULARY, VOCABULARY, d_model=16, num_layers=2, d_ff=24, max_seq_length=LONGEST)
    torch.manual_seed(11)
    model = build_model(config, load_modules()).double()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 2:
                parameter.normal_()
        model.decoder.output_layer.bias[[PAD, EOS]] = -1000
    return model.eval()


def one_by_one(model, source, steps):
    with torch.inference_mode():
        decoded, _ = model.inference(torch.tensor([source]), torch.tensor([len(source)]), steps)
    return decoded[0].tolist()[1:]


@pytest.mark.parametrize("max_tokens", [1, 100, 4096])
def test_sentences_that_end(tiny_checkpoint, sentences, max_tokens):
    checkpoint = load_checkpoint(tiny_checkpoint)
    chosen = [*sentences[::4], ("Der Hund.", ""), ("Ein Kind schläft schläft im Garten dort.", "")]
    sources = [checkpoint.source.encode(german) for german, _ in chosen]
    for source, result in zip(sources, greedy_decode(checkpoint.model, sources, max_tokens), strict=True):
        assert [*result, EOS] == one_by_one(checkpoint.model, source, LONGEST)


def test_sentences_that_do_not_end(random_model):
    generator = torch.Generator().manual_seed(4)
    sources = [
        [BOS, *torch.randint(4, VOCABULARY, (length,), generator=generator).tolist(), EOS] for length in (1, 9, 4, 15)
    ]
    results = greedy_decode(random_model, sources)
    assert len({tuple(result) for result in results}) > 1  # the source matters
    for source, result in zip(sources, results, strict=True):
        assert len(source) < len(result) < LONGEST
        assert result == one_by_one(random_model, source, len(result))


def test_the_model_is_put_in_evaluation_mode(random_model):
    sources = [[BOS, 7, 8, 9, EOS]]
    expected = greedy_decode(random_model, sources)
    random_model.train()
    assert greedy_decode(random_model, sources) == expected


def test_the_longest_source_stays_inside_the_encoding_table(random_model):
    (result,) = greedy_decode(random_model, [[BOS, *[5] * (LONGEST - 2), EOS]])
    assert len(result) == LONGEST - 1


def test_no_sentences_give_no_translations(random_model):
    assert greedy_decode(random_model, []) == []

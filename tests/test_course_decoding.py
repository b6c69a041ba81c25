"""Greedy decoding of batches gives what the graded `Transformer.inference` gives, sentence by sentence."""

import pytest
import torch

from course.checkpoint import build_model
from course.config import BOS, EOS, PAD, ModelConfig
from course.decoding import greedy_decode
from course.modules import load_modules

VOCABULARY = 30


@pytest.fixture(scope="module")
def model():
    """Random and sharp, in float64 so that no two scores are nearly equal; it ends about half of the sentences."""
    config = ModelConfig(VOCABULARY, VOCABULARY, d_model=16, num_heads=4, num_layers=2, d_ff=24, max_seq_length=60)
    torch.manual_seed(11)
    model = build_model(config, load_modules()).double()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "W_" in name:
                parameter.mul_(3)
        model.decoder.output_layer.bias[EOS] += 0.7
        model.decoder.output_layer.bias[PAD] = -100  # batches never predict it, inference might
    return model.eval()


@pytest.fixture(scope="module")
def sources():
    generator = torch.Generator().manual_seed(4)
    lengths = torch.randint(1, 30, (40,), generator=generator).tolist()
    return [[BOS, *torch.randint(4, VOCABULARY, (n,), generator=generator).tolist(), EOS] for n in lengths]


def one_by_one(model, source, steps):
    with torch.inference_mode():
        decoded, _ = model.inference(torch.tensor([source]), torch.tensor([len(source)]), steps)
    return decoded[0].tolist()[1:]


@pytest.mark.parametrize("max_tokens", [1, 100, 4096])
def test_batches_equal_inference_token_for_token(model, sources, max_tokens):
    results = greedy_decode(model, sources, max_tokens)
    ended = 0
    for source, result in zip(sources, results, strict=True):
        tokens = one_by_one(model, source, len(result) + 1)
        if tokens[-1] == EOS:
            ended += 1
            assert result == tokens[:-1]
        else:  # stopped by the limit on the length
            assert result == tokens[:-1]
            assert len(result) >= len(source)
    assert 5 < ended < len(sources)


def test_the_model_is_put_in_evaluation_mode(model, sources):
    expected = greedy_decode(model, sources[:5])
    model.train()
    assert greedy_decode(model, sources[:5]) == expected


def test_the_longest_source_stays_inside_the_encoding_table(model):
    source = [BOS, *[5] * 58, EOS]
    assert all(len(result) <= 59 for result in greedy_decode(model, [source]))


def test_no_sentences_give_no_translations(model):
    assert greedy_decode(model, []) == []

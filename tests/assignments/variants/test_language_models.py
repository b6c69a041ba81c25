"""The language model and generation of the relatives, against what they must be."""

import math

import pytest
import torch
import torch.nn.functional as F

from tests.assignments.variants.comparing import SIZES, close, language_model, torch_layer

# Language model


def test_language_model_is_torchs(modules):
    """The same weights in torch's own layers give the same logits; 003-B12: it is the decoder that is tested."""
    model = language_model(modules)
    tokens = torch.randint(23, (3, 9))
    x = model.token_embedding(tokens) + model.position_embedding.weight[:9]
    for block in model.blocks:
        x = torch_layer(block)(x, src_mask=torch.ones(9, 9).triu(1).bool())
    close(model(tokens), F.layer_norm(x, (18,), model.norm.weight, model.norm.bias) @ model.token_embedding.weight.T)


@pytest.mark.parametrize("training", [False, True])
def test_no_position_sees_the_future(modules, training):
    """003-B13: a causal mask that depends on the mode makes a validation loss far too good."""
    model = language_model(modules, dropout=0.0).train(training)
    tokens = torch.randint(23, (2, 9))
    other = tokens.clone()
    other[:, 6:] = (other[:, 6:] + 1) % 23
    close(model(other)[:, :6], model(tokens)[:, :6])
    assert not torch.allclose(model(other)[:, 6:], model(tokens)[:, 6:])


def test_input_that_is_too_long_is_refused_with_both_numbers(modules):
    """004-B9: a bare IndexError said neither."""
    with pytest.raises(ValueError, match=r"14.*13"):
        language_model(modules)(torch.zeros(1, 14, dtype=torch.long))


def test_padding_counts_neither_as_target_nor_as_context(modules):
    """003-B14: padding stands at the end, so the causal mask hides it; in the loss it is left out."""
    model = language_model(modules)
    tokens = torch.randint(2, 23, (2, 9))
    padded = F.pad(tokens, (0, 3), value=1)
    close(model.loss(padded), model.loss(tokens))
    close(model(padded)[:, :9], model(tokens))
    half = tokens.clone()
    half[1, 4:] = 1
    each = F.cross_entropy(model(half[:, :-1]).transpose(1, 2), half[:, 1:], reduction="none")
    close(model.loss(half), each[half[:, 1:] != 1].mean())


def test_logits_are_no_probabilities_and_the_model_prints_nothing(modules, capsys):
    """004-B12: logits were called a distribution; the constructor printed the number of parameters too early."""
    logits = language_model(modules)(torch.randint(23, (1, 5)))
    assert (logits < 0).any()
    assert capsys.readouterr().out == ""


def test_the_common_base_cannot_be_made(modules):
    with pytest.raises(TypeError, match="abstract"):
        modules.language_model.AbstractTransformer(**SIZES)


# Generation


def test_cache_gives_what_reading_everything_gives(modules):
    model = language_model(modules)
    tokens = torch.randint(23, (3, 13))
    expected = model(tokens)
    for prompt in (1, 4, 13):
        logits, cache = modules.generate.forward_cached(model, tokens[:, :prompt])
        parts = [logits]
        for step in range(prompt, 13):
            logits, cache = modules.generate.forward_cached(model, tokens[:, step : step + 1], cache)
            parts.append(logits)
        close(torch.cat(parts, dim=1), expected)
        assert all(tensor.shape == (3, 3, 13, 6) for pair in cache for tensor in pair)


def test_filter_keeps_what_it_should(modules):
    filter_logits = modules.generate.filter_logits
    logits = torch.tensor([0.5, 0.25, 0.15, 0.1]).log()[torch.tensor([2, 0, 3, 1])]
    for options, kept in (
        ({"top_k": 2}, [False, True, False, True]),
        ({"top_k": 9}, [True] * 4),
        ({"top_p": 0.49}, [False, True, False, False]),
        ({"top_p": 0.51}, [False, True, False, True]),
        ({"top_p": 0.89}, [True, True, False, True]),
        ({"top_p": 1.0}, [True] * 4),
        ({"top_k": 3, "top_p": 0.8}, [False, True, False, True]),
    ):
        assert (filter_logits(logits, **options) > -math.inf).tolist() == kept, options
    close(filter_logits(logits, temperature=0.5).softmax(0), (2 * logits).softmax(0))


def test_greedy_text_is_that_of_the_whole_model(modules):
    model = language_model(modules)
    prompt = torch.randint(23, (2, 3))
    tokens = modules.generate.generate(model, prompt, 100)
    assert tokens.shape == (2, 13)
    close(tokens[:, 3:], model(tokens[:, :-1])[:, 2:].argmax(-1))
    assert modules.generate.generate(model, prompt, 0).tolist() == prompt.tolist()


def test_the_generator_alone_decides(modules):
    model, prompt = language_model(modules), torch.randint(23, (2, 3))

    def sample(seed: int):
        torch.manual_seed(torch.seed())
        generator = torch.Generator().manual_seed(seed)
        return modules.generate.generate(model, prompt, 8, generator, temperature=5.0).tolist()

    assert sample(1) == sample(1) != sample(2)

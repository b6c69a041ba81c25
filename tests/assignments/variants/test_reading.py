"""Attention weights that are read through the code of an attention are those that the formula gives."""

import math
from typing import Any

import pytest
import torch

from course.errors import UserError
from course.variants.reading import attention_weights, self_attention
from course.variants.trained import load_standins
from tests.assignments.variants.random_weights import randomise


def by_formula(attention, x, mask):
    q, k, _ = attention.W_qkv(x).unflatten(-1, (3, attention.num_heads, attention.d_head)).unbind(dim=2)
    scores = torch.einsum("bihd,bjhd->bhij", q, k) / math.sqrt(attention.d_head)
    return scores.masked_fill(mask[:, None], -math.inf).softmax(-1)


@pytest.mark.parametrize("T", [1, 3, 4, 9])
def test_weights_of_an_attention(modules, T):
    x, mask = torch.randn(2, T, 12), torch.ones(1, T, T, dtype=torch.bool).triu(1)
    for code in (modules, load_standins()):
        attention = randomise(code.heads.MultiHeadAttentionEfficient(12, 3, 0.3))
        with torch.no_grad():
            torch.testing.assert_close(attention_weights(attention, x, mask), by_formula(attention, x, mask))


def test_weights_of_the_three_kinds_of_models(modules):
    sizes = {"d_model": 12, "num_heads": 3, "num_layers": 2, "d_ff": 20, "dropout": 0.1}
    text = {"vocab_size": 11, "max_len": 8, "padding_idx": 1}
    tokens = torch.randint(11, (2, 5))
    decoder = randomise(modules.language_model.DecoderTransformer(**sizes, **text)).train()
    found = self_attention(decoder, tokens)
    assert decoder.training
    assert found.weights.shape == (2, 2, 3, 5, 5)
    assert found.forbidden.tolist() == torch.ones(1, 5, 5, dtype=torch.bool).triu(1).tolist()
    assert found.weights.triu(1).abs().max() == 0
    encoder = randomise(modules.tagger.EncoderTransformer(num_tags=2, **sizes, **text))
    found = self_attention(encoder, tokens, torch.tensor([5, 3]))
    assert found.weights[:, 1, ..., 3:].abs().max() == 0
    assert found.weights[:, 0].min() > 0
    assert found.forbidden[1].any(dim=0).tolist() == [False, False, False, True, True]
    images = randomise(modules.vit.ViT(img_size=4, patch_size=2, channels=1, num_classes=3, **sizes))
    found = self_attention(images, torch.randn(3, 1, 4, 4))
    assert found.weights.shape == (2, 3, 3, 5, 5)
    torch.testing.assert_close(found.weights.sum(-1), torch.ones(2, 3, 3, 5))
    assert not found.forbidden.any()


def test_code_that_cannot_be_read_is_named(modules):
    efficient: Any = modules.heads.MultiHeadAttentionEfficient

    class Closed(efficient):  # type: ignore[misc]
        def forward(self, x, mask=None):
            return x @ self.W_o.weight.T

    with pytest.raises(UserError, match=r"must call self\.W_o"):
        attention_weights(Closed(12, 3, 0.0), torch.randn(1, 4, 12))
    model = modules.vit.ViT(4, 2, 1, 3, 12, 3, 1, 20, 0.0)
    model.blocks[0].forward = lambda x: x
    with pytest.raises(UserError, match="never call their attention"):
        self_attention(model, torch.randn(1, 1, 4, 4))


@pytest.mark.parametrize("name", ["tagger", "vit"])
def test_standins_of_what_is_only_shown_equal_the_solution(modules, name):
    sizes: dict[str, Any] = {"d_model": 12, "num_heads": 3, "num_layers": 2, "d_ff": 20, "dropout": 0.1}
    inputs: tuple[torch.Tensor, ...]
    standins = load_standins()
    if name == "tagger":
        sizes |= {"vocab_size": 11, "max_len": 8, "padding_idx": 1, "num_tags": 3}
        models = [code.tagger.EncoderTransformer(**sizes) for code in (modules, standins)]
        inputs = torch.randint(11, (2, 5)), torch.tensor([5, 3])
        targets = torch.tensor([[1, 0, 2, 1, -100], [0, 1, 1, -100, -100]])
    else:
        sizes |= {"img_size": (4, 6), "patch_size": 2, "channels": 2, "num_classes": 3}
        models = [code.vit.ViT(**sizes) for code in (modules, standins)]
        inputs, targets = (torch.randn(2, 2, 4, 6),), torch.tensor([2, 0])
    models[1].load_state_dict(randomise(models[0]).state_dict())
    models[1].eval()
    with torch.no_grad():
        for results in zip(*(self_attention(model, *inputs).weights for model in models), strict=True):
            torch.testing.assert_close(*results)
        logits = [model(*inputs) for model in models]
        real = logits[0].new_ones(logits[0].shape[:-1]).bool()
        if name == "tagger":
            real[1, 3:] = False
        torch.testing.assert_close(logits[0][real], logits[1][real])
        torch.testing.assert_close(*(model.loss(*inputs, targets) for model in models))

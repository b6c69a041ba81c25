"""The reference modules against torch's own functions, and what the source documents got wrong."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tests.relatives.random_weights import randomise

SIZES = {
    "vocab_size": 23,
    "d_model": 18,
    "num_heads": 3,
    "num_layers": 2,
    "d_ff": 28,
    "max_len": 13,
    "dropout": 0.3,
    "padding_idx": 1,
}


def close(actual, expected, limit: float = 1e-12) -> None:
    torch.testing.assert_close(actual, expected, rtol=0, atol=limit)


def masks(B: int, T: int) -> list[torch.Tensor | None]:
    own = torch.rand(B, T, T) < 0.5
    own[..., 0] = False
    return [None, torch.ones(1, T, T).triu(1).bool(), own, own[:, :1]]


# Layers


@pytest.mark.parametrize("size", [1, 2, 8, 21])
def test_layer_norm_is_torchs(modules, size):
    """004-B5: the biased variance, eps under the root, and no NaN for a single feature."""
    ours, theirs = randomise(modules.layers.LayerNorm(size)), nn.LayerNorm(size)
    theirs.load_state_dict(ours.state_dict())
    for scale in (1e-3, 1.0, 100.0):
        x = scale * torch.randn(3, 4, size) + 2
        close(ours(x), theirs(x), 1e-11)


def test_gelu_is_torchs(modules):
    x = torch.linspace(-40, 40, 801)
    close(modules.layers.gelu(x), F.gelu(x))


# Heads


def test_simple_and_efficient_heads_are_torchs(modules):
    """004-B6: masks for all and for each sequence, with several sequences; and none at all."""
    simple = randomise(modules.heads.MultiHeadAttentionSimple(18, 3, 0.3))
    efficient = modules.heads.MultiHeadAttentionEfficient(18, 3, 0.3).eval()
    modules.heads.copy_weights(simple, efficient)
    theirs = nn.MultiheadAttention(18, 3, batch_first=True).eval()
    theirs.load_state_dict(
        {
            "in_proj_weight": efficient.W_qkv.weight,
            "in_proj_bias": efficient.W_qkv.bias,
            "out_proj.weight": efficient.W_o.weight,
            "out_proj.bias": efficient.W_o.bias,
        }
    )
    for B, T in ((1, 5), (3, 5), (3, 3), (2, 1)):
        x = torch.randn(B, T, 18)
        for mask in masks(B, T):
            given = None if mask is None else mask.expand(B, T, T).repeat_interleave(3, dim=0)
            expected, _ = theirs(x, x, x, attn_mask=given, need_weights=False)
            close(simple(x, mask), expected)
            close(efficient(x, mask), expected)


@pytest.mark.parametrize("kind", ["MultiHeadAttentionSimple", "MultiHeadAttentionEfficient"])
def test_a_sequence_that_is_all_padding_is_finite(modules, kind):
    """004-B8: minus infinity everywhere in a row gave NaN."""
    attention = randomise(getattr(modules.heads, kind)(18, 3, 0.0))
    x = torch.randn(2, 4, 18, requires_grad=True)
    y = attention(x, torch.tensor([True, False])[:, None, None].expand(2, 1, 4))
    assert y.isfinite().all()
    y.square().sum().backward()
    assert x.grad is not None
    assert x.grad.isfinite().all()


def test_heads_are_registered(modules):
    """004-B10: parameters of modules in a plain list get gradients, but nobody finds them."""
    attention = modules.heads.MultiHeadAttentionSimple(18, 3, 0.1)
    assert len(list(attention.parameters())) == 3 * 6 + 2

    class Plain(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.heads = list(attention.heads)

    assert not list(Plain().parameters())


# Language model


def language_model(modules, **changes):
    return randomise(modules.language_model.DecoderTransformer(**{**SIZES, **changes}))


def test_language_model_is_torchs(modules):
    """The same weights in torch's own layers give the same logits; 003-B12: it is the decoder that is tested."""
    model = language_model(modules)
    tokens = torch.randint(23, (3, 9))
    x = model.token_embedding(tokens) + model.position_embedding.weight[:9]
    for block in model.blocks:
        x = torch_layer(block)(x, src_mask=torch.ones(9, 9).triu(1).bool())
    close(model(tokens), F.layer_norm(x, (18,), model.norm.weight, model.norm.bias) @ model.token_embedding.weight.T)


def torch_layer(block) -> nn.TransformerEncoderLayer:
    """torch's own pre-norm layer with the weights of ours."""
    layer = nn.TransformerEncoderLayer(18, 3, 28, 0.0, F.gelu, batch_first=True, norm_first=True)
    network, attention = block.feed_forward, block.attention
    ours = {"linear1": network.fc1, "linear2": network.fc2, "norm1": block.norm1, "norm2": block.norm2}
    ours["self_attn.out_proj"] = attention.W_o
    state = {f"{name}.{kind}": getattr(part, kind) for name, part in ours.items() for kind in ("weight", "bias")}
    state |= {"self_attn.in_proj_weight": attention.W_qkv.weight, "self_attn.in_proj_bias": attention.W_qkv.bias}
    layer.load_state_dict(state)
    return layer


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


# Tagger


def test_tagger_sees_both_sides_and_no_padding(modules):
    sizes = {**SIZES, "num_tags": 4}
    model = randomise(modules.tagger.EncoderTransformer(**sizes))
    tokens, lengths = torch.randint(23, (3, 9)), torch.tensor([9, 5, 0])
    logits = model(tokens, lengths)
    assert logits.isfinite().all()
    close(model(tokens[1:2, :5], lengths[1:2])[0], logits[1, :5])
    other = tokens.clone()
    other[1, 4] = (other[1, 4] + 1) % 23
    assert not torch.allclose(model(other, lengths)[1, 0], logits[1, 0])
    other = tokens.clone()
    other[1, 5:] = 7
    close(model(other, lengths)[1, :5], logits[1, :5])
    with pytest.raises(ValueError, match=r"14.*13"):
        model(torch.zeros(1, 14, dtype=torch.long), torch.tensor([2]))


# Vision Transformer


@pytest.mark.parametrize(("size", "patch", "channels"), [((6, 9), 3, 2), ((4, 4), 2, 3), ((5, 3), 1, 1)])
def test_patches_are_those_of_a_convolution(modules, size, patch, channels):
    embedding = randomise(modules.vit.PatchEmbedding(size, patch, channels, 7))
    images = torch.randn(2, channels, *size)
    kernel = embedding.projection.weight.view(7, channels, patch, patch)
    expected = F.conv2d(images, kernel, embedding.projection.bias, stride=patch)  # (B, 7, rows, columns)
    close(embedding(images), expected.flatten(2).transpose(1, 2))
    with pytest.raises(ValueError, match=f"{size[0]} x {size[1]}"):
        embedding(torch.randn(2, channels, size[0], size[1] + patch))


def test_vit_is_torchs(modules):
    model = randomise(modules.vit.ViT((6, 9), 3, 2, 5, 18, 3, 2, 28, 0.3))
    images = torch.randn(4, 2, 6, 9)
    x = torch.cat([model.cls_token.expand(4, -1, -1), model.patch_embedding(images)], dim=1)
    x = x + model.position_embedding
    for block in model.blocks:
        x = torch_layer(block)(x)
    x = F.layer_norm(x[:, 0], (18,), model.norm.weight, model.norm.bias)
    close(model(images), model.output_layer(x))


# Training


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
def test_smoothed_loss_is_torchs(modules, smoothing):
    for scale in (1, 1000):
        logits, targets = scale * torch.randn(3, 5, 11), torch.randint(11, (3, 5))
        expected = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=4, label_smoothing=smoothing)
        close(modules.training.smoothed_loss(logits, targets, 4, smoothing), expected, 1e-9)


def test_rates(modules):
    """The rate of the paper of 2017 is the one of its formula, and cosine the one of torch."""
    rates = [modules.training.warmup_rate(step, 512**-0.5 * 4000**-0.5, 4000) for step in (1, 300, 4000, 90_000)]
    close(rates, [512**-0.5 * min(step**-0.5, step * 4000**-1.5) for step in (1, 300, 4000, 90_000)])
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=0.7)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 40, eta_min=0.1)
    for step in range(10, 51):
        close(modules.training.cosine_rate(step, 0.7, 10, 50, 0.1), optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    assert modules.training.cosine_rate(99, 0.7, 10, 50, 0.1) == 0.1
    close(modules.training.cosine_rate(5, 0.7, 10, 50, 0.1), 0.35)


@pytest.mark.parametrize("max_norm", [0.5, 1000.0])
def test_clipping_is_torchs(modules, max_norm):
    ours, theirs = ([nn.Parameter(torch.zeros(3, 4)), nn.Parameter(torch.zeros(5))] for _ in range(2))
    for one, other in zip(ours, theirs, strict=True):
        one.grad = torch.randn_like(one)
        other.grad = one.grad.clone()
    norm = modules.training.clip_gradients(iter([*ours, nn.Parameter(torch.ones(2))]), max_norm)
    close(norm, float(nn.utils.clip_grad_norm_(theirs, max_norm)))
    close([one.grad for one in ours], [other.grad for other in theirs], 1e-5)


def test_a_step_is_that_of_torch(modules):
    ours, theirs = (language_model(modules, dropout=0.0) for _ in range(2))
    batch = (torch.randint(2, 23, (4, 9)),)
    groups = [modules.training.parameter_groups(model, 0.1) for model in (ours, theirs)]
    one, other = (torch.optim.AdamW(group) for group in groups)
    for step in range(1, 4):
        loss = modules.training.train_step(ours, batch, one, 0.01 * step, 1.0)
        for group in other.param_groups:
            group["lr"] = 0.01 * step
        other.zero_grad()
        expected = theirs.loss(*batch)
        expected.backward()
        nn.utils.clip_grad_norm_(theirs.parameters(), 1.0)
        other.step()
        close(loss, expected.item(), 1e-7)  # torch adds 1e-6 to the norm
    close(list(ours.parameters()), list(theirs.parameters()), 1e-6)


def test_only_matrices_decay(modules):
    model = modules.vit.ViT(4, 2, 1, 3, 6, 2, 1, 8, 0.1)
    decaying, others = modules.training.parameter_groups(model, 0.2)
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    assert {names[id(parameter)] for parameter in decaying["params"]} == {
        "patch_embedding.projection.weight",
        "blocks.0.attention.W_qkv.weight",
        "blocks.0.attention.W_o.weight",
        "blocks.0.feed_forward.fc1.weight",
        "blocks.0.feed_forward.fc2.weight",
        "output_layer.weight",
    }
    assert len(decaying["params"]) + len(others["params"]) == len(names)
    assert (decaying["weight_decay"], others["weight_decay"]) == (0.2, 0.0)


# Today's models


def test_rms_norm_is_torchs(modules):
    ours = randomise(modules.modern.RMSNorm(9))
    x = torch.randn(3, 4, 9) + 1
    close(ours(x), F.rms_norm(x, (9,), ours.weight, 1e-5))


def test_rotation_keeps_lengths_and_depends_on_the_distance_only(modules):
    rotate, places = modules.modern.rotate, torch.tensor([0, 3, 500])
    x, y = torch.randn(2, 3, 8), torch.randn(2, 3, 8)
    close(rotate(x, places).norm(dim=-1), x.norm(dim=-1))
    close(rotate(x, places)[:, 0], x[:, 0])
    near = (rotate(x, places) * rotate(y, places + 2)).sum(-1)
    close((rotate(x, places + 77) * rotate(y, places + 79)).sum(-1), near, 1e-10)
    with pytest.raises(ValueError, match="7"):
        rotate(torch.randn(1, 7), torch.tensor([0]))


def test_as_many_groups_as_heads_are_multi_head_attention(modules):
    attention = randomise(modules.modern.GroupedQueryAttention(24, 4, 2))
    full = modules.modern.GroupedQueryAttention(24, 4, 4)
    state = attention.state_dict()
    for name in ("W_k.weight", "W_v.weight"):
        state[name] = state[name].view(2, 1, 6, 24).expand(2, 2, 6, 24).reshape(24, 24)
    full.load_state_dict(state)
    x = torch.randn(2, 7, 24)
    close(full(x)[0], attention(x)[0])


def test_modern_block_with_cache(modules):
    block = randomise(modules.modern.ModernBlock(24, 4, 2, 20))
    x = torch.randn(2, 7, 24)
    expected, _ = block(x)
    y, cache = block(x[:, :4])
    parts = [y]
    for step in range(4, 7):
        y, cache = block(x[:, step : step + 1], cache)
        parts.append(y)
    close(torch.cat(parts, dim=1), expected)
    assert cache[0].shape == (2, 2, 7, 6)

"""The reference modules against torch's own functions, and what the source documents got wrong."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tests.assignments.variants.comparing import SIZES, close, language_model, masks, torch_layer
from tests.assignments.variants.random_weights import randomise

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


@pytest.mark.parametrize(("half", "off"), [(torch.bfloat16, 0.03), (torch.float16, 0.005)])
def test_angles_and_squares_are_not_rounded_to_half_precision(modules, half, off):
    """In x's own type, angles beyond position 256 are wrong by whole radians, and the square of 300 is infinite."""
    x, places = torch.randn(300, 16).to(half), torch.arange(300)
    turned = modules.modern.rotate(x, places)
    assert turned.dtype == half
    close(turned.double(), modules.modern.rotate(x.double(), places), off)
    norm = modules.modern.RMSNorm(4).to(half)
    normalised = norm(torch.tensor([300.0, 1, 1, 1], dtype=half))
    assert normalised.dtype == half
    close(normalised.double(), torch.tensor([2.0, 0.00667, 0.00667, 0.00667]), off)


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

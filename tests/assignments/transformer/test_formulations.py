"""Correct modules written in other ways agree with the solution; mistakes do not."""

import itertools
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from autograder.assignments.transformer.formulations import FORMULATIONS
from autograder.assignments.transformer.formulations.mha import SDPA
from autograder.authoring.formulations import Formulation
from autograder.manifest import assignment
from autograder.submissions.read_submission import read_submission
from course.errors import UserError
from course.location import ENGINE as ROOT
from course.modules import load_modules
from tests.support.programs import write_program
from tests.support.random_models import SIZES, assert_close, random_batch, random_mask, run, twins

SOLUTION = ROOT / "solutions" / "transformer"
SOURCES = read_submission(SOLUTION, assignment("transformer")).sources
# The largest differences that the grader accepts, see `autograder.diagnosis.compare_tensors`.
LIMIT, OWN_ENCODING_LIMIT, FLOAT32_LIMIT = 1e-5, 1e-3, 1e-3
OTHER_SIZES = {**SIZES, "d_model": 20, "num_heads": 2, "num_layers": 3, "d_ff": 11, "max_seq_length": 9}


@pytest.fixture(scope="module")
def solution():
    return load_modules(SOLUTION)


@pytest.fixture(autouse=True)
def _float64():
    threads, dtype = torch.get_num_threads(), torch.get_default_dtype()
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_num_threads(threads)
    torch.set_default_dtype(dtype)


def load(formulation: Formulation, folder: Path) -> SimpleNamespace:
    for name, source in formulation.apply(SOURCES).items():
        (folder / f"{name}.py").write_text(source, encoding="utf-8")
    return load_modules(folder)


def check(actual: Any, expected: Any, limit: float = LIMIT) -> None:
    torch.testing.assert_close(actual, expected, rtol=0, atol=limit)


def check_attention(solution: SimpleNamespace, variant: SimpleNamespace, finite: bool = True) -> None:
    for B, H, d_k, T_q, T_k in [(1, 3, 5, 1, 6), (3, 3, 6, 5, 5), (2, 1, 7, 3, 4), (5, 2, 5, 5, 5)]:
        one, other = twins("mha.MultiHeadAttention", solution, variant, H * d_k, H)
        torch.manual_seed(1)
        inputs = [torch.randn(B, T, H * d_k) for T in (T_q, T_k, T_k)]
        heads = one.compute_mh_qkv_transformation(*inputs)
        check(other.compute_mh_qkv_transformation(*inputs), heads)
        padding = [None, random_mask(B, T_k, seed=2), random_mask(B, T_k, seed=3) != 0]
        attention = [None, random_mask(1, T_q, T_k, seed=4), random_mask(B, T_q, T_k, seed=5) != 0]
        for masks in itertools.product(padding, attention):
            before = [tensor.clone() for tensor in (*heads, *(mask for mask in masks if mask is not None))]
            check(
                other.compute_scaled_dot_product_attention(*heads, *masks),
                one.compute_scaled_dot_product_attention(*heads, *masks),
            )
            check([*heads, *(mask for mask in masks if mask is not None)], before, 0.0)
            check(other(*inputs, *masks), one(*inputs, *masks))

    query, key, value = heads
    mask = torch.tensor([0, 0, 0, 3, 1]).expand(5, 5)
    loud = mask[:, None, :, None] != 0
    quiet = other.compute_scaled_dot_product_attention(query, key, value, mask)
    masked = torch.where(loud, 10 * key, key), torch.where(loud, value + 1e4, value)
    check(other.compute_scaled_dot_product_attention(query, *masked, mask), quiet)
    if finite:
        assert other.compute_scaled_dot_product_attention(query, key, value, torch.ones(5, 5)).isfinite().all()


def check_encoding(solution: SimpleNamespace, variant: SimpleNamespace) -> None:
    for sizes in [(6, 9), (7, 12), (33, 200), (64, 1)]:
        one, other = (modules.pe.PositionalEncoding(*sizes) for modules in (solution, variant))
        assert list(other.state_dict()) == ["pe"]
        assert not list(other.parameters())
        check(other.pe, one.pe, OWN_ENCODING_LIMIT)
        for T in {1, sizes[1]}:
            x = torch.randn(3, T, sizes[0])
            before = x.clone()
            check(other(x), one(x), OWN_ENCODING_LIMIT)
            check(x, before, 0.0)


class Louder(nn.Module):
    """Takes the place of dropout, to show in evaluation mode where it stands."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return 1.25 * x


def with_louder_dropout(model: nn.Module) -> Any:
    for module in list(model.modules()):
        if isinstance(getattr(module, "dropout", None), nn.Dropout):
            module.dropout = Louder()
    return model


def check_layers(solution: SimpleNamespace, variant: SimpleNamespace) -> None:
    """The layers alone: without causal mask, with each mask, without cross-attention, one step with any cache."""
    torch.manual_seed(1)
    x, memory, cache = torch.randn(3, 5, 18), torch.randn(3, 4, 18), torch.randn(3, 4, 18)
    padding, memory_padding = random_mask(3, 5, seed=2), random_mask(3, 4, seed=3)
    causal, own = torch.ones(1, 5, 5).triu(1).long(), random_mask(3, 5, 5, seed=4)
    before = [tensor.clone() for tensor in (x, memory, cache, padding, memory_padding, causal, own)]

    def both(name: str, **named: Any) -> tuple[Any, Any]:
        one, other = twins(name, solution, variant, 18, 28, 3, 0.3, **named)
        return with_louder_dropout(one), with_louder_dropout(other)

    one, other = both("encoder.TransformerEncoderLayer")
    for mask in (None, padding, padding != 0):
        check(other(x, mask), one(x, mask))
    with_memory = both("decoder.TransformerDecoderLayer"), memory, [None, memory_padding]
    alone = both("decoder.TransformerDecoderLayer", no_encoder_attn=True), None, [None]
    for (one, other), encoder_out, encoder_masks in (with_memory, alone):
        for masks in itertools.product(encoder_masks, [None, padding], [None, causal, own]):
            check(other(x, encoder_out, *masks), one(x, encoder_out, *masks))
            for known in (None, cache):
                expected = one.forward_one_step_ec(x, encoder_out, *masks, cache=known)
                check(other.forward_one_step_ec(x, encoder_out, *masks, cache=known), expected)
    check([x, memory, cache, padding, memory_padding, causal, own], before, 0.0)


def check_model(solution: SimpleNamespace, variant: SimpleNamespace, sizes: dict[str, Any] = SIZES) -> None:
    """Encoder, masks, logits, gradients, and the place of dropout."""
    one, other = twins("transformer.Transformer", solution, variant, **sizes)
    assert_close(run(other, random_batch()), run(one, random_batch()), LIMIT)
    with_louder_dropout(one), with_louder_dropout(other)
    assert_close(run(other, random_batch(1)), run(one, random_batch(1)), LIMIT)


def check_float32(solution: SimpleNamespace, variant: SimpleNamespace) -> None:
    torch.set_default_dtype(torch.float32)
    one, other = twins("transformer.Transformer", solution, variant, **SIZES)
    assert_close(run(other, random_batch()), run(one, random_batch()), FLOAT32_LIMIT)


def check_own_encoding(solution: SimpleNamespace, variant: SimpleNamespace) -> None:
    """The whole model with the encoding that the variant computes, instead of the one in the checkpoint."""
    one, other = twins("transformer.Transformer", solution, variant, **SIZES)
    other.positional_encoding.pe = variant.pe.PositionalEncoding(SIZES["d_model"], SIZES["max_seq_length"]).pe
    batch = random_batch()
    actual, expected = (model(batch.src, batch.tgt, batch.src_lengths, batch.tgt_lengths) for model in (other, one))
    check(actual, expected, OWN_ENCODING_LIMIT)


@torch.no_grad()
def check_inference(solution: SimpleNamespace, variant: SimpleNamespace) -> None:
    """Greedy decoding of sentences of which some end with eos and some at the limit; states in the caches."""
    one, other = twins("transformer.Transformer", solution, variant, **SIZES)
    batch, limit = random_batch(), 6
    decoded, _ = one.inference(batch.src, batch.src_lengths, limit)
    one.eos_idx = other.eos_idx = int(decoded[0][3])
    decoded, caches = one.inference(batch.src, batch.src_lengths, limit)
    assert len({len(tokens) for tokens in decoded}) > 1
    assert max(len(tokens) for tokens in decoded) == limit + 1
    check(other.inference(batch.src, batch.src_lengths, limit), (decoded, caches))

    # A step of the decoder gives a new list and leaves the old one as it was.
    x, memory, old = torch.randn(1, 3, 18), torch.randn(1, 4, 18), [torch.randn(1, 2, 18) for _ in range(2)]
    before = [tensor.clone() for tensor in old]
    masks = random_mask(1, 3, seed=2), random_mask(1, 3, 3, seed=3)
    expected, new = one.decoder.forward_one_step_ec(x, *masks, memory, cache=old)
    check(other.decoder.forward_one_step_ec(x, *masks, memory, cache=old), (expected, new))
    check(old, before, 0.0)


@pytest.mark.parametrize("name", ["einsum", "loops"])
def test_complete_submission(solution, name, tmp_path):
    write_program(tmp_path, name)
    variant = load_modules(tmp_path)
    check_attention(solution, variant)
    check_encoding(solution, variant)
    check_layers(solution, variant)
    check_model(solution, variant)
    check_model(solution, variant, OTHER_SIZES)
    check_own_encoding(solution, variant)
    check_inference(solution, variant)
    check_float32(solution, variant)


@pytest.mark.parametrize("formulation", FORMULATIONS, ids=lambda formulation: formulation.id)
def test_formulation(solution, tmp_path, formulation):
    variant = load(formulation, tmp_path)
    if formulation.module == "mha":
        check_attention(solution, variant, formulation.finite)
    elif formulation.module == "pe":
        check_encoding(solution, variant)
        check_own_encoding(solution, variant)
    else:
        check_layers(solution, variant)
        check_inference(solution, variant)
    check_model(solution, variant)
    check_float32(solution, variant)


def test_formulations_have_names_of_their_own():
    names = [formulation.id for formulation in FORMULATIONS]
    assert len(set(names)) == len(names) >= 20


def attention_with(scale: str, padding: str) -> dict[str, tuple[str, ...]]:
    text = f"""
        scores = query @ key.mT / math.sqrt({scale})
        if key_padding_mask is not None:
            scores = scores.masked_fill({padding}, -1e9)
        if attention_mask is not None:
            scores = scores.masked_fill(attention_mask[:, None] != 0, -1e9)
        x = scores.softmax(-1) @ value
    """
    return {SDPA: (text,)}


@pytest.mark.parametrize(
    ("module", "regions", "checked"),
    [
        ("mha", attention_with("self.d_model", "key_padding_mask[:, None, None] != 0"), check_attention),
        ("mha", attention_with("self.d_k", "key_padding_mask[:, None, None] == 1"), check_attention),
        ("mha", attention_with("self.d_k", "key_padding_mask[:, None, :, None] != 0"), check_model),
        ("pe", {"PositionalEncoding.forward": ("x += self.pe[:, :T]\nreturn x",)}, check_encoding),
        (
            "encoder",
            {
                "TransformerEncoderLayer.forward": (
                    "x = self.self_attn_layer_norm(x + self.self_attn(x, x, x, self_attn_padding_mask))",
                    "x = self.final_layer_norm(x + self.dropout(self.fc2(self.activation_fn(self.fc1(x)))))",
                )
            },
            check_model,
        ),
        (
            "decoder",
            {
                "TransformerDecoderLayer.forward_one_step_ec": (
                    "return self.forward(x, encoder_out, encoder_padding_mask, self_attn_padding_mask, self_attn_mask)",
                )
            },
            check_layers,
        ),
    ],
)
def test_the_checks_see_mistakes(solution, tmp_path, module, regions, checked):
    variant = load(Formulation("mistake", module, regions), tmp_path)
    with pytest.raises((AssertionError, RuntimeError)):
        checked(solution, variant)


def test_a_formulation_has_to_fit_the_regions():
    with pytest.raises(UserError, match=r"2 text.* for the 1 region.* of PositionalEncoding\.forward in pe"):
        Formulation("surplus", "pe", {"PositionalEncoding.forward": ("return x", "return x")}).apply(SOURCES)
    with pytest.raises(UserError, match=r"1 text.* for the 2 region.* of TransformerEncoderLayer\.forward"):
        Formulation("short", "encoder", {"TransformerEncoderLayer.forward": ("pass",)}).apply(SOURCES)

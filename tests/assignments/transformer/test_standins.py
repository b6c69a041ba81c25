"""The stand-ins compute what the solution computes, and work beside modules that are not stand-ins."""

import ast
import inspect
import itertools
import shutil
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch

from autograder.manifest import assignment, assignments
from autograder.sandbox.wire import STANDIN
from autograder.submissions.read_submission import read_submission
from autograder.submissions.stage_with_standins import code_of_stage
from autograder.submissions.syntax_tree import functions
from course.location import ENGINE as ROOT
from course.modules import MODULE_NAMES, load_modules
from tests.support.random_models import SIZES, assert_close, random_batch, random_mask, randomise, run, twins

SOLUTION, STANDINS = (
    ROOT / "solutions" / "transformer",
    ROOT / "autograder" / "assignments" / "transformer" / "standins",
)
LIMIT = 1e-10


@pytest.fixture(scope="module")
def solution():
    return load_modules(SOLUTION)


@pytest.fixture(scope="module")
def standins():
    return load_modules(STANDINS)


@pytest.mark.parametrize("name", assignments())
def test_a_stage_gets_stand_ins_without_what_it_or_later_ones_write(name):
    """And with all that they hold beside that, as it stands in the file."""
    chosen = assignment(name)
    sources = read_submission(chosen.solution, chosen)
    for stage in chosen.stages:
        code = code_of_stage(sources, stage, chosen, {})
        later = [other for other in chosen.stages if other is not stage and other.name not in stage.builds_on]
        for module, text in code.sources.items():
            if module in code.modules:
                continue
            file = module.removeprefix(STANDIN)
            gone = {path for other in later for path in other.writes} | set(stage.writes if module != file else ())
            whole = functions(file, (chosen.standins / f"{file}.py").read_text(encoding="utf-8"))
            left = {path: ast.unparse(node) for path, node in functions(file, text).items()}
            assert left == {path: ast.unparse(node) for path, node in whole.items() if path not in gone}


@pytest.fixture(autouse=True)
def _float64():
    threads, dtype = torch.get_num_threads(), torch.get_default_dtype()
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_num_threads(threads)
    torch.set_default_dtype(dtype)


def check(actual, expected) -> None:
    torch.testing.assert_close(actual, expected, rtol=0, atol=LIMIT)


def check_gradients(one, other, results, inputs=()) -> None:
    """Compare the gradients of two results with respect to the parameters and the inputs."""
    weights = torch.randn_like(results[0])
    gradients = [
        torch.autograd.grad((weights * result).sum(), [*model.parameters(), *inputs], allow_unused=True)
        for model, result in zip((one, other), results, strict=True)
    ]
    assert any(gradient is not None for gradient in gradients[0])
    check(gradients[1], gradients[0])


def test_interface_is_that_of_the_solution(solution, standins):
    for name in MODULE_NAMES:
        theirs, ours = getattr(solution, name), getattr(standins, name)
        public = {key: value for key, value in vars(theirs).items() if getattr(value, "__module__", "") == name}
        assert public
        for key, value in public.items():
            standin = getattr(ours, key)
            if inspect.isfunction(value):
                assert inspect.signature(standin) == inspect.signature(value)
                continue
            for method in (m for m, f in vars(value).items() if inspect.isfunction(f)):
                if method not in {"forward_one_step_ec", "inference"}:
                    expected = inspect.signature(getattr(value, method)).parameters
                    actual = inspect.signature(getattr(standin, method)).parameters
                    assert [(p.name, p.default) for p in actual.values()] == [
                        (p.name, p.default) for p in expected.values()
                    ], f"{name}.{key}.{method}"


ATTENTION_SIZES = [(1, 3, 5, 4, 6), (3, 3, 6, 5, 5), (2, 1, 7, 3, 4), (4, 2, 3, 1, 5), (5, 2, 5, 5, 5)]


@pytest.mark.parametrize(("B", "H", "d_k", "T_q", "T_k"), ATTENTION_SIZES)
def test_attention(solution, standins, B, H, d_k, T_q, T_k):
    one, other = twins("mha.MultiHeadAttention", solution, standins, H * d_k, H)
    torch.manual_seed(1)
    query = torch.randn(B, T_q, H * d_k, requires_grad=True)
    key, value = (torch.randn(B, T_k, H * d_k, requires_grad=True) for _ in range(2))
    heads = one.compute_mh_qkv_transformation(query, key, value)
    check(other.compute_mh_qkv_transformation(query, key, value), heads)

    padding = [None, random_mask(B, T_k, seed=2), random_mask(B, T_k, seed=3) != 0]
    attention = [None, random_mask(1, T_q, T_k, seed=4), random_mask(B, T_q, T_k, seed=5) != 0]
    for masks in itertools.product(padding, attention):
        merged = [model.compute_scaled_dot_product_attention(*heads, *masks) for model in (one, other)]
        check(merged[1], merged[0])
        results = [
            model(query, key, value, key_padding_mask=masks[0], attention_mask=masks[1]) for model in (one, other)
        ]
        check(results[1], results[0])
        check_gradients(one, other, results, (query, key, value))


def test_masked_keys_have_no_influence_however_large(solution, standins):
    one, other = twins("mha.MultiHeadAttention", solution, standins, 18, 3)
    torch.manual_seed(1)
    x, mask = torch.randn(2, 5, 18), torch.tensor([[0, 0, 0, 4, 1], [0, 0, 0, 0, 2]])
    loud = torch.where(mask[..., None] != 0, 10 * x + 1e4, x)
    check(other(x, x, loud, mask), other(x, x, x, mask))
    check(other(x, loud, loud, mask), one(x, x, x, mask))


def test_fully_masked_query_is_finite(standins):
    attention = randomise(standins.mha.MultiHeadAttention(18, 3), seed=0)
    encoder = randomise(standins.encoder.TransformerEncoderLayer(18, 28, 2, 0.1), seed=0)
    decoder = randomise(standins.decoder.TransformerDecoderLayer(18, 28, 2), seed=0)
    torch.manual_seed(1)
    x, padding = torch.randn(2, 4, 18, requires_grad=True), torch.tensor([[1, 1, 1, 1], [0, 0, 1, 1]])
    forbidden = torch.tensor([[1, 1, 1, 1], [0, 1, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1]])[None]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for gradients in (True, False):  # without gradients torch's layers would like to use their fused kernels
            with torch.set_grad_enabled(gradients):
                results = [
                    attention(x, x, x, padding, forbidden),
                    encoder(x, padding),
                    decoder(x, x, padding, padding, forbidden),
                ]
            assert all(result.isfinite().all() for result in results)
            if gradients:
                (gradient,) = torch.autograd.grad(sum(result.sin().sum() for result in results), x)
                assert gradient.isfinite().all()


def test_a_mask_of_another_shape_is_named(standins):
    attention = standins.mha.MultiHeadAttention(18, 3)
    x = torch.randn(2, 4, 18)
    with pytest.raises(
        ValueError, match=r"needs an attention_mask of shape \(2, 4, 4\) \(any dimension may be 1\), but got \(4, 4\)"
    ):
        attention(x, x, x, None, torch.zeros(4, 4))
    with pytest.raises(
        ValueError, match=r"needs a key_padding_mask of shape \(2, 4\) \(any dimension may be 1\), but got \(2, 3\)"
    ):
        attention(x, x, x, torch.zeros(2, 3))


@pytest.mark.parametrize(("d_model", "max_seq_length"), [(6, 9), (7, 12), (1, 5), (33, 200), (64, 1)])
def test_positional_encoding(solution, standins, d_model, max_seq_length):
    one, other = (
        modules.pe.PositionalEncoding(d_model, max_seq_length=max_seq_length) for modules in (solution, standins)
    )
    check(other.state_dict(), one.state_dict())
    for T in {1, max_seq_length}:
        x = torch.randn(3, T, d_model)
        check(other(x), one(x))
    with pytest.raises(ValueError, match="positions"):
        other(torch.randn(1, max_seq_length + 1, d_model))


@pytest.mark.parametrize("training", [False, True])
def test_layers(solution, standins, training):
    """In training mode, the same random numbers drop the same elements."""
    torch.manual_seed(1)
    x, memory = torch.randn(3, 5, 18, requires_grad=True), torch.randn(3, 4, 18, requires_grad=True)
    padding, memory_padding = random_mask(3, 5, seed=2), random_mask(3, 4, seed=3)
    causal = torch.ones(1, 5, 5).triu(1).long()
    cases: list[tuple[str, list[Any], dict[str, Any], list[Any]]] = [
        ("encoder.TransformerEncoderLayer", [18, 28, 3, 0.3], {}, [x]),
        ("encoder.TransformerEncoderLayer", [18, 28, 3, 0.3], {}, [x, padding]),
        ("decoder.TransformerDecoderLayer", [18, 28, 3, 0.3], {}, [x, memory]),
        ("decoder.TransformerDecoderLayer", [18, 28, 3, 0.3], {}, [x, memory, memory_padding, padding, causal]),
        ("decoder.TransformerDecoderLayer", [18, 28, 3], {"no_encoder_attn": True}, [x, None, None, padding, causal]),
        ("encoder.TransformerEncoder", [2, 18, 28, 3], {"output_layer_size": 7}, [x, padding]),
        ("decoder.TransformerDecoder", [2, 18, 28, 3], {}, [x, padding, causal, memory, memory_padding]),
        ("decoder.TransformerDecoder", [2, 18, 28, 3, 0.3, True, 7], {}, [x, padding, causal]),
    ]
    for name, sizes, named, inputs in cases:
        results = []
        one, other = twins(name, solution, standins, *sizes, **named)
        for model in (one, other):
            torch.manual_seed(4)
            results.append(model.train(training)(*inputs))
        check(results[1], results[0])
        check_gradients(one, other, results, (x, memory))
        if training:
            assert not torch.allclose(other(*inputs), other(*inputs))


def test_transformer(solution, standins):
    one, other = twins("transformer.Transformer", solution, standins, **SIZES)
    for seed in range(3):
        batch = random_batch(seed)
        assert_close(run(other, batch), run(one, batch), LIMIT)


def test_masks_of_the_transformer(solution, standins):
    for lengths in ([3, 4, 5], torch.tensor([1, 6]), torch.tensor([2]).numpy()):
        for dtype in (torch.long, torch.bool, torch.float32):
            masks = [m.transformer.length_to_padding_mask(lengths, dtype=dtype) for m in (solution, standins)]
            check(masks[1], masks[0])
            causal = [m.transformer.subsequent_mask(len(lengths), dtype=dtype) for m in (solution, standins)]
            check(causal[1], causal[0])


def test_float32(solution, standins):
    torch.set_default_dtype(torch.float32)
    one, other = twins("transformer.Transformer", solution, standins, **SIZES)
    result = run(other, random_batch())
    assert result["logits"].dtype == torch.float32
    assert_close(result, run(one, random_batch()), 1e-3)


@pytest.mark.parametrize("from_solution", [("mha", "pe"), ("encoder",), ("decoder",), ("transformer",)])
def test_beside_other_modules(solution, tmp_path: Path, from_solution):
    for name in MODULE_NAMES:
        folder = SOLUTION if name in from_solution else STANDINS
        shutil.copyfile(folder / f"{name}.py", tmp_path / f"{name}.py")
    one, other = twins("transformer.Transformer", solution, load_modules(tmp_path), **SIZES)
    assert_close(run(other, random_batch()), run(one, random_batch()), LIMIT)


def test_methods_in_other_classes(solution, standins):
    """The grader puts single methods of the stand-ins into the student's classes."""
    patched = load_modules(SOLUTION)
    for path in (
        "transformer.Transformer.forward_encoder",
        "transformer.Transformer.forward_decoder",
        "decoder.TransformerDecoderLayer.forward",
        "encoder.TransformerEncoderLayer.forward",
        "mha.MultiHeadAttention.compute_mh_qkv_transformation",
        "mha.MultiHeadAttention.compute_scaled_dot_product_attention",
        "pe.PositionalEncoding.forward",
    ):
        module, class_name, method = path.split(".")
        standin = getattr(getattr(standins, module), class_name)
        setattr(getattr(getattr(patched, module), class_name), method, getattr(standin, method))
    one, other = twins("transformer.Transformer", solution, patched, **SIZES)
    assert_close(run(other, random_batch()), run(one, random_batch()), LIMIT)
    # One step is the student's own and works with the layer's replaced `forward`.
    with torch.no_grad():
        expected, actual = (
            model.inference(random_batch().src, random_batch().src_lengths, 4) for model in (one, other)
        )
    check(actual, expected)

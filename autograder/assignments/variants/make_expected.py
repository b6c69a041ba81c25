"""The stored tensors of the visible tests: inputs and the reference's results (`make expected`)."""

import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import numpy as np

from autograder.assignments.variants.trained import CHECKPOINT, trained_sizes
from autograder.assignments.variants.visible import cases
from autograder.assignments.variants.weights import random_weight
from autograder.grading.graded_case import DROPPED, KEPT
from autograder.manifest import assignment
from course.config import WEIGHTS
from course.location import checkpoints
from course.modules import load_modules

if TYPE_CHECKING:
    import torch

Tensors = dict[str, Any]
COLUMNS = 200  # of the vocabulary, in the test of the trained model
# Our own text, which the trained model reads as tokens of the checkpoint.
TEXT = "There was once a young miller who had nothing in the world but a donkey, and every night the donkey talked."


PATCHES = ("img_size", "patch_size", "channels", "d_model")


class Maker:
    """A source of numbers and weights that uses a single random generator."""

    def __init__(self, modules: SimpleNamespace) -> None:
        self.modules = modules
        self.rng = np.random.Generator(np.random.PCG64(20170612))

    def random(self, *shape: int) -> "torch.Tensor":
        import torch

        return torch.from_numpy(self.rng.standard_normal(shape))

    def integers(self, high: int, *shape: int) -> "torch.Tensor":
        import torch

        return torch.from_numpy(self.rng.integers(high, size=shape))

    def filled(self, model: Any) -> Any:
        """A model with random weights, in evaluation mode."""
        import torch

        state = model.state_dict()
        weights = {name: random_weight(self.rng, name, tuple(weight.shape)) for name, weight in state.items()}
        model.load_state_dict({name: torch.from_numpy(weight) for name, weight in weights.items()})
        return model.double().eval()

    def dropping(self, model: Any, *arguments: Any) -> Tensors:
        """A model's outputs in training mode when dropout keeps every element, and when it drops every element."""
        from torch import nn

        from autograder.worker.deterministic_dropout import deterministic_dropout

        tensors, parts = {}, [part for part in model.modules() if isinstance(part, nn.Dropout)]
        usual = [part.p for part in parts]
        model.train()
        for done, p in (("keeps", KEPT), ("drops", DROPPED)):
            for part in parts:
                part.p = p
            with deterministic_dropout():
                tensors[done] = model(*arguments)
        for part, p in zip(parts, usual, strict=True):
            part.p = p
        model.eval()
        return tensors

    def masks(self, B: int, T: int) -> Tensors:
        """A mask of each shape; in the mask that differs between sequences, the diagonal stays allowed."""
        import torch

        own = torch.from_numpy(self.rng.random((B, T, T)) < 0.4) & ~torch.eye(T, dtype=torch.bool)
        lengths = torch.tensor(cases.LENGTHS).roll(1)  # so that the first sequence has padding
        return {
            "causal": torch.ones(T, T).triu(1).bool()[None],
            "own": own,
            "padding": (torch.arange(T) >= lengths[:, None])[:, None],
        }


def named(prefix: str, tensors: Tensors) -> Tensors:
    return {f"{prefix}/{name}": tensor for name, tensor in tensors.items()}


def layers(make: Maker) -> Tensors:
    tensors: Tensors = {}
    for case, size, scale in (("norm", 12, 3.0), ("small", 12, 3e-3), ("single", 1, 1.0)):
        norm = make.filled(make.modules.layers.LayerNorm(size))
        x = scale * (make.random(2, 5, size) + 2)
        tensors |= named(case, {"x": x, "output": norm(x)}) | named(f"{case}_weights", norm.state_dict())
    x = make.random(4, 50).mul(2)
    network = make.filled(make.modules.layers.FeedForward(cases.D_MODEL, cases.D_FF, 0.1))
    hidden = make.random(2, 4, cases.D_MODEL)
    return (
        tensors
        | named("gelu", {"x": x, "output": make.modules.layers.gelu(x)})
        | named("feed_forward", {"x": hidden, "output": network(hidden)} | make.dropping(network, hidden))
        | named("feed_forward_weights", network.state_dict())
    )


def heads(make: Maker) -> Tensors:
    from torch.func import functional_call

    B, T = len(cases.LENGTHS), max(cases.LENGTHS)
    kinds = {
        "head": make.modules.heads.AttentionHead(cases.D_MODEL, cases.D_MODEL // cases.HEADS, 0.1),
        "simple": make.modules.heads.MultiHeadAttentionSimple(cases.D_MODEL, cases.HEADS, 0.1),
        "efficient": make.modules.heads.MultiHeadAttentionEfficient(cases.D_MODEL, cases.HEADS, 0.1),
    }
    x, masks = make.random(B, T, cases.D_MODEL), make.masks(B, T)
    tensors = {"inputs/x": x, **named("masks", masks)}
    for kind, attention in kinds.items():
        make.filled(attention)
        outputs = {name: attention(x, mask) for name, mask in masks.items()} | {"none": attention(x)}
        outputs |= make.dropping(attention, x)
        tensors |= named(f"{kind}_weights", attention.state_dict()) | named(kind, outputs)
        weights = {name: cases.without_queries(name, values) for name, values in attention.state_dict().items()}
        tensors |= {f"{kind}_even/padding": functional_call(attention, weights, (x, masks["padding"]))}
    return tensors


def lm(make: Maker) -> Tensors:
    import torch
    from safetensors.torch import load_file

    from course.text import Tokenizer

    B, T = len(cases.LENGTHS), max(cases.LENGTHS)
    block = make.filled(make.modules.language_model.Block(cases.D_MODEL, cases.HEADS, cases.D_FF, 0.1))
    x, masks = make.random(B, T, cases.D_MODEL), make.masks(B, T)
    model = make.filled(make.modules.language_model.DecoderTransformer(**cases.MODEL))
    tokens = make.integers(cases.MODEL["vocab_size"], B, cases.MODEL["max_len"])
    padded = tokens[:, :T].masked_fill(masks["padding"][:, 0], cases.MODEL["padding_idx"])
    trained = make.modules.language_model.DecoderTransformer(**trained_sizes())
    trained.load_state_dict(load_file(checkpoints() / CHECKPOINT / WEIGHTS))
    text = torch.tensor([Tokenizer(checkpoints() / CHECKPOINT / "tokenizer.model").encode(TEXT)[:-1]])
    logits = trained.double().eval()(text)
    columns = torch.from_numpy(np.sort(make.rng.choice(logits.size(-1), size=COLUMNS, replace=False)))
    return (
        named("block_weights", block.state_dict())
        | named("block", {"x": x, "causal": block(x, masks["causal"]), "padding": block(x, masks["padding"])})
        | named("block", make.dropping(block, x, masks["causal"]))
        | named("masks", masks)
        | named("weights", model.state_dict())
        | named("model", {"tokens": tokens, "logits": model(tokens), "single": model(tokens[:, :1])})
        | named("model", make.dropping(model, tokens))
        | named(
            "loss",
            {"tokens": padded, "loss": model.loss(padded), "longest": model.loss(torch.cat([tokens] * 2, 1)[:, :13])},
        )
        | named("trained", {"tokens": text, "columns": columns, "logits": logits[..., columns]})
    )


def generate(make: Maker) -> Tensors:
    import torch

    code = make.modules.generate
    model = make.filled(make.modules.language_model.DecoderTransformer(**cases.MODEL))
    tokens = make.integers(cases.MODEL["vocab_size"], 2, cases.MODEL["max_len"])
    logits, cache = code.forward_cached(model, tokens[:, :5])
    tensors = {"prompt/tokens": tokens[:, :5], "prompt/logits": logits}
    tensors |= {f"prompt/{n}.{kind}": pair[kind] for n, pair in enumerate(cache) for kind in (0, 1)}
    for step in range(5, 8):
        logits, cache = code.forward_cached(model, tokens[:, step : step + 1], cache)
        tensors |= {f"step{step}/token": tokens[:, step : step + 1], f"step{step}/logits": logits}
        tensors |= {f"step{step}/{n}.{kind}": pair[kind] for n, pair in enumerate(cache) for kind in (0, 1)}
    scores = 2 * make.random(3, 17)
    for case, options in cases.FILTERS.items():
        tensors[f"filter/{case}"] = torch.softmax(code.filter_logits(scores, **options), dim=-1)
    # With so many rows, sampled tokens are hardly ever all the best tokens.
    prompt = torch.cat([tokens[:, :4], make.integers(cases.MODEL["vocab_size"], 6, 4)])
    greedy = code.generate(model, prompt, 20)
    return tensors | {
        **named("weights", model.state_dict()),
        "filter/logits": scores,
        "greedy/prompt": prompt,
        "greedy/tokens": greedy,
    }


def tagger(make: Maker) -> Tensors:
    import torch

    model = make.filled(make.modules.tagger.EncoderTransformer(num_tags=4, **cases.MODEL))
    tokens, lengths = make.integers(cases.MODEL["vocab_size"], 3, cases.MODEL["max_len"]), torch.tensor(cases.LENGTHS)
    short = tokens[:, : max(cases.LENGTHS)]
    outputs = {"logits": model(tokens, lengths), "short": model(short, lengths)}
    return (
        named("weights", model.state_dict())
        | named("model", {"tokens": tokens, "lengths": lengths} | outputs)
        | named("model", make.dropping(model, short, lengths))
    )


def vit(make: Maker) -> Tensors:
    embedding = make.filled(make.modules.vit.PatchEmbedding(*(cases.VIT[size] for size in PATCHES)))
    block = make.filled(make.modules.vit.ViTBlock(cases.D_MODEL, cases.HEADS, cases.D_FF, 0.1))
    model = make.filled(make.modules.vit.ViT(**cases.VIT))
    images, x = make.random(3, cases.VIT["channels"], *cases.VIT["img_size"]), make.random(2, 5, cases.D_MODEL)
    return (
        named("patches_weights", embedding.state_dict())
        | named("patches", {"images": images, "patches": embedding(images)})
        | named("block_weights", block.state_dict())
        | named("block", {"x": x, "output": block(x)} | make.dropping(block, x))
        | named("weights", model.state_dict())
        | named("model", {"images": images, "logits": model(images)} | make.dropping(model, images))
    )


def training(make: Maker) -> Tensors:
    import torch

    from autograder.assignments.variants.standins import drivers

    code = make.modules.training
    logits, targets = 3 * make.random(2, 6, 9), make.integers(9, 2, 6)
    targets[:, -2:] = 1
    targets[0, 3] = 1
    tensors = {"loss/logits": logits, "loss/targets": targets}
    for case, smoothing in cases.SMOOTHINGS.items():
        tensors[f"loss/{case}"] = code.smoothed_loss(logits, targets, 1, smoothing)
    tensors["loss/large"] = code.smoothed_loss(300 * logits, targets, 1, 0.1)
    # Step 25 is listed before step 11, at which many mistakes still have nearly the correct rate.
    steps = torch.tensor([1, 3, 10, 25, 11, 40, 90, 160, 200, 250])
    warmup = [code.warmup_rate(int(step), cases.PEAK, cases.WARMUP) for step in steps]
    cosine = [code.cosine_rate(int(step), cases.PEAK, cases.WARMUP, cases.TOTAL, cases.FLOOR) for step in steps]
    tensors |= {"rates/steps": steps, "rates/warmup": torch.tensor(warmup), "rates/cosine": torch.tensor(cosine)}
    gradients = [make.random(4, 3), make.random(5), 2 * make.random(2, 2)]
    tensors |= {f"clip/{number}": gradient for number, gradient in enumerate(gradients)}
    # The drivers import the student's modules by their bare names.
    with torch.enable_grad(), patch.dict(sys.modules, {"training": code, "layers": make.modules.layers}):
        for case, max_norm in cases.CLIPS.items():
            norm, *after = drivers.clip_gradients_of(gradients, max_norm, False)
            tensors |= {f"clip_{case}/norm": torch.tensor(norm)}
            tensors |= {f"clip_{case}/{number}": gradient for number, gradient in enumerate(after)}
        model = make.filled(make.modules.language_model.DecoderTransformer(**(cases.MODEL | {"dropout": 0.0})))
        tensors |= named("weights", {name: weight.clone() for name, weight in model.state_dict().items()})
        batches = [make.integers(cases.MODEL["vocab_size"], 2, 8) for _ in cases.RATES]
        losses, *after = drivers.train_steps(model, [tokens[None] for tokens in batches], cases.RATES, cases.MAX_NORM)
    tensors |= {f"steps/tokens.{number}": tokens for number, tokens in enumerate(batches)}
    tensors |= named("steps", dict(zip(sorted(model.state_dict()), after, strict=True)))
    return tensors | {"steps/losses": torch.tensor(losses)}


def modern(make: Maker) -> Tensors:
    import torch

    from autograder.assignments.variants.standins import drivers

    code = make.modules.modern
    norm = make.filled(code.RMSNorm(12))
    x = 2 * make.random(2, 5, 12) + 1
    turned, positions = make.random(2, 3, 5, 8), torch.tensor([0, 1, 2, 7, 40])
    network = make.filled(code.SwiGLU(cases.D_MODEL, cases.D_FF))
    attention = make.filled(code.GroupedQueryAttention(48, 6, 2))
    inputs = make.random(2, 7, 48)
    prompt, cache = attention(inputs[:, :6])
    step, after = attention(inputs[:, 6:], cache)
    tensors = dict(zip(("prompt_keys", "prompt_values", "step_keys", "step_values"), (*cache, *after), strict=True))
    hidden, far = make.random(2, 4, cases.D_MODEL), torch.tensor([257, 299, 1001, 3333, 5001])
    with patch.dict(sys.modules, {"modern": code}):
        half_norm = drivers.rms_norm_in_float16(norm.weight.detach(), 300 * x, exact=True)
        half_turned = drivers.rotate_in_bfloat16(turned, far, exact=True)
    return (
        named("norm_weights", norm.state_dict())
        | named("norm", {"x": x, "output": norm(x), "small": norm(x / 1000), "half": half_norm})
        | named("rotate", {"x": turned, "positions": positions, "output": code.rotate(turned, positions)})
        | named("rotate", {"far": far, "half": half_turned})
        | named("swiglu_weights", network.state_dict())
        | named("swiglu", {"x": hidden, "output": network(hidden)})
        | named("weights", attention.state_dict())
        | named("attention", {"x": inputs, "prompt": prompt, "step": step, **tensors})
    )


def stored_tensors() -> Iterator[tuple[str, Tensors]]:
    """Yield the stored tensors of each stage, computed by the reference modules."""
    make = Maker(load_modules(assignment("variants").solution, assignment("variants").modules))
    for stage in (layers, heads, lm, generate, tagger, vit, training, modern):
        yield stage.__name__, stage(make)

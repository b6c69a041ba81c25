"""Random models, batches and results: what the tests of the stand-ins and of the variants have in common."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import torch
from torch import nn

# No size is a power of two, so that a wrong scale shows, and no two sizes of one tensor are equal.
SIZES: dict[str, Any] = {
    "src_vocab_size": 23,
    "tgt_vocab_size": 19,
    "sos_idx": 2,
    "eos_idx": 3,
    "d_model": 18,
    "num_heads": 3,
    "num_layers": 2,
    "d_ff": 28,
    "max_seq_length": 13,
    "dropout_prob": 0.3,
}


def randomise(module: nn.Module, seed: int) -> Any:
    """Give a module random weights, layer norms included, and sharp attention; switch it to evaluation mode."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64).to(parameter.dtype)
            if "layer_norm" in name:
                parameter.copy_(0.3 * noise + name.endswith("weight"))
            else:
                sharp = 3 if name.endswith(("W_q.weight", "W_k.weight")) else 1
                parameter.copy_(sharp * noise / parameter.shape[-1] ** 0.5)
    return module.eval()


def twins(name: str, first: SimpleNamespace, second: SimpleNamespace, *sizes: Any, **named: Any) -> tuple[Any, Any]:
    """The same object, "module.Class", of two sets of modules: random, and with the same weights."""
    module, _, class_name = name.partition(".")
    one, other = (getattr(getattr(modules, module), class_name)(*sizes, **named) for modules in (first, second))
    randomise(one, seed=0)
    other.load_state_dict(one.state_dict(), strict=True)
    return one, other.eval()


def random_mask(*shape: int, seed: int) -> torch.Tensor:
    """A mask whose non-zero values are not only 1; it always allows the first key."""
    generator = torch.Generator().manual_seed(seed)
    mask = torch.tensor([0, 0, 1, 7, -2])[torch.randint(5, shape, generator=generator)]
    mask[..., 0] = 0
    return mask


@dataclass(frozen=True)
class Batch:
    """Padded sentences; the number of sentences equals the number of heads, which wrong axes of masks stumble over."""

    src: torch.Tensor
    tgt: torch.Tensor
    src_lengths: torch.Tensor
    tgt_lengths: torch.Tensor


def random_batch(seed: int = 0) -> Batch:
    """Three sentence pairs for a model of `SIZES`."""
    generator = torch.Generator().manual_seed(seed)
    return Batch(
        src=torch.randint(SIZES["src_vocab_size"], (3, 7), generator=generator),
        tgt=torch.randint(SIZES["tgt_vocab_size"], (3, 6), generator=generator),
        src_lengths=torch.tensor([5, 7, 2]),
        tgt_lengths=torch.tensor([6, 1, 4]),
    )


def run(model: Any, batch: Batch) -> dict[str, torch.Tensor]:
    """What a `Transformer` computes for a batch, and the gradients of its parameters."""
    enc_output, src_padding_mask = model.forward_encoder(batch.src, batch.src_lengths)
    logits = model(src=batch.src, tgt=batch.tgt, src_lengths=batch.src_lengths, tgt_lengths=batch.tgt_lengths)
    # Weights of the sum that differ from element to element, so that no gradients cancel out.
    gradients = torch.autograd.grad((logits * logits.detach().cos()).sum(), list(model.parameters()))
    named = {f"gradient of {name}": grad for (name, _), grad in zip(model.named_parameters(), gradients, strict=True)}
    return {"encoder": enc_output, "mask": src_padding_mask != 0, "logits": logits, **named}


def assert_close(actual: dict[str, torch.Tensor], expected: dict[str, torch.Tensor], limit: float) -> None:
    """Compare results by name; gradients, which are larger, in proportion to their size."""
    assert actual.keys() == expected.keys()
    for name, tensor in expected.items():
        assert actual[name].shape == tensor.shape, name
        scale = max(1.0, float(tensor.abs().max())) if name.startswith("gradient") else 1.0
        difference = float((actual[name].detach().double() - tensor.detach().double()).abs().max())
        assert difference <= limit * scale, f"{name} differs by {difference:.2g}"

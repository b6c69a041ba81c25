"""Read attention weights through the code of the modules, no matter how it is written.

The modules return no attention weights, and need not store them, but the output of attention is linear in the values.
With columns of the identity matrix as values, the outputs are columns of the attention matrix. So these are the weights
that the modules' code really computes, mistakes included.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class AttentionMaps:
    """The attention weights of one sentence, (layers, H, queries, keys); those of the decoder may be missing.

    The masks, (queries, keys), are those that the model passed to its attention modules: True where a query may not
    attend.
    """

    src: "torch.Tensor"  # (T_e,)
    encoder: "torch.Tensor"
    encoder_mask: "torch.Tensor"
    tgt: "torch.Tensor | None" = None  # (T_d,)
    decoder: "torch.Tensor | None" = None
    decoder_mask: "torch.Tensor | None" = None
    cross: "torch.Tensor | None" = None
    cross_mask: "torch.Tensor | None" = None


def attention_weights(
    attention: Any,
    query: "torch.Tensor",
    key: "torch.Tensor",
    value: "torch.Tensor",
    key_padding_mask: "torch.Tensor | None" = None,
    attention_mask: "torch.Tensor | None" = None,
) -> "torch.Tensor":
    """The attention matrix of one call to a `MultiHeadAttention`.

    Args:
        attention: the module.
        query, key, value, key_padding_mask, attention_mask: the arguments of its `forward`.

    Returns:
        (B, H, T_q, T_k).
    """
    import torch

    q, k, v = attention.compute_mh_qkv_transformation(query, key, value)
    B, H, T_q, d_k = q.shape
    T_k = k.size(2)
    blocks = []
    for start in range(0, T_k, d_k):
        # Key number start + i has the value e_i, so column i of the output is the weight of this key.
        block = torch.eye(T_k, dtype=v.dtype, device=v.device)[:, start : start + d_k]  # (T_k, up to d_k)
        block = torch.nn.functional.pad(block, (0, d_k - block.size(1))).expand(B, H, T_k, d_k)
        x = attention.compute_scaled_dot_product_attention(q, k, block, key_padding_mask, attention_mask)
        blocks.append(x.view(B, T_q, H, d_k).transpose(1, 2))  # (B, T_q, d_model) -> (B, H, T_q, d_k)
    return torch.cat(blocks, dim=-1)[..., :T_k]


@dataclass(frozen=True)
class Call:
    """The weights and the mask of one call to a `MultiHeadAttention`."""

    weights: "torch.Tensor"  # (B, H, T_q, T_k)
    mask: "torch.Tensor"  # (B, T_q, T_k), True where the masks of the call forbid a key


@contextmanager
def recorded(attentions: Sequence[Any]) -> Iterator[list[Call]]:
    """Record every call to these modules inside the `with` block."""
    import torch

    calls: list[Call] = []

    def hook(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        weights = attention_weights(module, *args, **kwargs)
        calls.append(Call(weights, _forbidden(weights, *args[3:], **kwargs)))

    handles = [module.register_forward_pre_hook(hook, with_kwargs=True) for module in attentions]
    try:
        with torch.no_grad():
            yield calls
    finally:
        for handle in handles:
            handle.remove()


def _forbidden(
    weights: "torch.Tensor",
    key_padding_mask: "torch.Tensor | None" = None,
    attention_mask: "torch.Tensor | None" = None,
    **_: Any,
) -> "torch.Tensor":
    """The keys masked in a call, (B, T_q, T_k)."""
    import torch

    B, _H, T_q, T_k = weights.shape
    forbidden = torch.zeros(B, T_q, T_k, dtype=torch.bool, device=weights.device)
    if key_padding_mask is not None:
        forbidden |= (key_padding_mask != 0)[:, None, :]  # (B, T_k) -> (B, 1, T_k)
    if attention_mask is not None:
        forbidden |= attention_mask != 0
    return forbidden


def attention_maps(model: Any, src: "torch.Tensor", tgt: "torch.Tensor | None" = None) -> AttentionMaps:
    """The attention weights of a `Transformer` for one sentence, with teacher forcing in the decoder.

    Args:
        model: any model with the interface of the course. Dropout is off, whatever the model's mode.
        src: source tokens, (1, T_e).
        tgt: target tokens, (1, T_d); without them only the encoder runs.

    Raises:
        ValueError: if there is more than one sentence.
        NotImplementedError: if a module is not written yet.
    """
    import torch

    if src.size(0) != 1 or (tgt is not None and tgt.size(0) != 1):
        raise ValueError("attention_maps takes one sentence: src of shape (1, T_e), tgt of shape (1, T_d)")
    training = model.training
    model.eval()
    try:
        with recorded([layer.self_attn for layer in model.encoder.layers]) as encoder:
            memory, mask = model.forward_encoder(src, torch.tensor([src.size(1)]))
        weights, forbidden = _stacked(encoder)
        if tgt is None:
            return AttentionMaps(src[0], weights, forbidden)
        layers = model.decoder.layers
        with (
            recorded([layer.self_attn for layer in layers]) as decoder,
            recorded([layer.encoder_attn for layer in layers]) as cross,
        ):
            model.forward_decoder(memory, mask, tgt, torch.tensor([tgt.size(1)]))
        return AttentionMaps(src[0], weights, forbidden, tgt[0], *_stacked(decoder), *_stacked(cross))
    finally:
        model.train(training)


def _stacked(calls: list[Call]) -> "tuple[torch.Tensor, torch.Tensor]":
    """The weights of all layers, (layers, H, queries, keys), and the mask of the first layer, (queries, keys)."""
    import torch

    if not calls:
        raise ValueError("the layers of the model never call their attention, so there is nothing to see")
    return torch.cat([call.weights for call in calls]), calls[0].mask[0]

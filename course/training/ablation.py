"""Remove one part of a Transformer using hooks on its modules, however the Transformer is written.

Each function changes a model in place and returns it. The model must consist of the course's modules (their
constructors are provided, so the names of the parts are known).
"""

import math
from collections.abc import Callable, Iterator
from typing import Any


def no_change(model: Any) -> Any:
    """The unchanged model, for comparison."""
    return model


def without_scaling(model: Any) -> Any:
    """Do not divide scores by sqrt(d_k): multiplying the queries by sqrt(d_k) cancels the division."""
    for attention in _attentions(model):
        attention.compute_scaled_dot_product_attention = _unscaled(attention.compute_scaled_dot_product_attention)
    return model


def without_positions(model: Any) -> Any:
    """Do not add the positional encoding to the embeddings."""
    model.positional_encoding.register_forward_hook(lambda module, args, output: args[0])
    return model


def without_residuals(model: Any) -> Any:
    """Compute LayerNorm(Sublayer(x)) instead of LayerNorm(x + Sublayer(x)): subtract x from the norms' input."""
    for layer in (*model.encoder.layers, *model.decoder.layers):
        pairs = [("self_attn", "self_attn_layer_norm"), ("fc1", "final_layer_norm")]
        if getattr(layer, "encoder_attn", None) is not None:
            pairs.append(("encoder_attn", "encoder_attn_layer_norm"))
        for first, norm in pairs:  # the first module of a sub-layer, and the norm after it
            _cut_residual(getattr(layer, first), getattr(layer, norm))
    return model


def without_causal_mask(model: Any) -> Any:
    """Let the decoder's self-attention see all target positions, including those that it must predict."""
    for layer in model.decoder.layers:

        def unmasked(module: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
            # The attention mask is the fifth argument of `forward`.
            return args[:4], {name: mask for name, mask in named.items() if name != "attention_mask"}

        layer.self_attn.register_forward_pre_hook(unmasked, with_kwargs=True)
    return model


ABLATIONS = {
    "complete": no_change,
    "no scaling": without_scaling,
    "no positions": without_positions,
    "no residual": without_residuals,
    "no causal mask": without_causal_mask,
}


def _attentions(model: Any) -> Iterator[Any]:
    for layer in (*model.encoder.layers, *model.decoder.layers):
        yield layer.self_attn
        if getattr(layer, "encoder_attn", None) is not None:
            yield layer.encoder_attn


def _unscaled(attend: Callable[..., Any]) -> Callable[..., Any]:
    def unscaled(query: Any, *others: Any, **named: Any) -> Any:
        return attend(query * math.sqrt(query.size(-1)), *others, **named)

    return unscaled


def _cut_residual(first: Any, norm: Any) -> None:
    """Keep x, the first argument of `first`, and subtract it from the input of `norm`."""
    kept: list[Any] = []

    def keep(module: Any, args: tuple[Any, ...], named: dict[str, Any]) -> None:
        kept[:] = [args[0] if args else named["query"]]

    first.register_forward_pre_hook(keep, with_kwargs=True)
    norm.register_forward_pre_hook(lambda module, args: (args[0] - kept[0],))

"""Take one part out of a Transformer, whatever its code is, by hooks on the modules that it is built from.

Each function changes a model in place and returns it. The model must be of the course's modules (their constructors
are given, so the parts have known names).
"""

import math
from collections.abc import Callable, Iterator
from typing import Any


def no_change(model: Any) -> Any:
    """The model as it is, to compare with."""
    return model


def without_scaling(model: Any) -> Any:
    """Scores are not divided by sqrt(d_k): the queries are multiplied by it, which takes the division back."""
    for attention in _attentions(model):
        attention.compute_scaled_dot_product_attention = _unscaled(attention.compute_scaled_dot_product_attention)
    return model


def without_positions(model: Any) -> Any:
    """Nothing is added to the embeddings."""
    model.positional_encoding.register_forward_hook(lambda module, args, output: args[0])
    return model


def without_residuals(model: Any) -> Any:
    """LayerNorm(Sublayer(x)) in place of LayerNorm(x + Sublayer(x)): the norms are given their input less x."""
    for layer in (*model.encoder.layers, *model.decoder.layers):
        pairs = [("self_attn", "self_attn_layer_norm"), ("fc1", "final_layer_norm")]
        if getattr(layer, "encoder_attn", None) is not None:
            pairs.append(("encoder_attn", "encoder_attn_layer_norm"))
        for first, norm in pairs:  # the module that a sub-layer begins with, and the norm behind it
            _cut_residual(getattr(layer, first), getattr(layer, norm))
    return model


def without_causal_mask(model: Any) -> Any:
    """The decoder's self-attention sees all positions of the target, those that it is to predict too."""
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
    """Keep x, the first argument of `first`, and take it out of what `norm` is given."""
    kept: list[Any] = []

    def keep(module: Any, args: tuple[Any, ...], named: dict[str, Any]) -> None:
        kept[:] = [args[0] if args else named["query"]]

    first.register_forward_pre_hook(keep, with_kwargs=True)
    norm.register_forward_pre_hook(lambda module, args: (args[0] - kept[0],))

"""Attention as heatmaps: `python -m course.heatmaps "Der Hund schläft." --out attention.svg`.

The interface of the modules returns no attention weights, and nothing has to be stored in them: the output of
attention is linear in the values, so with columns of the identity matrix as values the outputs are columns of the
attention matrix. What is drawn is what the code of the modules really does, mistakes included.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from course.errors import UserError, run_command

if TYPE_CHECKING:
    import torch
    from matplotlib.figure import Figure

Weights = Any  # a tensor (layers, H, T_q, T_k)


@dataclass(frozen=True)
class AttentionMaps:
    """The attention weights of one sentence, (layers, H, queries, keys); those of the decoder may be missing."""

    encoder: "torch.Tensor"
    decoder: "torch.Tensor | None" = None
    cross: "torch.Tensor | None" = None


def attention_weights(
    attention: Any,
    query: "torch.Tensor",
    key: "torch.Tensor",
    value: "torch.Tensor",
    key_padding_mask: "torch.Tensor | None" = None,
    attention_mask: "torch.Tensor | None" = None,
) -> "torch.Tensor":
    """The attention matrix of one call of a `MultiHeadAttention`.

    Args:
        attention: the module.
        query, key, value, key_padding_mask, attention_mask: what its `forward` was called with.

    Returns:
        (B, H, T_q, T_k).
    """
    import torch

    q, k, v = attention.compute_mh_qkv_transformation(query, key, value)
    B, H, T_q, d_k = q.shape
    T_k = k.size(2)
    blocks = []
    for start in range(0, T_k, d_k):
        # Key number start + i has the value e_i, so column i of the output is the weight of that key.
        block = torch.eye(T_k, dtype=v.dtype, device=v.device)[:, start : start + d_k]  # (T_k, up to d_k)
        block = torch.nn.functional.pad(block, (0, d_k - block.size(1))).expand(B, H, T_k, d_k)
        x = attention.compute_scaled_dot_product_attention(q, k, block, key_padding_mask, attention_mask)
        blocks.append(x.view(B, T_q, H, d_k).transpose(1, 2))  # (B, T_q, d_model) -> (B, H, T_q, d_k)
    return torch.cat(blocks, dim=-1)[..., :T_k]


@contextmanager
def recorded(attentions: Sequence[Any]) -> Iterator[list["torch.Tensor"]]:
    """Collect the attention weights of every call of these modules inside the `with` block."""
    import torch

    weights: list[torch.Tensor] = []

    def hook(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        weights.append(attention_weights(module, *args, **kwargs))

    handles = [module.register_forward_pre_hook(hook, with_kwargs=True) for module in attentions]
    try:
        with torch.no_grad():
            yield weights
    finally:
        for handle in handles:
            handle.remove()


def attention_maps(model: Any, src: "torch.Tensor", tgt: "torch.Tensor | None" = None) -> AttentionMaps:
    """The attention weights of a `Transformer` for one sentence, with teacher forcing in the decoder.

    Args:
        model: any model with the interface of the course.
        src: source tokens, (1, T_e).
        tgt: target tokens, (1, T_d); without them only the encoder runs.
    """
    import torch

    lengths = torch.tensor([src.size(1)])
    with recorded([layer.self_attn for layer in model.encoder.layers]) as encoder:
        memory, mask = model.forward_encoder(src, lengths)
    if tgt is None:
        return AttentionMaps(torch.cat(encoder))
    decoder_layers, lengths = model.decoder.layers, torch.tensor([tgt.size(1)])
    with (
        recorded([layer.self_attn for layer in decoder_layers]) as decoder,
        recorded([layer.encoder_attn for layer in decoder_layers]) as cross,
    ):
        model.forward_decoder(memory, mask, tgt, lengths)
    return AttentionMaps(torch.cat(encoder), torch.cat(decoder), torch.cat(cross))


def show_heatmaps(
    matrices: Any,
    xlabel: str,
    ylabel: str,
    titles: Sequence[str] | None = None,
    figsize: tuple[float, float] | None = None,
    cmap: str = "cividis",
    xticks: Sequence[str] | None = None,
    yticks: Sequence[str] | None = None,
    row_titles: Sequence[str] | None = None,
) -> "Figure":
    """Draw attention matrices side by side, all on one scale from 0 to 1.

    Args:
        matrices: (rows, columns, queries, keys).
        xlabel, ylabel: what keys and queries are.
        titles: one for each column; row_titles: one for each row.
        figsize: inches; by default the size follows the number of tokens.
        cmap: a perceptually even colour map.
        xticks, yticks: the tokens of the keys and of the queries.

    Returns:
        the figure, with a face colour of its own, so that it can be read on a dark page too.
    """
    import numpy as np
    from matplotlib.figure import Figure

    panels = np.asarray(matrices, dtype=float)
    if panels.ndim != 4:
        raise ValueError(f"matrices must be (rows, columns, queries, keys), not {panels.shape}")
    rows, columns, queries, keys = panels.shape
    size = figsize or (1.2 + columns * (0.6 + 0.24 * keys), 0.9 + rows * (0.5 + 0.24 * queries))
    figure = Figure(figsize=size, facecolor="white", layout="constrained")
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for i, j in np.ndindex(rows, columns):
        axes: Any = grid[i, j]
        image = axes.imshow(panels[i, j], cmap=cmap, vmin=0, vmax=1, aspect="equal")
        if i == rows - 1:
            axes.set_xlabel(xlabel)
        if j == 0:
            axes.set_ylabel(f"{row_titles[i]}\n{ylabel}" if row_titles else ylabel)
        if i == 0 and titles:
            axes.set_title(titles[j])
        if xticks is not None:
            axes.set_xticks(range(keys), xticks, rotation=90, fontsize=8)
        if yticks is not None:
            axes.set_yticks(range(queries), yticks, fontsize=8)
    figure.colorbar(image, ax=grid, shrink=min(1.0, 3.0 / size[1]), label="attention weight")
    return figure


def draw_cross_attention(sentence: str, translation: str | None = None) -> "Figure":
    """Draw the cross-attention of the trained model, a row a layer and a column a head.

    Args:
        sentence: German.
        translation: English; None means the model's own translation.
    """
    import torch

    from course.checkpoint import load_checkpoint

    checkpoint = load_checkpoint()
    src = torch.tensor([checkpoint.source.encode(sentence)])
    if translation is None:
        with torch.no_grad():
            decoded, _ = checkpoint.model.inference(src, torch.tensor([src.size(1)]), 2 * src.size(1) + 10)
        tokens = decoded[0].tolist()
    else:
        tokens = checkpoint.target.encode(translation)
    maps = attention_maps(checkpoint.model, src, torch.tensor([tokens[:-1]]))
    assert maps.cross is not None
    layers, heads = maps.cross.shape[:2]
    return show_heatmaps(
        maps.cross,
        xlabel="German token",
        ylabel="predicts",
        titles=[f"head {head}" for head in range(heads)],
        row_titles=[f"layer {layer}" for layer in range(layers)],
        xticks=checkpoint.source.pieces(src[0].tolist()),
        yticks=checkpoint.target.pieces(tokens[1:]),  # each query is named by the token that it predicts
    )


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m course.heatmaps", description=__doc__)
    parser.add_argument("sentence", help="a German sentence")
    parser.add_argument("--translation", help="an English one; the model's own if it is not given")
    parser.add_argument("--out", type=Path, required=True, help="file to write, .svg or .png")
    args = parser.parse_args(arguments)
    if not args.sentence.strip():
        raise UserError("the sentence is empty")
    figure = draw_cross_attention(args.sentence, args.translation)
    try:
        figure.savefig(args.out, metadata={"Date": None} if args.out.suffix == ".svg" else None, dpi=150)
    except (OSError, ValueError) as error:
        raise UserError(f"cannot write {args.out}: {error}") from error
    return 0


if __name__ == "__main__":
    sys.exit(run_command(main))

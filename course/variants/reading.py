"""Read the attention weights of `variants` models through the models' code, no matter how it is written.

This works as in `course.read_attention`: the output of attention is linear in the values. With columns of the identity
matrix as values, the outputs are columns of the attention matrix. So the code really computes these weights, mistakes
included.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from course.errors import UserError

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class SelfAttention:
    """The self-attention of all layers.

    weights: (layers, B, H, T, T), a row for each query. forbidden: (1 or B, T, T), True for the keys masked in the
    first layer.
    """

    weights: "torch.Tensor"
    forbidden: "torch.Tensor"


def self_attention(model: Any, *inputs: "torch.Tensor") -> SelfAttention:
    """The attention weights of `model(*inputs)`. Dropout is off, regardless of the model's mode.

    Args:
        model: a language model, a tagger or a Vision Transformer: each of its `blocks` has an `attention`, a
            `MultiHeadAttentionEfficient`.
        inputs: the arguments of its `forward`.

    Raises:
        UserError: if the layers do not call their attention, or the attention does not call its `W_qkv` and `W_o`.
    """
    import torch

    calls: list[tuple[Any, torch.Tensor, torch.Tensor | None]] = []

    def note(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        given = dict(zip(("x", "mask"), args, strict=False)) | kwargs
        calls.append((module, given["x"], given.get("mask")))

    training = model.training
    handles = [block.attention.register_forward_pre_hook(note, with_kwargs=True) for block in model.blocks]
    model.eval()
    try:
        with torch.no_grad():
            model(*inputs)
            for handle in handles:
                handle.remove()
            if not calls:
                raise UserError("the layers of the model never call their attention, so there is nothing to see")
            weights = torch.stack([attention_weights(*call) for call in calls])
    finally:
        for handle in handles:
            handle.remove()
        model.train(training)
    T, mask = weights.size(-1), calls[0][2]
    nothing = torch.zeros(1, T, T, dtype=torch.bool)
    return SelfAttention(weights, nothing if mask is None else nothing | mask)


def attention_weights(attention: Any, x: "torch.Tensor", mask: "torch.Tensor | None" = None) -> "torch.Tensor":
    """The attention matrix of one call to a `MultiHeadAttentionEfficient` in evaluation mode.

    Args:
        attention: the module.
        x, mask: the arguments of its `forward`; x is (B, T, d_model).

    Returns:
        (B, H, T, T).

    Raises:
        UserError: if the module does not call its `W_qkv` and `W_o`, through which values are inserted and read.
    """
    import torch

    T, d_model = x.shape[1:]
    H, d_head = attention.num_heads, attention.d_head
    read: list[torch.Tensor] = []

    def values(columns: "torch.Tensor") -> Any:
        def put(module: Any, args: Any, qkv: "torch.Tensor") -> "torch.Tensor":
            queries_keys = qkv[..., : 2 * d_model]
            return torch.cat([queries_keys, columns.repeat(1, H).expand(len(x), T, d_model)], dim=-1)

        return put

    last = attention.W_o.register_forward_pre_hook(lambda module, args: read.append(args[0]))
    try:
        for start in range(0, T, d_head):
            # Key number start + i has the value e_i in every head, so feature i of the output is its weight.
            block = torch.eye(T, dtype=x.dtype)[:, start : start + d_head]  # (T, up to d_head)
            block = torch.nn.functional.pad(block, (0, d_head - block.size(1)))
            first = attention.W_qkv.register_forward_hook(values(block))
            try:
                attention(x, mask)
            finally:
                first.remove()
    finally:
        last.remove()
    if len(read) != -(-T // d_head):
        raise UserError("the attention must call self.W_o once, or its weights cannot be read")
    # The input of W_o: (B, T, H * d_head) -> (B, H, T, d_head)
    blocks = [merged.reshape(len(x), T, H, d_head).transpose(1, 2) for merged in read]
    return torch.cat(blocks, dim=-1)[..., :T]

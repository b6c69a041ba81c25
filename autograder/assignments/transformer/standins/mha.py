"""Stand-in for mha.py: multi-head attention, computed by torch's own function."""

import torch
from torch import nn
from torch.nn import functional as F


def _project(layer: nn.Linear, x: torch.Tensor, num_heads: int) -> torch.Tensor:
    """Apply each head's part of a linear layer: (B, T, d_model) -> (B, H, T, d_k)."""
    parts = zip(layer.weight.chunk(num_heads), layer.bias.chunk(num_heads), strict=True)  # (d_k, d_model), (d_k,)
    return torch.stack([F.linear(x, weight, bias) for weight, bias in parts], dim=1)


def _forbidden(name: str, mask: torch.Tensor, shape: tuple[int, ...], queries: int, keys: int) -> torch.Tensor:
    """True where a mask is not zero.

    Raises:
        ValueError: if the mask does not have the shape that the interface requires.
    """
    sizes = tuple(mask.shape)
    if len(sizes) != len(shape) or any(size not in (1, full) for size, full in zip(sizes, shape, strict=True)):
        raise ValueError(
            f"attention with query length {queries}, key length {keys} and batch size {shape[0]} needs {name} of shape "
            f"{shape} (any dimension may be 1), but got {sizes}"
        )
    return mask != 0


class MultiHeadAttention(nn.Module):
    """Multi-head attention: `W_q`, `W_k`, `W_v` and `W_o` are linear layers from d_model to d_model."""

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"d_model ({d_model}) must be a multiple of num_heads ({num_heads})")
        self.d_model = d_model
        self.num_heads = num_heads
        self.d_k = d_model // num_heads
        self.W_q, self.W_k, self.W_v, self.W_o = (nn.Linear(d_model, d_model) for _ in range(4))

    def compute_mh_qkv_transformation(
        self, Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Project the inputs, (B, T, d_model) each, for all heads: (B, H, T, d_k) each."""
        heads = self.num_heads
        return _project(self.W_q, Q, heads), _project(self.W_k, K, heads), _project(self.W_v, V, heads)

    def compute_scaled_dot_product_attention(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        key_padding_mask: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Attend in all heads, (B, H, T, d_k), and merge them: (B, T_q, d_model)."""
        B, _, T_q, _ = query.shape
        T_k = key.size(2)
        forbidden = torch.zeros(B, T_q, T_k, dtype=torch.bool, device=query.device)
        if key_padding_mask is not None:
            forbidden |= _forbidden("a key_padding_mask", key_padding_mask, (B, T_k), T_q, T_k).unsqueeze(1)
        if attention_mask is not None:
            forbidden |= _forbidden("an attention_mask", attention_mask, (B, T_q, T_k), T_q, T_k)
        # A query that may attend to nothing attends to everything: a finite result in every release of torch.
        allowed = ~forbidden | forbidden.all(dim=-1, keepdim=True)
        heads = F.scaled_dot_product_attention(query, key, value, attn_mask=allowed.unsqueeze(1))
        return torch.cat(heads.unbind(dim=1), dim=-1)  # (B, H, T_q, d_k) -> (B, T_q, d_model)

    def forward(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        key_padding_mask: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Project, attend, mix the heads with `W_o`: (B, T_q, d_model)."""
        heads = self.compute_mh_qkv_transformation(query, key, value)
        merged = self.compute_scaled_dot_product_attention(*heads, key_padding_mask, attention_mask)
        mixed: torch.Tensor = self.W_o(merged)
        return mixed

import inspect
import logging
import math
import warnings
import torch
from torch import nn

logger = logging.getLogger(__name__)


def log(**values):
    if logger.isEnabledFor(logging.DEBUG):
        caller = inspect.currentframe().f_back.f_code.co_name
        logger.debug("%s: %s", caller, values)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"d_model ({d_model}) must be a multiple of num_heads ({num_heads})")
        self.d_model = d_model
        self.num_heads = num_heads
        self.d_k = d_model // num_heads
        self.W_q = nn.Linear(d_model, d_model)
        self.W_k = nn.Linear(d_model, d_model)
        self.W_v = nn.Linear(d_model, d_model)
        self.W_o = nn.Linear(d_model, d_model)

    def extra_repr(self) -> str:
        names = list(inspect.signature(type(self).__init__).parameters)[1:]
        return f"{', '.join(names)} = {self.d_model}, {self.num_heads}"

    def compute_mh_qkv_transformation(
        self, Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        log(shape_q=Q.shape, shape_k=K.shape)
        outputs = []
        for linear, inputs in [(self.W_q, Q), (self.W_k, K), (self.W_v, V)]:
            batch, length = inputs.size()[:2]
            outputs.append(linear(inputs).reshape(batch, length, self.num_heads, -1).transpose(1, 2))
        q, k, v = outputs
        return (q, k, v)

    def compute_scaled_dot_product_attention(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        key_padding_mask: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        log(shape_q=query.shape, padding=key_padding_mask is not None, mask=attention_mask is not None)
        scores = query @ key.transpose(-2, -1) / math.sqrt(self.d_k)
        if key_padding_mask is not None:
            if key_padding_mask.all(dim=1).any():
                warnings.warn("a sentence consists of padding only", stacklevel=2)
            scores = scores.masked_fill(
                key_padding_mask.unsqueeze(1).unsqueeze(1).bool(), torch.finfo(scores.dtype).min
            )
        if attention_mask is not None:
            scores = scores.masked_fill(attention_mask.unsqueeze(1).bool(), torch.finfo(scores.dtype).min)
        x = torch.softmax(scores, dim=-1) @ value
        B, _, T_q, _ = x.shape
        return x.transpose(1, 2).contiguous().view(B, T_q, self.d_model)

    def forward(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        key_padding_mask: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        q, k, v = self.compute_mh_qkv_transformation(query, key, value)
        x = self.compute_scaled_dot_product_attention(q, k, v, key_padding_mask, attention_mask)
        return self.W_o(x)

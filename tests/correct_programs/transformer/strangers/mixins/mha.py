# Differs from the solution in:

class HeadMixin:
    num_heads: int
    d_k: int

    @property
    def scale(self) -> float:
        return math.sqrt(self.d_k)

    def split_heads(self, x: torch.Tensor) -> torch.Tensor:
        return x.unflatten(dim=-1, sizes=(self.num_heads, self.d_k)).movedim(-2, -3)

    def merge_heads(self, x: torch.Tensor) -> torch.Tensor:
        return x.movedim(-3, -2).flatten(start_dim=-2)


class MaskMixin:
    forbidden_score = -1000000000.0

    @staticmethod
    def merge_masks(key_padding_mask, attention_mask):
        masks = []
        if key_padding_mask is not None:
            masks.append(key_padding_mask.unsqueeze(1).unsqueeze(1))
        if attention_mask is not None:
            masks.append(attention_mask.unsqueeze(1))
        if not masks:
            return None
        result = masks[0] != 0
        for mask in masks[1:]:
            result = result | (mask != 0)
        return result


class ResidualMixin:
    def residual(self, norm, x, function, *args, **kwargs):
        return norm(x + self.dropout(function(x, *args, **kwargs)))

    def ffn(self, x):
        return self.fc2(self.activation_fn(self.fc1(x)))


class MultiHeadAttention(HeadMixin, MaskMixin, nn.Module):
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

    def compute_mh_qkv_transformation(
        self, Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        q = self.split_heads(self.W_q(Q))
        k = self.split_heads(self.W_k(K))
        v = self.split_heads(self.W_v(V))
        return (q, k, v)

    def compute_scaled_dot_product_attention(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        key_padding_mask: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        scores = torch.einsum("...qd,...kd->...qk", query, key) / self.scale
        forbidden = self.merge_masks(key_padding_mask, attention_mask)
        if forbidden is not None:
            scores = scores.masked_fill(forbidden, self.forbidden_score)
        return self.merge_heads(scores.softmax(dim=-1) @ value)

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

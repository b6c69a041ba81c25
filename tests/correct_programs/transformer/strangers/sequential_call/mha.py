# Differs from the solution in:

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
        self.tools = nn.ModuleDict({"softmax": nn.Softmax(dim=-1), "merge": nn.Flatten(start_dim=2)})

    def compute_mh_qkv_transformation(
        self, Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        heads = nn.Unflatten(-1, (self.num_heads, self.d_k))
        return tuple(nn.Sequential(linear, heads)(x).transpose(1, 2) for linear, x in ((self.W_q, Q), (self.W_k, K), (self.W_v, V)))

    def compute_scaled_dot_product_attention(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        key_padding_mask: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        scores = query @ key.transpose(-2, -1) / math.sqrt(self.d_k)
        never = torch.zeros(1, 1, 1, 1, dtype=torch.int, device=scores.device)
        padding = never if key_padding_mask is None else key_padding_mask[:, None, None, :]
        pairs = never if attention_mask is None else attention_mask[:, None, :, :]
        mask = torch.maximum((padding != 0).int(), (pairs != 0).int())
        scores = scores.masked_fill(mask == 1, torch.finfo(scores.dtype).min)
        x = self.tools["softmax"](scores) @ value
        return self.tools["merge"](x.transpose(1, 2))

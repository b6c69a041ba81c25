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
        self._weights = None
        self._calls = 0
        self.__lengths = None

    @property
    def attention_weights(self):
        if self._weights is None:
            raise RuntimeError("not called yet")
        return self._weights

    def compute_mh_qkv_transformation(
        self, Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        self._calls += 1
        self.__lengths = {"q": Q.size(1), "k": K.size(1), "v": V.size(1)}
        self._x = {"q": self.W_q(Q), "k": self.W_k(K), "v": self.W_v(V)}
        try:
            return self.__head("q"), self.__head("k"), self.__head("v")
        finally:
            self._x = {}

    def compute_scaled_dot_product_attention(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        key_padding_mask: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        self.__lengths = {"q": query.size(2), "k": key.size(2), "v": value.size(2)}
        self._scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(self.d_k)
        self.__hide(None if key_padding_mask is None else key_padding_mask[:, None, None, :])
        self.__hide(None if attention_mask is None else attention_mask[:, None, :, :])
        weights = torch.softmax(self._scores, dim=-1)
        del self._scores
        self._weights = weights.detach()
        return torch.matmul(weights, value).transpose(1, 2).reshape(query.size(0), self.__lengths["q"], self.d_model)

    def __head(self, name):
        return self._x[name].view(-1, self.__lengths[name], self.num_heads, self.d_k).transpose(1, 2)

    def __hide(self, mask):
        if mask is not None:
            self._scores = self._scores.masked_fill(mask != 0, torch.finfo(self._scores.dtype).min)

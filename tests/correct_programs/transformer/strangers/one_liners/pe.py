# Differs from the solution in:

class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_seq_length: int) -> None:
        super().__init__(); self.d_model, self.max_seq_length = d_model, max_seq_length
        self.register_buffer("pe", torch.stack([f(torch.arange(max_seq_length)[:, None] * 10000 ** (-torch.arange(0, d_model, 2) / d_model)) for f in (torch.sin, torch.cos)], -1).flatten(1)[None])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if (T := x.size(1)) > self.max_seq_length: raise ValueError(f"the input has {T} positions, but the table has only {self.max_seq_length}")
        return x + self.pe[:, :T]

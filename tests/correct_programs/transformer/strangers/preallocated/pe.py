# Differs from the solution in:

class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_seq_length: int) -> None:
        super().__init__()
        self.d_model = d_model
        self.max_seq_length = max_seq_length
        pe = torch.empty(max_seq_length, d_model)
        t = torch.arange(max_seq_length, dtype=torch.float)
        freq = torch.logspace(0, -4 * (d_model - 2) / d_model, d_model // 2)
        angle = torch.empty(max_seq_length, d_model // 2)
        torch.outer(t, freq, out=angle)
        pe[:, 0::2].copy_(torch.sin(angle))
        pe[:, 1::2].copy_(torch.cos(angle))
        self.register_buffer("pe", pe.unsqueeze(0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        T = x.size(1)
        if T > self.max_seq_length:
            raise ValueError(f"the input has {T} positions, but the table has only {self.max_seq_length}")
        return torch.add(x, self.pe.narrow(1, 0, T))

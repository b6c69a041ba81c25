# Differs from the solution in:

class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_seq_length: int) -> None:
        super().__init__()
        self.d_model = d_model
        self.max_seq_length = max_seq_length
        pe = torch.zeros(max_seq_length, d_model)
        t = torch.arange(max_seq_length)
        for i in range(d_model // 2):
            freq = 10000 ** (-2 * i / d_model)
            pe[:, 2 * i] = torch.sin(t * freq)
            pe[:, 2 * i + 1] = torch.cos(t * freq)
        self.register_buffer("pe", pe[None])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        T = x.shape[1]
        if T > self.max_seq_length:
            raise ValueError(f"the input has {T} positions, but the table has only {self.max_seq_length}")
        return x + self.pe.index_select(1, torch.arange(T, device=x.device))

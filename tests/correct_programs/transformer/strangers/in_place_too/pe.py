# Differs from the solution in:

class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_seq_length: int) -> None:
        super().__init__()
        self.d_model = d_model
        self.max_seq_length = max_seq_length
        pe = torch.zeros(max_seq_length, d_model)
        pe[:, 0::2] += torch.arange(max_seq_length)[:, None]
        pe[:, 0::2] /= torch.pow(10000, torch.arange(0, d_model, 2) / d_model)
        pe[:, 1::2] = pe[:, 0::2]
        pe[:, 0::2].sin_()
        pe[:, 1::2].cos_()
        self.register_buffer("pe", pe.unsqueeze_(0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        T = x.size(1)
        if T > self.max_seq_length:
            raise ValueError(f"the input has {T} positions, but the table has only {self.max_seq_length}")
        y = x.clone()
        y += self.pe[:, :T]
        return y

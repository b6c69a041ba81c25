# Differs from the solution in:

class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_seq_length: int) -> None:
        super().__init__()
        self.d_model = d_model
        self.max_seq_length = max_seq_length
        pe = torch.zeros(max_seq_length, d_model)
        speeds = torch.arange(0, d_model, 2) / -d_model
        speeds = torch.pow(10000.0, speeds)
        angles = torch.arange(max_seq_length).unsqueeze(1) * speeds
        pe[:, 0::2].copy_(angles.sin())
        pe[:, 1::2].copy_(angles.cos_())
        self.register_buffer("pe", pe.unsqueeze(0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        T = x.size(1)
        if T > self.max_seq_length:
            raise ValueError(f"the input has {T} positions, but the table has only {self.max_seq_length}")
        x = x.clone()
        x += self.pe[:, :T]
        return x

# Differs from the solution in:

class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_seq_length):
        super().__init__()
        self.d_model = d_model
        self.max_seq_length = max_seq_length
        pe = torch.zeros(max_seq_length, d_model)
        a = torch.arange(max_seq_length)[:, None] * 10000.0 ** (-torch.arange(0, d_model, 2) / d_model)
        pe[:, ::2], pe[:, 1::2] = (a.sin(), a.cos())
        self.register_buffer("pe", pe.unsqueeze(0))

    def forward(self, x):
        T = x.size(1)
        if T > self.max_seq_length:
            raise ValueError(f"the input has {T} positions, but the table has only {self.max_seq_length}")
        return x + self.pe[:, :T]

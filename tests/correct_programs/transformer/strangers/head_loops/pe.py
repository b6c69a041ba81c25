# Differs from the solution in:

class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_seq_length: int) -> None:
        super().__init__()
        self.d_model = d_model
        self.max_seq_length = max_seq_length
        rows = []
        for pos in range(max_seq_length):
            row = []
            for i in range(d_model // 2):
                angle = pos / (10000 ** (2 * i / d_model))
                row.append(math.sin(angle))
                row.append(math.cos(angle))
            rows.append(row)
        pe = torch.tensor(rows)
        self.register_buffer("pe", pe.unsqueeze(0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        T = x.size(1)
        if T > self.max_seq_length:
            raise ValueError(f"the input has {T} positions, but the table has only {self.max_seq_length}")
        out = []
        for sentence in x:
            out.append(sentence + self.pe[0, :T])
        return torch.stack(out)

# Differs from the solution in:

class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_seq_length: int) -> None:
        super().__init__()
        self.d_model = d_model
        self.max_seq_length = max_seq_length
        pe = torch.zeros(max_seq_length, d_model)
        for t in range(max_seq_length):
            pe[t] = self.row(t)
        self.register_buffer("pe", pe.unsqueeze(0))

    def row(self, t: int) -> torch.Tensor:
        clocks = [t / 10000 ** (2 * i / self.d_model) for i in range(self.d_model // 2)]
        return torch.tensor([f(angle) for angle in clocks for f in (math.sin, math.cos)])

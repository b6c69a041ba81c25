# Differs from the solution in:

class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_seq_length: int) -> None:
        super().__init__()
        self.d_model = d_model
        self.max_seq_length = max_seq_length
        pe = torch.zeros(max_seq_length, d_model)
        positions = torch.arange(max_seq_length, dtype=torch.float32).unsqueeze(1)
        speeds = torch.exp(torch.arange(0, d_model, 2, dtype=torch.float32) * (-math.log(10000.0) / d_model))
        pe[:, 0::2] = torch.sin(positions * speeds)
        pe[:, 1::2] = torch.cos(positions * speeds)
        self.register_buffer("pe", pe.unsqueeze(0))

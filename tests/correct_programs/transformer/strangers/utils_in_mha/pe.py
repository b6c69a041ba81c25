# Differs from the solution in:

class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_seq_length: int) -> None:
        super().__init__()
        self.d_model = d_model
        self.max_seq_length = max_seq_length
        pe = torch.zeros(max_seq_length, d_model)
        position = torch.arange(max_seq_length).unsqueeze(1)
        for i in range(0, d_model, 2):
            angle = position[:, 0] / math.pow(10000, i / d_model)
            pe[:, i] = torch.sin(angle)
            pe[:, i + 1] = torch.cos(angle)
        self.register_buffer("pe", pe.unsqueeze(0))

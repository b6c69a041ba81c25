# Differs from the solution in:

class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_seq_length: int) -> None:
        super().__init__()
        self.d_model = d_model
        self.max_seq_length = max_seq_length
        angle = torch.arange(max_seq_length).unsqueeze(1) / torch.pow(10000, torch.arange(0, d_model, 2) / d_model)
        pe = torch.zeros(max_seq_length, d_model // 2, 2)
        pe[..., 0] = angle.sin()
        pe[..., 1] = angle.cos()
        self.register_buffer("pe", pe.view(1, max_seq_length, d_model))

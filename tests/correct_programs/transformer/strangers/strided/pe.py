# Differs from the solution in:

class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_seq_length: int) -> None:
        super().__init__()
        self.d_model = d_model
        self.max_seq_length = max_seq_length
        dim = torch.arange(d_model, dtype=torch.double)
        pair = torch.div(dim, 2, rounding_mode="floor") * 2
        t = torch.arange(max_seq_length, dtype=torch.double)[:, None]
        pe = torch.sin(t * 10000.0 ** (-pair / d_model) + (dim % 2) * (math.pi / 2))
        self.register_buffer("pe", pe[None].float())

# Differs from the solution in:

class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_seq_length: int) -> None:
        super().__init__()
        self.d_model = d_model
        self.max_seq_length = max_seq_length
        angle = torch.einsum(
            "t,i->ti", torch.arange(max_seq_length).float(), 1.0 / 10000 ** (torch.arange(0, d_model, 2) / d_model)
        )
        pe = torch.einsum("tic->tic", torch.stack([angle.sin(), angle.cos()], dim=-1)).reshape(max_seq_length, d_model)
        self.register_buffer("pe", pe.unsqueeze(0))

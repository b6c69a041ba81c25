# Differs from the solution in:

class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_seq_length: int) -> None:
        super().__init__()
        self.d_model = d_model
        self.max_seq_length = max_seq_length
        w = torch.pow(10000.0, -torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
        t = torch.arange(max_seq_length, dtype=torch.float64)
        angle = torch.outer(t, w)
        z = torch.polar(torch.ones_like(angle), angle)
        pe = torch.view_as_real((1j * z.conj()).resolve_conj()).flatten(1).float()
        self.register_buffer("pe", pe.unsqueeze(0))

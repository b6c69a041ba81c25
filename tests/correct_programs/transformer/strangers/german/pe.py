# Differs from the solution in:

class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_seq_length: int) -> None:
        super().__init__()
        self.d_model = d_model
        self.max_seq_length = max_seq_length
        stellen = torch.arange(max_seq_length).reshape(-1, 1)
        nenner = 10_000 ** (torch.arange(0, d_model, 2) / d_model)
        winkel = stellen / nenner
        gerade, ungerade = winkel.sin(), winkel.cos()
        tabelle = torch.cat([gerade, ungerade], dim=1)
        reihenfolge = torch.arange(d_model).reshape(2, -1).t().reshape(-1)
        self.register_buffer("pe", tabelle[:, reihenfolge].unsqueeze(0))

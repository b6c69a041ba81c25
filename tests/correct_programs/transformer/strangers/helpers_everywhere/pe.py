# Differs from the solution in:

BASE = 10000.0


ALLOWED = 0


def sinusoids(positions: torch.Tensor, d_model: int) -> torch.Tensor:
    exponents = torch.arange(0, d_model, 2, dtype=torch.float64) / d_model
    angles = torch.outer(positions.double(), BASE ** (-exponents))
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)


def position_range(x: torch.Tensor) -> torch.Tensor:
    return torch.arange(x.shape[1], device=x.device)


class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_seq_length: int) -> None:
        super().__init__()
        self.d_model = d_model
        self.max_seq_length = max_seq_length
        pe = torch.zeros(max_seq_length, d_model)
        pe.copy_(sinusoids(torch.arange(max_seq_length), d_model))
        self.register_buffer("pe", pe.unsqueeze(0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        T = x.size(1)
        if T > self.max_seq_length:
            raise ValueError(f"the input has {T} positions, but the table has only {self.max_seq_length}")
        return x + self.pe[:, position_range(x)]

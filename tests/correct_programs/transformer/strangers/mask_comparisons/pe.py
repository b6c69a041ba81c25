# Differs from the solution in:

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Config:
    d_model: int
    max_seq_length: int
    base: float = 10000.0

    def table(self) -> torch.Tensor:
        positions = torch.arange(self.max_seq_length, dtype=torch.float32)
        speeds = torch.logspace(0, -math.log10(self.base) * (self.d_model - 2) / self.d_model, self.d_model // 2)
        angles = positions.unsqueeze(1) * speeds
        return torch.cat([angles.sin().unsqueeze(2), angles.cos().unsqueeze(2)], dim=2).view(-1, self.d_model)


class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_seq_length: int) -> None:
        super().__init__()
        self.d_model = d_model
        self.max_seq_length = max_seq_length
        pe = torch.zeros(max_seq_length, d_model)
        self.config = Config(d_model, max_seq_length)
        pe += self.config.table()
        self.register_buffer("pe", pe.unsqueeze(0))

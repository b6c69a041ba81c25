import math
import torch
from torch import nn


class PositionalEncoding(nn.Module):
    pe: torch.Tensor

    def __init__(self, d_model: int, max_seq_length: int) -> None:
        super().__init__()
        self.d_model = d_model
        self.max_seq_length = max_seq_length
        pe = torch.zeros(max_seq_length, d_model)
        частоты = torch.exp(-math.log(10000) * torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
        углы = torch.arange(max_seq_length, dtype=torch.float64)[:, None] * частоты
        z = torch.polar(torch.ones_like(углы), углы)
        pe[:, 0::2] = z.imag
        pe[:, 1::2] = z.real
        self.register_buffer("pe", pe.unsqueeze(0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        T = x.size(1)
        if T > self.max_seq_length:
            raise ValueError(f"the input has {T} positions, but the table has only {self.max_seq_length}")
        return x + self.pe[:, :T]

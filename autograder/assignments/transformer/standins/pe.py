"""Stand-in for pe.py: the sinusoids as points on the unit circle."""

import torch
from torch import nn
from torch.nn import functional as F


class PositionalEncoding(nn.Module):
    """Adds the buffer `pe`, (1, max_seq_length, d_model), to embeddings."""

    pe: torch.Tensor

    def __init__(self, d_model: int, max_seq_length: int) -> None:
        super().__init__()
        self.d_model, self.max_seq_length = d_model, max_seq_length
        pairs = (d_model + 1) // 2
        # Complex numbers that turn by the angle 10000^(-2i / d_model) per position; in float64, so that late positions
        # are exact whatever the default dtype is.
        frequency = torch.logspace(0, -8 * (pairs - 1) / d_model, pairs, dtype=torch.float64)
        angle = torch.arange(max_seq_length, dtype=torch.float64).outer(frequency)
        points = torch.polar(torch.ones_like(angle), angle)
        # (cosine, sine) pairs -> sine first -> (max_seq_length, d_model); an odd d_model drops the last cosine
        table = torch.view_as_real(points).flip(-1).flatten(1)[:, :d_model]
        self.register_buffer("pe", table.to(torch.get_default_dtype()).unsqueeze(0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Look up the encodings for the positions of x, (B, T, d_model), and add them.

        Raises:
            ValueError: if x has more positions than the table.
        """
        if x.size(1) > self.pe.size(1):
            raise ValueError(f"the input has {x.size(1)} positions, but the table has only {self.pe.size(1)}")
        return x + F.embedding(torch.arange(x.size(1), device=x.device), self.pe[0])

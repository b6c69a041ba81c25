"""Stage 2: sinusoidal positional encoding ("Attention Is All You Need", section 3.5)."""

import math

import torch
from torch import nn


class PositionalEncoding(nn.Module):
    """A fixed vector for each position, added to the embeddings so that attention can tell positions apart.

    For position t = 0, 1, 2, ... and pair i = 0, 1, ..., d_model/2 - 1

        pe[t, 2i]     = sin(t / 10000^(2i / d_model))
        pe[t, 2i + 1] = cos(t / 10000^(2i / d_model))

    Even columns hold sines and odd columns cosines. Their wavelengths grow geometrically from 2 pi towards
    10000 * 2 pi. The table is a buffer of shape (1, max_seq_length, d_model): it is saved and moved with the model, but
    not trained.
    """

    pe: torch.Tensor

    def __init__(self, d_model: int, max_seq_length: int) -> None:
        super().__init__()
        self.d_model = d_model
        self.max_seq_length = max_seq_length
        pe = torch.zeros(max_seq_length, d_model)
        # Fill the table.
        raise NotImplementedError("Stage 2: PositionalEncoding.__init__ is not written yet")
        self.register_buffer("pe", pe.unsqueeze(0))  # (1, max_seq_length, d_model)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Add the encodings of the first T positions to x. The result is a new tensor; x is not changed.

        Args:
            x: embeddings, (B, T, d_model), with T <= max_seq_length.

        Returns:
            (B, T, d_model).

        Raises:
            ValueError: if x has more than `max_seq_length` positions.
        """
        T = x.size(1)
        if T > self.max_seq_length:
            raise ValueError(f"the input has {T} positions, but the table has only {self.max_seq_length}")
        raise NotImplementedError("Stage 2: PositionalEncoding.forward is not written yet")

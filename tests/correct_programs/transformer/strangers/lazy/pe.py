# Differs from the solution in:

from functools import lru_cache


@lru_cache(maxsize=None)
def sinusoid_table(max_seq_length: int, d_model: int) -> torch.Tensor:
    i = torch.arange(d_model)
    angles = torch.arange(max_seq_length)[:, None] / 10000.0 ** (2 * (i // 2) / d_model)
    angles[:, 1::2] += torch.pi / 2
    return angles.sin()


class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_seq_length: int) -> None:
        super().__init__()
        self.d_model = d_model
        self.max_seq_length = max_seq_length
        pe = torch.zeros(max_seq_length, d_model)
        pe += sinusoid_table(max_seq_length, d_model)
        self._slice: torch.Tensor | None = None
        self.register_buffer("pe", pe.unsqueeze(0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        T = x.size(1)
        if T > self.max_seq_length:
            raise ValueError(f"the input has {T} positions, but the table has only {self.max_seq_length}")
        if (
            self._slice is None
            or self._slice.size(1) != T
            or self._slice.dtype != x.dtype
            or (self._slice.device != x.device)
            or (self._version != self.pe._version)
            or (self._source is not self.pe)
        ):
            self._slice = self.pe[:, :T].to(x)
            self._source, self._version = (self.pe, self.pe._version)
        return x + self._slice

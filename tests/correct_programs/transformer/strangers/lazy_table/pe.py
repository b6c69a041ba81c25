# Differs from the solution in:

class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_seq_length: int) -> None:
        super().__init__()
        self.d_model = d_model
        self.max_seq_length = max_seq_length
        self._rows = {}
        self.register_buffer("pe", self._table(max_seq_length).unsqueeze(0))

    @property
    def _speeds(self) -> torch.Tensor:
        return torch.exp(-math.log(10000.0) * torch.arange(0, self.d_model, 2) / self.d_model)

    def _table(self, T: int) -> torch.Tensor:
        angles = torch.arange(T)[:, None] * self._speeds[None, :]
        return torch.stack((angles.sin(), angles.cos()), dim=2).flatten(1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        T = x.size(1)
        if T > self.max_seq_length:
            raise ValueError(f"the input has {T} positions, but the table has only {self.max_seq_length}")
        wanted = (T, x.dtype, x.device)
        if wanted not in self._rows:
            self._rows[wanted] = self._table(T).to(device=x.device, dtype=x.dtype)
        return x + self._rows[wanted]

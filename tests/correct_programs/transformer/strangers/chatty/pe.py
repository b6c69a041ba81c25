# Differs from the solution in:

from pathlib import Path


print(Path(__file__).name, "in", Path(__file__).resolve().parent)


class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_seq_length: int) -> None:
        super().__init__()
        self.d_model = d_model
        self.max_seq_length = max_seq_length
        pe = torch.zeros(max_seq_length, d_model)
        positions = torch.arange(max_seq_length, dtype=torch.float32).unsqueeze(1)
        speeds = torch.exp(torch.arange(0, d_model, 2, dtype=torch.float32) * (-math.log(10000.0) / d_model))
        pe[:, 0::2] = torch.sin(positions * speeds)
        pe[:, 1::2] = torch.cos(positions * speeds)
        self.register_buffer("pe", pe.unsqueeze(0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        T = x.size(1)
        if T > self.max_seq_length:
            print("too long!", T)
            raise ValueError(f"the input has {T} positions, but the table has only {self.max_seq_length}")
        print(f"adding {T} of {self.max_seq_length} positions, x.mean() = {x.mean():.3f}")
        assert self.pe.shape[1] >= T
        return x + self.pe[:, :T, :]


if __name__ == "__main__":
    table = PositionalEncoding(8, 10)
    assert table(torch.zeros(1, 3, 8)).shape == (1, 3, 8)
    print(table.pe)

# Differs from the solution in:

class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_seq_length: int) -> None:
        super().__init__()
        self.d_model = d_model
        self.max_seq_length = max_seq_length
        pe = torch.zeros(max_seq_length, d_model)
        assert d_model % 2 == 0, "the formula is made for pairs"
        number_of_pairs = d_model // 2
        pair_numbers = torch.arange(number_of_pairs, dtype=torch.float64)
        exponents = 2.0 * pair_numbers / d_model
        denominators = torch.pow(torch.full_like(exponents, 10000.0), exponents)
        assert denominators.shape == (number_of_pairs,)
        positions = torch.arange(max_seq_length, dtype=torch.float64)
        assert positions.shape == (max_seq_length,)
        positions_as_column = positions.reshape(max_seq_length, 1)
        denominators_as_row = denominators.reshape(1, number_of_pairs)
        angles = positions_as_column / denominators_as_row
        assert angles.shape == (max_seq_length, number_of_pairs)
        sines = torch.sin(angles)
        cosines = torch.cos(angles)
        for pair in range(number_of_pairs):
            pe[:, 2 * pair] = sines[:, pair]
            pe[:, 2 * pair + 1] = cosines[:, pair]
        self.register_buffer("pe", pe.unsqueeze(0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        T = x.size(1)
        if T > self.max_seq_length:
            raise ValueError(f"the input has {T} positions, but the table has only {self.max_seq_length}")
        assert x.dim() == 3, x.shape
        assert x.size(2) == self.d_model, x.shape
        table = self.pe[:, :T, :]
        assert table.shape == (1, T, self.d_model)
        result = x + table
        assert result.shape == x.shape
        return result

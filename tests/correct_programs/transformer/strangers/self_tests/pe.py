# Differs from the solution in:

class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_seq_length: int) -> None:
        super().__init__()
        self.d_model = d_model
        self.max_seq_length = max_seq_length
        pe = torch.zeros(max_seq_length, d_model)
        position = torch.arange(max_seq_length).float()[:, None]
        i = torch.arange(d_model // 2).float()[None, :]
        angles = position / torch.pow(10000.0, 2 * i / d_model)
        pe[:, 0::2] = torch.sin(angles)
        pe[:, 1::2] = torch.cos(angles)
        self.register_buffer("pe", pe.unsqueeze(0))


if __name__ == "__main__":
    table = PositionalEncoding(4, 3).pe[0]
    assert abs(table[1, 0] - math.sin(1)) < 1e-06 and abs(table[2, 3] - math.cos(0.02)) < 1e-06
    print("pe: ok")

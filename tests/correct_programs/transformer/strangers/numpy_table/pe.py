# Differs from the solution in:

import numpy as np


class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_seq_length: int) -> None:
        super().__init__()
        self.d_model = d_model
        self.max_seq_length = max_seq_length
        pos = np.arange(max_seq_length)[:, np.newaxis]
        dim = np.arange(d_model)[np.newaxis, :]
        table = pos / np.power(10000, 2 * (dim // 2) / d_model)
        table[:, 0::2] = np.sin(table[:, 0::2])
        table[:, 1::2] = np.cos(table[:, 1::2])
        pe = torch.from_numpy(table).float()
        self.register_buffer("pe", pe.unsqueeze(0))

from collections.abc import Sequence

import torch
from decoder import TransformerDecoder
from encoder import TransformerEncoder
from pe import PositionalEncoding
from torch import nn


def length_to_padding_mask(
    lengths: Sequence[int] | torch.Tensor,
    device: str | torch.device | None = None,
    dtype: torch.dtype = torch.long,
) -> torch.Tensor:
    if device is None and isinstance(lengths, torch.Tensor):
        device = lengths.device
    lengths = torch.as_tensor(lengths, device=device)
    positions = torch.arange(int(lengths.max()), device=lengths.device)
    return (positions[None, :] >= lengths[:, None]).to(dtype)


def subsequent_mask(
    size: int, device: str | torch.device | None = None, dtype: torch.dtype = torch.long
) -> torch.Tensor:
    return torch.ones(size, size, device=device, dtype=dtype).triu(diagonal=1)


class Transformer(nn.Module):

    def __init__(
        self,
        src_vocab_size: int,
        tgt_vocab_size: int,
        sos_idx: int,
        eos_idx: int,
        d_model: int,
        num_heads: int,
        num_layers: int,
        d_ff: int,
        max_seq_length: int,
        dropout_prob: float,
    ) -> None:
        super().__init__()
        self.encoder_embedding = nn.Embedding(src_vocab_size, d_model)
        self.decoder_embedding = nn.Embedding(tgt_vocab_size, d_model)
        self.positional_encoding = PositionalEncoding(d_model, max_seq_length)
        self.encoder = TransformerEncoder(num_layers, d_model, d_ff, num_heads, dropout_prob)
        self.decoder = TransformerDecoder(
            num_layers, d_model, d_ff, num_heads, dropout_prob, output_layer_size=tgt_vocab_size
        )
        self.dropout = nn.Dropout(dropout_prob)
        self.sos_idx = sos_idx
        self.eos_idx = eos_idx

    def forward_encoder(self, src: torch.Tensor, src_lengths: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        mask = length_to_padding_mask(src_lengths, src.device)
        x = self.dropout(self.positional_encoding(self.encoder_embedding(src)))
        return self.encoder(x, mask), mask

    def forward_decoder(
        self,
        enc_output: torch.Tensor,
        src_padding_mask: torch.Tensor,
        tgt: torch.Tensor,
        tgt_lengths: torch.Tensor,
    ) -> torch.Tensor:
        mask = length_to_padding_mask(tgt_lengths, tgt.device)
        sub = subsequent_mask(tgt.size(-1), tgt.device).type_as(mask).unsqueeze(0)
        x = self.dropout(self.positional_encoding(self.decoder_embedding(tgt)))
        return self.decoder(x, mask, sub, enc_output, src_padding_mask)

    def forward(
        self, src: torch.Tensor, tgt: torch.Tensor, src_lengths: torch.Tensor, tgt_lengths: torch.Tensor
    ) -> torch.Tensor:
        enc_output, src_padding_mask = self.forward_encoder(src, src_lengths)
        return self.forward_decoder(enc_output, src_padding_mask, tgt, tgt_lengths)

    def inference(
        self, src: torch.Tensor, src_lengths: torch.Tensor, max_output_length: int
    ) -> tuple[list[torch.Tensor], list[list[torch.Tensor]]]:
        memory, _ = self.forward_encoder(src, src_lengths)
        decoded, caches = [], []
        for b in range(src.size(0)):
            mem = memory[b:b + 1, :int(src_lengths[b])]
            ys = torch.zeros(1, 1, device=src.device).fill_(self.sos_idx).long()
            cache = None
            for i in range(max_output_length):
                x = self.dropout(self.positional_encoding(self.decoder_embedding(ys)))
                out, cache = self.decoder.forward_one_step_ec(
                    x, None, subsequent_mask(ys.size(1), ys.device).unsqueeze(0), mem, None, cache)
                _, next_word = torch.max(out[:, -1], dim=1)
                next_word = next_word.data[0]
                ys = torch.cat([ys, torch.zeros(1, 1, device=src.device).type_as(ys).fill_(next_word)], dim=1)
                if int(next_word) == self.eos_idx:
                    break
            decoded.append(ys[0])
            caches.append(cache or [])
        return decoded, caches

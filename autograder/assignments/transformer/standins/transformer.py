"""Stand-in for transformer.py: the whole model for known targets, without `inference`."""

from collections.abc import Sequence

import torch
from decoder import TransformerDecoder
from encoder import TransformerEncoder
from pe import PositionalEncoding
from torch import nn
from torch.nn.utils.rnn import pad_sequence


def length_to_padding_mask(
    lengths: Sequence[int] | torch.Tensor,
    device: str | torch.device | None = None,
    dtype: torch.dtype = torch.long,
) -> torch.Tensor:
    """The padding mask of sequences of these lengths, (B, max(lengths)): 0 within each length, 1 beyond it."""
    if device is None and isinstance(lengths, torch.Tensor):
        device = lengths.device
    inside = [torch.zeros(int(length), device=device, dtype=dtype) for length in lengths]
    return pad_sequence(inside, batch_first=True, padding_value=1)


def subsequent_mask(
    size: int, device: str | torch.device | None = None, dtype: torch.dtype = torch.long
) -> torch.Tensor:
    """The causal mask (size, size): 1 above the diagonal."""
    return nn.Transformer.generate_square_subsequent_mask(size).isinf().to(device, dtype)


class Transformer(nn.Module):
    """An encoder-decoder Transformer that maps token indices to scores over the target vocabulary."""

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
        sizes = (num_layers, d_model, d_ff, num_heads, dropout_prob)
        self.encoder = TransformerEncoder(*sizes)
        self.decoder = TransformerDecoder(*sizes, output_layer_size=tgt_vocab_size)
        self.dropout = nn.Dropout(dropout_prob)
        self.sos_idx, self.eos_idx = sos_idx, eos_idx

    def forward_encoder(self, src: torch.Tensor, src_lengths: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Encode tokens (B, T_e); return the output (B, T_e, d_model) and the padding mask (B, T_e)."""
        embed = nn.Sequential(self.encoder_embedding, self.positional_encoding, self.dropout)
        mask = length_to_padding_mask(src_lengths, src.device)
        return self.encoder(embed(src), mask), mask

    def forward_decoder(
        self,
        enc_output: torch.Tensor,
        src_padding_mask: torch.Tensor,
        tgt: torch.Tensor,
        tgt_lengths: torch.Tensor,
    ) -> torch.Tensor:
        """Score the next token at all positions of known targets (B, T_d): (B, T_d, tgt_vocab_size)."""
        embed = nn.Sequential(self.decoder_embedding, self.positional_encoding, self.dropout)
        masks = length_to_padding_mask(tgt_lengths, tgt.device), subsequent_mask(tgt.size(1), tgt.device)[None]
        logits: torch.Tensor = self.decoder(embed(tgt), *masks, enc_output, src_padding_mask)
        return logits

    def forward(
        self, src: torch.Tensor, tgt: torch.Tensor, src_lengths: torch.Tensor, tgt_lengths: torch.Tensor
    ) -> torch.Tensor:
        """Encode the source and decode the known target: (B, T_d, tgt_vocab_size)."""
        return self.forward_decoder(*self.forward_encoder(src, src_lengths), tgt, tgt_lengths)

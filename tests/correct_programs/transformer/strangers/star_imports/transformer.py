from collections.abc import Sequence
import torch
import decoder as dec
import encoder as enc
import pe as positions
from torch import nn


def length_to_padding_mask(
    lengths: Sequence[int] | torch.Tensor, device: str | torch.device | None = None, dtype: torch.dtype = torch.long
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
        self.positional_encoding = positions.PositionalEncoding(d_model, max_seq_length)
        self.encoder = enc.TransformerEncoder(num_layers, d_model, d_ff, num_heads, dropout_prob)
        self.decoder = dec.TransformerDecoder(
            num_layers, d_model, d_ff, num_heads, dropout_prob, output_layer_size=tgt_vocab_size
        )
        self.dropout = nn.Dropout(dropout_prob)
        self.sos_idx = sos_idx
        self.eos_idx = eos_idx

    def forward_encoder(self, src: torch.Tensor, src_lengths: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        src_embedded = self.dropout(self.positional_encoding(self.encoder_embedding(src)))
        src_padding_mask = length_to_padding_mask(src_lengths, device=src.device)
        enc_output = self.encoder(src_embedded, encoder_padding_mask=src_padding_mask)
        return (enc_output, src_padding_mask)

    def forward_decoder(
        self, enc_output: torch.Tensor, src_padding_mask: torch.Tensor, tgt: torch.Tensor, tgt_lengths: torch.Tensor
    ) -> torch.Tensor:
        tgt_embedded = self.dropout(self.positional_encoding(self.decoder_embedding(tgt)))
        tgt_padding_mask = length_to_padding_mask(tgt_lengths, device=tgt.device)
        tgt_mask = subsequent_mask(tgt.size(1), device=tgt.device)[None]
        dec_output = self.decoder(
            tgt_embedded,
            decoder_padding_mask=tgt_padding_mask,
            decoder_attention_mask=tgt_mask,
            encoder_out=enc_output,
            encoder_padding_mask=src_padding_mask,
        )
        return dec_output

    def forward(
        self, src: torch.Tensor, tgt: torch.Tensor, src_lengths: torch.Tensor, tgt_lengths: torch.Tensor
    ) -> torch.Tensor:
        enc_output, src_padding_mask = self.forward_encoder(src, src_lengths)
        return self.forward_decoder(enc_output, src_padding_mask, tgt, tgt_lengths)

    def inference(
        self, src: torch.Tensor, src_lengths: torch.Tensor, max_output_length: int
    ) -> tuple[list[torch.Tensor], list[list[torch.Tensor]]]:
        encoder_output, _ = self.forward_encoder(src, src_lengths)
        all_tokens, all_caches = ([], [])
        for b in range(len(src)):
            n = int(src_lengths[b])
            tgt = torch.empty(1, 1, dtype=torch.long, device=src.device).fill_(self.sos_idx)
            cache, done, steps = (None, False, 0)
            while not done and steps < max_output_length:
                x = self.dropout(self.positional_encoding(self.decoder_embedding(tgt)))
                y, cache = self.decoder.forward_one_step_ec(
                    x,
                    decoder_attention_mask=subsequent_mask(steps + 1, device=src.device).unsqueeze(0),
                    encoder_out=encoder_output[b, :n].unsqueeze(0),
                    cache=cache,
                )
                _, best = y.max(dim=2)
                tgt = torch.cat([tgt, best], dim=1)
                steps += 1
                done = best.item() == self.eos_idx
            all_tokens.append(tgt.view(-1))
            all_caches.append(cache if cache else [])
        return (all_tokens, all_caches)

from collections.abc import Sequence

from mha import *
from pe import *
from encoder import *
from decoder import *


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
        src_embedded = self.dropout(self.positional_encoding(self.encoder_embedding(src)))
        src_padding_mask = length_to_padding_mask(src_lengths, device=src.device)
        enc_output = self.encoder(src_embedded, encoder_padding_mask=src_padding_mask)
        return enc_output, src_padding_mask

    def forward_decoder(
        self,
        enc_output: torch.Tensor,
        src_padding_mask: torch.Tensor,
        tgt: torch.Tensor,
        tgt_lengths: torch.Tensor,
    ) -> torch.Tensor:
        tgt_embedded = self.dropout(self.positional_encoding(self.decoder_embedding(tgt)))
        tgt_padding_mask = length_to_padding_mask(tgt_lengths, device=tgt.device)
        causal_mask = subsequent_mask(tgt.size(1), device=tgt.device).unsqueeze(0)
        dec_output = self.decoder(
            tgt_embedded,
            decoder_padding_mask=tgt_padding_mask,
            decoder_attention_mask=causal_mask,
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
        enc_output, _ = self.forward_encoder(src, src_lengths)
        decoded_list: list[torch.Tensor] = []
        decoder_layer_cache_list: list[list[torch.Tensor]] = []
        for b in range(src.size(0)):
            sentence_enc_output = enc_output[b : b + 1, : int(src_lengths[b])]
            cache: list[torch.Tensor] | None = None
            tgt = torch.full((1, 1), self.sos_idx, dtype=torch.long, device=src.device)
            for _ in range(max_output_length):
                tgt_embedded = self.dropout(self.positional_encoding(self.decoder_embedding(tgt)))
                causal_mask = subsequent_mask(tgt.size(1), device=tgt.device).unsqueeze(0)
                scores, cache = self.decoder.forward_one_step_ec(
                    tgt_embedded,
                    decoder_attention_mask=causal_mask,
                    encoder_out=sentence_enc_output,
                    cache=cache,
                )
                next_token = scores.argmax(dim=-1)
                tgt = torch.cat([tgt, next_token], dim=1)
                if next_token.item() == self.eos_idx:
                    break
            decoded_list.append(tgt.squeeze(0))
            decoder_layer_cache_list.append(cache if cache is not None else [])
        return decoded_list, decoder_layer_cache_list

# Differs from the solution in:

def length_to_padding_mask(
    lengths: Sequence[int] | torch.Tensor,
    device: str | torch.device | None = None,
    dtype: torch.dtype = torch.long,
) -> torch.Tensor:
    sizes = torch.as_tensor(lengths, device=device)
    return torch.arange(int(sizes.max()), device=sizes.device).expand(len(sizes), -1).ge(sizes[:, None]).to(dtype)


def subsequent_mask(
    size: int, device: str | torch.device | None = None, dtype: torch.dtype = torch.long
) -> torch.Tensor:
    positions = torch.arange(size, device=device)
    return positions[None, :].gt(positions[:, None]).to(dtype)


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
        self.sos_idx, self.eos_idx = sos_idx, eos_idx
        self.encoder_embedding = nn.Embedding(src_vocab_size, d_model)
        self.decoder_embedding = nn.Embedding(tgt_vocab_size, d_model)
        self.positional_encoding = PositionalEncoding(d_model, max_seq_length)
        self.encoder = TransformerEncoder(num_layers, d_model, d_ff, num_heads, dropout_prob)
        self.decoder = TransformerDecoder(
            num_layers, d_model, d_ff, num_heads, dropout_prob, output_layer_size=tgt_vocab_size
        )
        self.dropout = nn.Dropout(dropout_prob)

    def forward_encoder(self, src: torch.Tensor, src_lengths: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        padding = length_to_padding_mask(src_lengths, src.device, torch.bool)
        embedded = self.dropout(self.positional_encoding(self.encoder_embedding(src)))
        return self.encoder(embedded, padding), padding

    def forward_decoder(
        self,
        enc_output: torch.Tensor,
        src_padding_mask: torch.Tensor,
        tgt: torch.Tensor,
        tgt_lengths: torch.Tensor,
    ) -> torch.Tensor:
        embedded = self.dropout(self.positional_encoding(self.decoder_embedding(tgt)))
        padding = length_to_padding_mask(tgt_lengths, tgt.device, torch.bool)
        causal = subsequent_mask(tgt.shape[1], tgt.device, torch.bool).expand(tgt.shape[0], -1, -1)
        scores: torch.Tensor = self.decoder(embedded, padding, causal, enc_output, src_padding_mask)
        return scores

    def forward(
        self, src: torch.Tensor, tgt: torch.Tensor, src_lengths: torch.Tensor, tgt_lengths: torch.Tensor
    ) -> torch.Tensor:
        return self.forward_decoder(*self.forward_encoder(src, src_lengths), tgt, tgt_lengths)

    def inference(
        self, src: torch.Tensor, src_lengths: torch.Tensor, max_output_length: int
    ) -> tuple[list[torch.Tensor], list[list[torch.Tensor]]]:
        encoded, _ = self.forward_encoder(src, src_lengths)
        pairs = [
            self._decode(encoded[b, :length][None], max_output_length) for b, length in enumerate(src_lengths.tolist())
        ]
        return [tokens for tokens, _ in pairs], [cache for _, cache in pairs]

    def _decode(self, memory: torch.Tensor, limit: int) -> tuple[torch.Tensor, list[torch.Tensor]]:
        """Decode one sentence from its encoder output, (1, T_e, d_model)."""
        tokens = torch.tensor([self.sos_idx], device=memory.device)
        cache: list[torch.Tensor] = []
        while len(tokens) <= limit:
            embedded = self.dropout(self.positional_encoding(self.decoder_embedding(tokens[None])))
            causal = subsequent_mask(len(tokens), memory.device, torch.bool)[None]
            scores, cache = self.decoder.forward_one_step_ec(embedded, None, causal, memory, None, cache or None)
            tokens = torch.hstack((tokens, scores.argmax(-1).view(1)))
            if tokens[-1] == self.eos_idx:
                break
        return tokens, cache

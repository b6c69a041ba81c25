# Differs from the solution in:

def length_to_padding_mask(lengths, device=None, dtype=torch.long):
    if device is None and isinstance(lengths, torch.Tensor):
        device = lengths.device
    lengths = torch.as_tensor(lengths, device=device)
    positions = torch.arange(int(lengths.max()), device=lengths.device)
    return (positions[None, :] >= lengths[:, None]).to(dtype)


def subsequent_mask(size, device=None, dtype=torch.long):
    return torch.ones(size, size, device=device, dtype=dtype).triu(diagonal=1)


class Transformer(nn.Module):
    def __init__(
        self,
        src_vocab_size,
        tgt_vocab_size,
        sos_idx,
        eos_idx,
        d_model,
        num_heads,
        num_layers,
        d_ff,
        max_seq_length,
        dropout_prob,
    ):
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

    def forward_encoder(self, src, src_lengths):
        src_embedded = self.dropout(self.positional_encoding(self.encoder_embedding(src)))
        enc_output = self.encoder(src_embedded, (src_padding_mask := length_to_padding_mask(src_lengths, src.device)))
        return (enc_output, src_padding_mask)

    def forward_decoder(self, enc_output, src_padding_mask, tgt, tgt_lengths):
        tgt_embedded = self.dropout(self.positional_encoding(self.decoder_embedding(tgt)))
        dec_output = self.decoder(
            tgt_embedded,
            length_to_padding_mask(tgt_lengths, tgt.device),
            subsequent_mask(tgt.size(1), tgt.device)[None],
            enc_output,
            src_padding_mask,
        )
        return dec_output

    def forward(self, src, tgt, src_lengths, tgt_lengths):
        enc_output, src_padding_mask = self.forward_encoder(src, src_lengths)
        return self.forward_decoder(enc_output, src_padding_mask, tgt, tgt_lengths)

    def inference(self, src, src_lengths, max_output_length):
        enc_output, _ = self.forward_encoder(src, src_lengths)
        decoded_list = []
        decoder_layer_cache_list = []
        for b in range(src.size(0)):
            sentence_enc_output = enc_output[b : b + 1, : int(src_lengths[b])]
            cache = None
            tgt = src.new_tensor([[self.sos_idx]])
            for _ in range(max_output_length):
                tgt_embedded = self.dropout(self.positional_encoding(self.decoder_embedding(tgt)))
                causal_mask = subsequent_mask(tgt.size(1), device=tgt.device).unsqueeze(0)
                scores, cache = self.decoder.forward_one_step_ec(
                    tgt_embedded, decoder_attention_mask=causal_mask, encoder_out=sentence_enc_output, cache=cache
                )
                next_token = scores.argmax(dim=-1)
                tgt = torch.hstack((tgt, next_token))
                if next_token == self.eos_idx:
                    break
            decoded_list.append(tgt.squeeze(0))
            decoder_layer_cache_list.append(cache if cache is not None else [])
        return (decoded_list, decoder_layer_cache_list)

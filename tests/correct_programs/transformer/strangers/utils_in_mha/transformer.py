# Differs from the solution in:

from mha import last


class Transformer(nn.Module):

    def forward_decoder(
        self, enc_output: torch.Tensor, src_padding_mask: torch.Tensor, tgt: torch.Tensor, tgt_lengths: torch.Tensor
    ) -> torch.Tensor:
        tgt_embedded = self.dropout(self.positional_encoding(self.decoder_embedding(tgt)))
        tgt_padding_mask = length_to_padding_mask(tgt_lengths, device=tgt.device)
        tgt_mask = subsequent_mask(tgt.size(1), device=tgt.device).unsqueeze(0)
        dec_output = self.decoder(tgt_embedded, tgt_padding_mask, tgt_mask, enc_output, src_padding_mask)
        return dec_output

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
                    tgt_embedded, decoder_attention_mask=causal_mask, encoder_out=sentence_enc_output, cache=cache
                )
                next_token = scores.argmax(dim=-1)
                tgt = torch.cat([tgt, next_token], dim=-1)
                if last(tgt).item() == self.eos_idx:
                    break
            decoded_list.append(tgt.squeeze(0))
            decoder_layer_cache_list.append(cache if cache is not None else [])
        return (decoded_list, decoder_layer_cache_list)

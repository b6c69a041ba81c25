# Differs from the solution in:

class Transformer(nn.Module):

    def forward_decoder(
        self, enc_output: torch.Tensor, src_padding_mask: torch.Tensor, tgt: torch.Tensor, tgt_lengths: torch.Tensor
    ) -> torch.Tensor:
        tgt_embedded = self.dropout(self.positional_encoding(self.decoder_embedding(tgt)))
        dec_output = self.decoder(
            tgt_embedded,
            decoder_padding_mask=length_to_padding_mask(tgt_lengths, device=tgt.device),
            decoder_attention_mask=self._causal(tgt.size(1), tgt.device),
            encoder_out=enc_output,
            encoder_padding_mask=src_padding_mask,
        )
        return dec_output

    _masks: dict = {}

    def _causal(self, size: int, device: torch.device) -> torch.Tensor:
        key = (size, str(device))
        if key not in self._masks:
            self._masks[key] = subsequent_mask(size, device=device).unsqueeze(0)
        return self._masks[key]

    def inference(
        self, src: torch.Tensor, src_lengths: torch.Tensor, max_output_length: int
    ) -> tuple[list[torch.Tensor], list[list[torch.Tensor]]]:
        enc_output, _ = self.forward_encoder(src, src_lengths)
        decoded_list: list[torch.Tensor] = []
        decoder_layer_cache_list: list[list[torch.Tensor]] = []
        for b in range(src.size(0)):
            sentence_enc_output = enc_output[b : b + 1, : int(src_lengths[b])]
            cache: list[torch.Tensor] | None = None
            tgt = torch.tensor([[self.sos_idx]], dtype=torch.long, device=src.device)
            for _ in range(max_output_length):
                tgt_embedded = self.dropout(self.positional_encoding(self.decoder_embedding(tgt)))
                causal_mask = self._causal(tgt.size(1), tgt.device)
                scores, cache = self.decoder.forward_one_step_ec(
                    tgt_embedded, decoder_attention_mask=causal_mask, encoder_out=sentence_enc_output, cache=cache
                )
                next_token = scores.argmax(dim=-1)
                tgt = torch.cat((tgt, next_token), dim=1)
                if (next_token == self.eos_idx).item():
                    break
            decoded_list.append(tgt.squeeze(0))
            decoder_layer_cache_list.append(cache if cache is not None else [])
        return (decoded_list, decoder_layer_cache_list)

# Differs from the solution in:

class Transformer(nn.Module):
    def forward_encoder(self, src: torch.Tensor, src_lengths: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        src_embedded = self.dropout(self.positional_encoding(self.encoder_embedding(src)))
        self.src_padding_mask = length_to_padding_mask(src_lengths, device=src.device)
        self.memory = self.encoder(src_embedded, self.src_padding_mask)
        enc_output, src_padding_mask = (self.memory, self.src_padding_mask)
        return (enc_output, src_padding_mask)

    def forward_decoder(
        self, enc_output: torch.Tensor, src_padding_mask: torch.Tensor, tgt: torch.Tensor, tgt_lengths: torch.Tensor
    ) -> torch.Tensor:
        tgt_embedded = self.dropout(self.positional_encoding(self.decoder_embedding(tgt)))
        self.T_d = tgt.size(1)
        tgt_padding_mask = length_to_padding_mask(tgt_lengths, device=tgt.device)
        dec_output = self.decoder(
            x=tgt_embedded,
            decoder_padding_mask=tgt_padding_mask,
            decoder_attention_mask=self.causal(tgt.device),
            encoder_out=enc_output,
            encoder_padding_mask=src_padding_mask,
        )
        return dec_output

    def causal(self, device):
        return subsequent_mask(self.T_d, device=device)[None]

    def inference(
        self, src: torch.Tensor, src_lengths: torch.Tensor, max_output_length: int
    ) -> tuple[list[torch.Tensor], list[list[torch.Tensor]]]:
        self.forward_encoder(src, src_lengths)
        decoded_list: list[torch.Tensor] = []
        decoder_layer_cache_list: list[list[torch.Tensor]] = []
        for b in range(src.size(0)):
            cache: list[torch.Tensor] | None = None
            self.T_d = 1
            tgt = src.new_full((1, 1), self.sos_idx)
            for _ in range(max_output_length):
                tgt_embedded = self.dropout(self.positional_encoding(self.decoder_embedding(tgt)))
                causal_mask = self.causal(tgt.device)
                scores, cache = self.decoder.forward_one_step_ec(
                    tgt_embedded,
                    decoder_attention_mask=causal_mask,
                    encoder_out=self.memory[b : b + 1],
                    encoder_padding_mask=self.src_padding_mask[b : b + 1],
                    cache=cache,
                )
                next_token = scores.argmax(dim=-1)
                tgt = torch.cat((tgt, next_token), dim=-1)
                self.T_d += 1
                if tgt[0, -1] == self.eos_idx:
                    break
            decoded_list.append(tgt.squeeze(0))
            decoder_layer_cache_list.append(cache if cache is not None else [])
        return (decoded_list, decoder_layer_cache_list)

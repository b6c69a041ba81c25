# Differs from the solution in:

class Transformer(nn.Module):
    def forward_encoder(self, src: torch.Tensor, src_lengths: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        src_embedded = self.dropout(self.positional_encoding(self.encoder_embedding(src)))
        src_padding_mask = length_to_padding_mask(src_lengths, device=src.device) == 1
        enc_output = self.encoder(src_embedded, src_padding_mask)
        return (enc_output, src_padding_mask)

    def forward_decoder(
        self, enc_output: torch.Tensor, src_padding_mask: torch.Tensor, tgt: torch.Tensor, tgt_lengths: torch.Tensor
    ) -> torch.Tensor:
        tgt_embedded = self.dropout(self.positional_encoding(self.decoder_embedding(tgt)))
        tgt_padding_mask = length_to_padding_mask(tgt_lengths, device=tgt.device) > 0
        causal = (subsequent_mask(tgt.size(1), device=tgt.device) == 1).unsqueeze(0)
        dec_output = self.decoder(tgt_embedded, tgt_padding_mask, causal, enc_output, src_padding_mask)
        return dec_output

    def inference(
        self, src: torch.Tensor, src_lengths: torch.Tensor, max_output_length: int
    ) -> tuple[list[torch.Tensor], list[list[torch.Tensor]]]:
        enc_output, src_padding_mask = self.forward_encoder(src, src_lengths)
        decoded_list, decoder_layer_cache_list = ([], [])
        for b in range(src.size(0)):
            tokens = src_padding_mask[b] == False
            memory = enc_output[b][tokens].unsqueeze(0)
            tgt = torch.tensor([[self.sos_idx]], device=src.device)
            layers: list[torch.Tensor] = []
            for step in range(max_output_length):
                x = self.dropout(self.positional_encoding(self.decoder_embedding(tgt)))
                scores, layers = self.decoder.forward_one_step_ec(
                    x,
                    decoder_attention_mask=subsequent_mask(step + 1, device=src.device).unsqueeze(0),
                    encoder_out=memory,
                    cache=layers if step > 0 else None,
                )
                tgt = torch.cat([tgt, scores[:, -1].argmax(dim=-1, keepdim=True)], dim=1)
                if (tgt == self.eos_idx)[:, 1:].any():
                    break
            decoded_list.append(tgt.flatten())
            decoder_layer_cache_list.append(layers)
        return (decoded_list, decoder_layer_cache_list)

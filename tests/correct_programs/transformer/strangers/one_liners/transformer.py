# Differs from the solution in:

class Transformer(nn.Module):
    def forward_encoder(self, src: torch.Tensor, src_lengths: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.encoder(self.dropout(self.positional_encoding(self.encoder_embedding(src))), m := length_to_padding_mask(src_lengths, src.device)), m

    def forward_decoder(
        self,
        enc_output: torch.Tensor,
        src_padding_mask: torch.Tensor,
        tgt: torch.Tensor,
        tgt_lengths: torch.Tensor,
    ) -> torch.Tensor:
        return self.decoder(self.dropout(self.positional_encoding(self.decoder_embedding(tgt))), None, subsequent_mask(tgt.size(1), tgt.device)[None], enc_output, src_padding_mask)

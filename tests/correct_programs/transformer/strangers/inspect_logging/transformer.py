# Differs from the solution in:

class Transformer(nn.Module):
    def forward_encoder(self, src: torch.Tensor, src_lengths: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        src_embedded = self.dropout(self.positional_encoding(self.encoder_embedding(src)))
        src_padding_mask = length_to_padding_mask(src_lengths, device=src.device)
        enc_output = self.encoder(src_embedded, src_padding_mask)
        return (enc_output, src_padding_mask)

    def forward_decoder(
        self, enc_output: torch.Tensor, src_padding_mask: torch.Tensor, tgt: torch.Tensor, tgt_lengths: torch.Tensor
    ) -> torch.Tensor:
        tgt_embedded = self.dropout(self.positional_encoding(self.decoder_embedding(tgt)))
        relleno = length_to_padding_mask(tgt_lengths, device=tgt.device)
        n = tgt.size(1)
        causal = torch.ones(n, n, dtype=torch.bool, device=tgt.device).tril().logical_not().unsqueeze(0)
        dec_output = self.decoder(tgt_embedded, relleno, causal, enc_output, src_padding_mask)
        return dec_output


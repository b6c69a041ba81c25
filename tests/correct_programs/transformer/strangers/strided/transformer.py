# Differs from the solution in:

class Transformer(nn.Module):
    def forward_decoder(
        self,
        enc_output: torch.Tensor,
        src_padding_mask: torch.Tensor,
        tgt: torch.Tensor,
        tgt_lengths: torch.Tensor,
    ) -> torch.Tensor:
        x = self.dropout(self.positional_encoding(self.decoder_embedding(tgt)))
        i = torch.arange(tgt.size(1), device=tgt.device)
        later = (i[None, :] > i[:, None])[None]
        padding = ~(i[None] < tgt_lengths.to(tgt.device)[:, None])
        return self.decoder(
            x, padding, decoder_attention_mask=later, encoder_out=enc_output, encoder_padding_mask=src_padding_mask
        )

# Differs from the solution in:

class Transformer(nn.Module):
    def forward_decoder(
        self,
        enc_output: torch.Tensor,
        src_padding_mask: torch.Tensor,
        tgt: torch.Tensor,
        tgt_lengths: torch.Tensor,
    ) -> torch.Tensor:
        T_d = tgt.size(1)
        pad = length_to_padding_mask(tgt_lengths, tgt.device, torch.bool)
        causal = subsequent_mask(T_d, tgt.device, torch.bool)
        both = pad[:, None, :] | causal[None]
        x = self.dropout(self.positional_encoding(self.decoder_embedding(tgt)))
        return self.decoder(
            x, decoder_attention_mask=both, encoder_out=enc_output, encoder_padding_mask=src_padding_mask
        )

# Differs from the solution in:

class Transformer(nn.Module):
    def forward_encoder(self, src: torch.Tensor, src_lengths: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        eingebettet = self.dropout(self.positional_encoding(self.encoder_embedding(src)))
        füllung = length_to_padding_mask(src_lengths, device=src.device, dtype=torch.bool)
        return self.encoder(eingebettet, encoder_padding_mask=füllung), füllung

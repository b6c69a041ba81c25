# Differs from the solution in:

class Transformer(nn.Module):
    def forward_encoder(self, src: torch.Tensor, src_lengths: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        mask = length_to_padding_mask(src_lengths, src.device)
        x = self.dropout(self.positional_encoding(self.encoder_embedding(src)))
        return self.encoder(x, mask), mask

    def forward_decoder(
        self,
        enc_output: torch.Tensor,
        src_padding_mask: torch.Tensor,
        tgt: torch.Tensor,
        tgt_lengths: torch.Tensor,
    ) -> torch.Tensor:
        mask = length_to_padding_mask(tgt_lengths, tgt.device)
        sub = subsequent_mask(tgt.size(-1), tgt.device).type_as(mask).unsqueeze(0)
        x = self.dropout(self.positional_encoding(self.decoder_embedding(tgt)))
        return self.decoder(x, mask, sub, enc_output, src_padding_mask)

    def inference(
        self, src: torch.Tensor, src_lengths: torch.Tensor, max_output_length: int
    ) -> tuple[list[torch.Tensor], list[list[torch.Tensor]]]:
        memory, _ = self.forward_encoder(src, src_lengths)
        decoded, caches = [], []
        for b in range(src.size(0)):
            mem = memory[b:b + 1, :int(src_lengths[b])]
            ys = torch.zeros(1, 1, device=src.device).fill_(self.sos_idx).long()
            cache = None
            for i in range(max_output_length):
                x = self.dropout(self.positional_encoding(self.decoder_embedding(ys)))
                out, cache = self.decoder.forward_one_step_ec(
                    x, None, subsequent_mask(ys.size(1), ys.device).unsqueeze(0), mem, None, cache)
                _, next_word = torch.max(out[:, -1], dim=1)
                next_word = next_word.data[0]
                ys = torch.cat([ys, torch.zeros(1, 1, device=src.device).type_as(ys).fill_(next_word)], dim=1)
                if int(next_word) == self.eos_idx:
                    break
            decoded.append(ys[0])
            caches.append(cache or [])
        return decoded, caches

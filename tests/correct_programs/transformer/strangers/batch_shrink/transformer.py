# Differs from the solution in:

class Transformer(nn.Module):
    def inference(
        self, src: torch.Tensor, src_lengths: torch.Tensor, max_output_length: int
    ) -> tuple[list[torch.Tensor], list[list[torch.Tensor]]]:
        enc, pad = self.forward_encoder(src, src_lengths)
        B = src.size(0)
        decoded = [torch.tensor([self.sos_idx], dtype=torch.long, device=src.device) for _ in range(B)]
        caches: list[list[torch.Tensor]] = [[] for _ in range(B)]
        alive = torch.arange(B, device=src.device)
        tgt = torch.full((B, 1), self.sos_idx, dtype=torch.long, device=src.device)
        cache: list[torch.Tensor] | None = None
        for _ in range(max_output_length):
            scores, cache = self.decoder.forward_one_step_ec(
                self.dropout(self.positional_encoding(self.decoder_embedding(tgt))),
                decoder_attention_mask=subsequent_mask(tgt.size(1), device=tgt.device).unsqueeze(0),
                encoder_out=enc,
                encoder_padding_mask=pad,
                cache=cache,
            )
            tgt = torch.cat([tgt, scores.argmax(dim=-1)], dim=1)
            for row, b in enumerate(alive.tolist()):
                decoded[b] = tgt[row]
                caches[b] = [layer[row : row + 1] for layer in cache]
            going = tgt[:, -1] != self.eos_idx
            if not going.any():
                break
            alive, tgt, enc, pad = alive[going], tgt[going], enc[going], pad[going]
            cache = [layer[going] for layer in cache]
        return decoded, caches

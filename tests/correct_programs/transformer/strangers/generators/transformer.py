# Differs from the solution in:

from itertools import islice


class Transformer(nn.Module):
    def _words(self, memory):
        tokens, cache = [self.sos_idx], None
        while True:
            tgt = torch.tensor([tokens], device=memory.device)
            x = self.dropout(self.positional_encoding(self.decoder_embedding(tgt)))
            scores, cache = self.decoder.forward_one_step_ec(
                x,
                decoder_attention_mask=subsequent_mask(len(tokens), device=memory.device)[None],
                encoder_out=memory,
                cache=cache,
            )
            tokens.append(int(scores[0, -1].argmax()))
            yield tokens[-1], cache
            if tokens[-1] == self.eos_idx:
                return

    def inference(
        self, src: torch.Tensor, src_lengths: torch.Tensor, max_output_length: int
    ) -> tuple[list[torch.Tensor], list[list[torch.Tensor]]]:
        enc_output, _ = self.forward_encoder(src, src_lengths)
        decoded, caches = [], []
        for row, length in zip(enc_output, src_lengths.tolist()):
            tokens, last = [self.sos_idx], []
            for token, cache in islice(self._words(row[None, :length]), max_output_length):
                tokens.append(token)
                last = cache
            decoded.append(torch.tensor(tokens, dtype=torch.long, device=src.device))
            caches.append(last)
        return decoded, caches

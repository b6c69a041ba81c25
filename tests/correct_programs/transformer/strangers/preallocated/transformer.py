# Differs from the solution in:

class Transformer(nn.Module):
    def inference(
        self, src: torch.Tensor, src_lengths: torch.Tensor, max_output_length: int
    ) -> tuple[list[torch.Tensor], list[list[torch.Tensor]]]:
        enc_output, _ = self.forward_encoder(src, src_lengths)
        B = src.size(0)
        tokens = torch.empty(B, max_output_length + 1, dtype=torch.long, device=src.device)
        tokens[:, 0] = self.sos_idx
        ends = [1] * B
        caches: list[list[torch.Tensor]] = [[] for _ in range(B)]
        all_masks = subsequent_mask(max_output_length, device=src.device).unsqueeze(0)
        for b in range(B):
            memory = enc_output[b : b + 1, : int(src_lengths[b])]
            cache = None
            for t in range(1, max_output_length + 1):
                x = self.dropout(self.positional_encoding(self.decoder_embedding(tokens[b : b + 1, :t])))
                scores, cache = self.decoder.forward_one_step_ec(
                    x, decoder_attention_mask=all_masks[:, :t, :t], encoder_out=memory, cache=cache
                )
                tokens[b, t] = scores[0, 0].argmax()
                ends[b] = t + 1
                if tokens[b, t] == self.eos_idx:
                    break
            caches[b] = cache or []
        return [tokens[b, : ends[b]].clone() for b in range(B)], caches

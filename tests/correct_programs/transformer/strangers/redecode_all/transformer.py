# Differs from the solution in:

class Transformer(nn.Module):
    @torch.no_grad()
    def inference(
        self, src: torch.Tensor, src_lengths: torch.Tensor, max_output_length: int
    ) -> tuple[list[torch.Tensor], list[list[torch.Tensor]]]:
        enc_output, _ = self.forward_encoder(src, src_lengths)
        decoded, caches = [], []
        for b in range(src.size(0)):
            memory = enc_output[b : b + 1, : int(src_lengths[b])]
            tgt = torch.tensor([[self.sos_idx]], device=src.device)
            states: list[torch.Tensor] = []
            for _ in range(max_output_length):
                mask = subsequent_mask(tgt.size(1), device=tgt.device).unsqueeze(0)
                x = self.dropout(self.positional_encoding(self.decoder_embedding(tgt)))
                states = []
                for layer in self.decoder.layers:
                    x = layer(x, encoder_out=memory, self_attn_mask=mask)
                    states.append(x)
                scores = self.decoder.output_layer(x[:, -1])
                best = scores.argmax(dim=-1, keepdim=True)
                tgt = torch.hstack([tgt, best])
                if best.item() == self.eos_idx:
                    break
            decoded.append(tgt[0])
            caches.append(states)
        return decoded, caches

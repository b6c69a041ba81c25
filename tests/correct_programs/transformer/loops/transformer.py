# Differs from the solution in:

def length_to_padding_mask(
    lengths: Sequence[int] | torch.Tensor,
    device: str | torch.device | None = None,
    dtype: torch.dtype = torch.long,
) -> torch.Tensor:
    sizes = [int(length) for length in lengths]
    mask = torch.zeros(len(sizes), max(sizes), dtype=dtype, device=device)
    for row, size in enumerate(sizes):
        mask[row, size:] = 1
    return mask


def subsequent_mask(
    size: int, device: str | torch.device | None = None, dtype: torch.dtype = torch.long
) -> torch.Tensor:
    mask = torch.zeros(size, size, dtype=dtype, device=device)
    for row in range(size):
        mask[row, row + 1 :] = 1
    return mask


class Transformer(nn.Module):
    def forward_encoder(self, src: torch.Tensor, src_lengths: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x = self.encoder_embedding(src)
        x = self.positional_encoding(x)
        x = self.dropout(x)
        mask = length_to_padding_mask(src_lengths, device=src.device)
        return self.encoder(x, mask), mask

    def forward_decoder(
        self,
        enc_output: torch.Tensor,
        src_padding_mask: torch.Tensor,
        tgt: torch.Tensor,
        tgt_lengths: torch.Tensor,
    ) -> torch.Tensor:
        x = self.decoder_embedding(tgt)
        x = self.positional_encoding(x)
        x = self.dropout(x)
        causal = subsequent_mask(tgt.size(1), device=tgt.device)
        masks = []  # for every sentence its causal mask with its padded keys added
        for length in tgt_lengths.tolist():
            mask = causal.clone()
            mask[:, length:] = 1
            masks.append(mask)
        scores: torch.Tensor = self.decoder(
            x,
            decoder_attention_mask=torch.stack(masks),  # (B, T_d, T_d)
            encoder_out=enc_output,
            encoder_padding_mask=src_padding_mask,
        )
        return scores

    def inference(
        self, src: torch.Tensor, src_lengths: torch.Tensor, max_output_length: int
    ) -> tuple[list[torch.Tensor], list[list[torch.Tensor]]]:
        decoded_list = []
        cache_list = []
        for b in range(src.size(0)):
            # A sentence of its own needs no padding.
            length = int(src_lengths[b])
            enc_output, _ = self.forward_encoder(src[b : b + 1, :length], src_lengths[b : b + 1])
            tokens = [self.sos_idx]
            cache = None
            for _ in range(max_output_length):
                tgt = torch.tensor([tokens], device=src.device)
                x = self.dropout(self.positional_encoding(self.decoder_embedding(tgt)))
                y, cache = self.decoder.forward_one_step_ec(
                    x,
                    decoder_attention_mask=subsequent_mask(len(tokens), device=src.device)[None],
                    encoder_out=enc_output,
                    cache=cache,
                )
                scores = y.flatten().tolist()  # one score for each token of the vocabulary
                best = scores.index(max(scores))
                tokens.append(best)
                if best == self.eos_idx:
                    break
            decoded_list.append(torch.tensor(tokens, device=src.device))
            cache_list.append(cache if cache is not None else [])
        return decoded_list, cache_list

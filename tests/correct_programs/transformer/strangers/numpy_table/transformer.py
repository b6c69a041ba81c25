# Differs from the solution in:

import numpy as np


class Transformer(nn.Module):
    def forward_encoder(self, src: torch.Tensor, src_lengths: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        src_embedded = self.dropout(self.positional_encoding(self.encoder_embedding(src)))
        B, T = src.shape
        mask = np.zeros((B, T), dtype=np.int64)
        for b, n in enumerate(src_lengths.tolist()):
            mask[b, n:] = 1
        src_padding_mask = torch.from_numpy(mask).to(src.device)
        return self.encoder(src_embedded, src_padding_mask), src_padding_mask

    def forward_decoder(
        self,
        enc_output: torch.Tensor,
        src_padding_mask: torch.Tensor,
        tgt: torch.Tensor,
        tgt_lengths: torch.Tensor,
    ) -> torch.Tensor:
        tgt_embedded = self.dropout(self.positional_encoding(self.decoder_embedding(tgt)))
        T_d = tgt.shape[1]
        causal = torch.from_numpy(np.triu(np.ones((1, T_d, T_d)), k=1).astype("uint8")).to(tgt.device)
        padding = torch.from_numpy(np.arange(T_d)[None] >= tgt_lengths.cpu().numpy()[:, None]).to(tgt.device)
        return self.decoder(tgt_embedded, padding, causal, enc_output, src_padding_mask)

"""Formulations: other correct ways to write the positional encoding, the whole model with its masks, and inference."""

from autograder.authoring.formulations import Formulation

PE_INIT, PE_FORWARD = "PositionalEncoding.__init__", "PositionalEncoding.forward"
FORWARD_ENCODER, FORWARD_DECODER = "Transformer.forward_encoder", "Transformer.forward_decoder"
INFERENCE = "Transformer.inference"


def _table(name: str, text: str, forward: str = "return self.pe[:, :T, :] + x", imports: str = "") -> Formulation:
    return Formulation(f"pe-{name}", "pe", {PE_INIT: (text,), PE_FORWARD: (forward,)}, imports)


def _inference(name: str, start: str, append: str, stop: str) -> Formulation:
    return Formulation(f"inference-{name}", "transformer", {INFERENCE: (start, append, stop)})


PE = [
    _table(
        "power",
        """
        position = torch.arange(max_seq_length)[:, None]
        wavelength = 10000 ** (torch.arange(0, d_model, 2) / d_model)
        pe[:, 0::2] = torch.sin(position / wavelength)
        pe[:, 1::2] = torch.cos(position / wavelength)[:, : d_model // 2]
        """,
        "return x + self.pe[:, : x.shape[1]].expand(x.shape[0], -1, -1)",
    ),
    _table(
        "outer-pow",
        """
        pair = torch.arange(0, (d_model + 1) // 2)
        angle = torch.outer(torch.arange(0.0, max_seq_length), 1 / torch.pow(10000.0, 2 * pair / d_model))
        pe[:, ::2] = angle.sin()
        pe[:, 1::2] = angle.cos()[:, : pe[:, 1::2].shape[1]]
        """,
        "return torch.add(x, self.pe.narrow(1, 0, T))",
    ),
    _table(
        "interleaved",
        """
        position = torch.arange(max_seq_length, dtype=pe.dtype).unsqueeze(-1)
        angle = position * torch.exp(-torch.arange(0, d_model, 2, dtype=pe.dtype) / d_model * math.log(1e4))
        pe = torch.stack([torch.sin(angle), torch.cos(angle)], dim=-1).flatten(start_dim=1)[:, :d_model]
        """,
        """
        x = x.clone()
        x += self.pe[0, :T]
        return x
        """,
    ),
    _table(
        "float32",
        """
        position = torch.arange(max_seq_length, dtype=torch.float32).reshape(-1, 1)
        exponent = torch.arange(0, d_model, 2, dtype=torch.float32) / d_model
        angle = position / torch.pow(torch.tensor(10000, dtype=torch.float32), exponent)
        pe[:, 0::2] = torch.sin(angle)
        pe[:, 1::2] = torch.cos(angle[:, : d_model // 2])
        """,
        "return x + self.pe[:, :T].to(x.device)",
    ),
    _table(
        "loops",
        """
        for t in range(max_seq_length):
            for i in range(0, d_model, 2):
                pe[t, i] = math.sin(t / 10000 ** (i / d_model))
                if i + 1 < d_model:
                    pe[t, i + 1] = math.cos(t / 10000 ** (i / d_model))
        """,
        "return x + self.pe[:, torch.arange(T, device=x.device)]",
    ),
    _table(
        "column-by-column",
        """
        position = torch.arange(max_seq_length).double()
        for column in range(d_model):
            function = torch.cos if column % 2 else torch.sin
            pe[:, column] = function(position * math.exp(-math.log(10000.0) * (column - column % 2) / d_model))
        """,
        "return x + self.pe[:, :T, :].requires_grad_(False)",
    ),
    _table(
        "where",
        """
        column = torch.arange(d_model).expand(max_seq_length, d_model)
        position = torch.arange(max_seq_length).unsqueeze(1).expand(max_seq_length, d_model)
        angle = position / torch.pow(10000, 2 * torch.div(column, 2, rounding_mode="floor") / d_model)
        pe = torch.where(column % 2 == 0, torch.sin(angle), torch.cos(angle))
        """,
        "return x + self.pe.squeeze(0)[:T].detach()",
    ),
    _table(
        "numpy",
        """
        position = np.arange(max_seq_length)[:, np.newaxis]
        angle = position / np.power(10000, np.arange(0, d_model, 2) / np.float32(d_model))
        pe[:, 0::2] = torch.from_numpy(np.sin(angle))
        pe[:, 1::2] = torch.from_numpy(np.cos(angle[:, : d_model // 2]))
        """,
        imports="import numpy as np",
    ),
]

TRANSFORMER = [
    Formulation(
        "model-boolean-masks",
        "transformer",
        {
            FORWARD_ENCODER: (
                """
                src_padding_mask = length_to_padding_mask(src_lengths, device=src.device, dtype=torch.bool)
                enc_output = self.encoder(src_embedded, src_padding_mask)
                """,
            ),
            FORWARD_DECODER: (
                """
                size = tgt.size(1)
                causal = torch.triu(torch.ones(1, size, size, device=tgt.device), diagonal=1).bool()
                padding = length_to_padding_mask(tgt_lengths, tgt.device, torch.bool)
                dec_output = self.decoder(tgt_embedded, padding, causal, enc_output, src_padding_mask)
                """,
            ),
        },
    ),
    Formulation(
        "model-masks-by-comparison",
        "transformer",
        {
            FORWARD_ENCODER: (
                """
                positions = torch.arange(src.size(1), device=src.device).expand_as(src)
                src_padding_mask = (positions >= src_lengths.unsqueeze(1)).int()
                enc_output = self.encoder(src_embedded, encoder_padding_mask=src_padding_mask)
                """,
            ),
            FORWARD_DECODER: (
                """
                positions = torch.arange(tgt.size(1), device=tgt.device)
                causal = (positions.view(1, -1, 1) < positions.view(1, 1, -1)).int()
                padding = (positions[None] >= tgt_lengths[:, None]).int()
                dec_output = self.decoder(
                    x=tgt_embedded,
                    encoder_out=enc_output,
                    encoder_padding_mask=src_padding_mask,
                    decoder_attention_mask=causal.expand(tgt.size(0), -1, -1),
                    decoder_padding_mask=padding,
                )
                """,
            ),
        },
    ),
    Formulation(
        "model-merged-masks",
        "transformer",
        {
            FORWARD_DECODER: (
                """
                size = tgt.size(1)
                padding = length_to_padding_mask(tgt_lengths).unsqueeze(1)
                mask = torch.maximum(subsequent_mask(size).unsqueeze(0), padding)  # (B, T_d, T_d)
                dec_output = self.decoder(
                    tgt_embedded,
                    decoder_attention_mask=mask,
                    encoder_out=enc_output,
                    encoder_padding_mask=src_padding_mask,
                )
                """,
            )
        },
    ),
    Formulation(
        "model-masks-as-float",
        "transformer",
        {
            FORWARD_ENCODER: (
                """
                src_padding_mask = length_to_padding_mask(src_lengths.tolist()).to(src.device)
                enc_output = self.encoder(src_embedded, encoder_padding_mask=src_padding_mask.float())
                """,
            ),
            FORWARD_DECODER: (
                """
                causal = 1 - torch.ones(tgt.size(1), tgt.size(1)).tril()
                padding = length_to_padding_mask(tgt_lengths, dtype=torch.float32)
                dec_output = self.decoder(tgt_embedded, padding, causal[None], enc_output, src_padding_mask)
                """,
            ),
        },
    ),
    _inference(
        "tensor-and-hstack",
        "tgt = torch.tensor([[self.sos_idx]]).to(src.device)",
        "tgt = torch.hstack((tgt, next_token))",
        """
        if tgt[0, -1] == self.eos_idx:
            break
        """,
    ),
    _inference(
        "new-full-and-item",
        "tgt = src.new_full((1, 1), self.sos_idx)",
        """
        predicted = next_token.item()
        tgt = torch.cat((tgt, torch.LongTensor([[predicted]]).to(tgt.device)), dim=-1)
        """,
        """
        if predicted == self.eos_idx:
            break
        """,
    ),
    _inference(
        "pad-and-in",
        "tgt = torch.ones(1, 1).type_as(src) * self.sos_idx",
        "tgt = nn.functional.pad(tgt, (0, 1), value=int(next_token))",
        """
        if self.eos_idx in next_token.flatten().tolist():
            break
        """,
    ),
]

"""Formulations of the positional encoding, the layers, the whole model and one-step decoding."""

from tests.variants.regions import Formulation

PE_INIT, PE_FORWARD = "PositionalEncoding.__init__", "PositionalEncoding.forward"
ENCODER_LAYER, DECODER_LAYER = "TransformerEncoderLayer.forward", "TransformerDecoderLayer.forward"
LAYER_STEP, DECODER_STEP = "TransformerDecoderLayer.forward_one_step_ec", "TransformerDecoder.forward_one_step_ec"
FORWARD_ENCODER, FORWARD_DECODER = "Transformer.forward_encoder", "Transformer.forward_decoder"
INFERENCE = "Transformer.inference"
F = "import torch.nn.functional as F"


def _table(name: str, text: str, forward: str = "return self.pe[:, :T, :] + x", imports: str = "") -> Formulation:
    return Formulation(f"pe-{name}", "pe", {PE_INIT: (text,), PE_FORWARD: (forward,)}, imports)


def _encoder(name: str, *texts: str, imports: str = "") -> Formulation:
    return Formulation(f"encoder-{name}", "encoder", {ENCODER_LAYER: texts}, imports)


def _decoder(name: str, *texts: str, imports: str = "") -> Formulation:
    return Formulation(f"decoder-{name}", "decoder", {DECODER_LAYER: texts}, imports)


def _step(name: str, text: str) -> Formulation:
    return Formulation(f"step-{name}", "decoder", {LAYER_STEP: (text,)})


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

ENCODER = [
    _encoder(
        "residual-first",
        """
        residual = x
        x = self.self_attn(query=x, key=x, value=x, key_padding_mask=self_attn_padding_mask)
        x = self.dropout(x)
        x = self.self_attn_layer_norm(residual + x)
        """,
        """
        residual = x
        x = self.fc2(self.activation_fn(self.fc1(x)))
        x = self.final_layer_norm(residual + self.dropout(x))
        """,
    ),
    _encoder(
        "in-place",
        """
        attended = self.dropout(self.self_attn(x, x, x, self_attn_padding_mask, None))
        attended += x
        x = self.self_attn_layer_norm(attended)
        """,
        """
        output = self.dropout(self.fc2(self.fc1(x).relu_()))
        output += x
        x = self.final_layer_norm(output)
        """,
    ),
    _encoder(
        "functional",
        """
        padding = None if self_attn_padding_mask is None else self_attn_padding_mask.bool()
        x = x + self.dropout(self.self_attn(x, x, x, padding))
        norm = self.self_attn_layer_norm
        x = F.layer_norm(x, norm.normalized_shape, norm.weight, norm.bias, norm.eps)
        """,
        """
        hidden = F.relu(F.linear(x, self.fc1.weight, self.fc1.bias))
        x = x + self.dropout(F.linear(hidden, self.fc2.weight, self.fc2.bias))
        x = F.layer_norm(x, (x.size(-1),), self.final_layer_norm.weight, self.final_layer_norm.bias, 1e-5)
        """,
        imports=F,
    ),
    _encoder(
        "norm-by-hand",
        """
        x = x + self.dropout(self.self_attn(x, x, x, key_padding_mask=self_attn_padding_mask))
        norm = self.self_attn_layer_norm
        x = (x - x.mean(-1, keepdim=True)) / (x.var(-1, unbiased=False, keepdim=True) + norm.eps).sqrt()
        x = x * norm.weight + norm.bias
        """,
        """
        hidden = torch.relu(x @ self.fc1.weight.T + self.fc1.bias)
        x = x + self.dropout(hidden @ self.fc2.weight.T + self.fc2.bias)
        norm = self.final_layer_norm
        x = (x - x.mean(-1, keepdim=True)) / x.std(-1, correction=0, keepdim=True).square().add(norm.eps).sqrt()
        x = x * norm.weight + norm.bias
        """,
    ),
    _encoder(
        "attention-in-three-calls",
        """
        attention = self.self_attn
        q, k, v = attention.compute_mh_qkv_transformation(x, x, x)
        merged = attention.compute_scaled_dot_product_attention(q, k, v, key_padding_mask=self_attn_padding_mask)
        x = self.self_attn_layer_norm(self.dropout(attention.W_o(merged)) + x)
        """,
        """
        hidden = torch.clamp(self.fc1(x), min=0)
        x = self.final_layer_norm(self.dropout(self.fc2(hidden)) + x)
        """,
    ),
    _encoder(
        "padding-as-attention-mask",
        """
        mask = self_attn_padding_mask
        if mask is not None:
            mask = mask.unsqueeze(1).expand(-1, x.size(1), -1)  # (B, T) -> (B, T, T)
        x = self.self_attn_layer_norm(x + self.dropout(self.self_attn(x, x, x, attention_mask=mask)))
        """,
        """
        hidden = self.fc1(x)
        hidden = torch.where(hidden > 0, hidden, torch.zeros_like(hidden))
        x = self.final_layer_norm(x + self.dropout(self.fc2(hidden)))
        """,
    ),
]

DECODER = [
    _decoder(
        "merged-masks",
        """
        mask = self_attn_mask
        if self_attn_padding_mask is not None:
            padding = self_attn_padding_mask.bool()[:, None, :].repeat(1, x.size(1), 1)  # (B, T_d) -> (B, T_d, T_d)
            mask = padding if mask is None else torch.logical_or(mask, padding)
        x = self.self_attn_layer_norm(x + self.dropout(self.self_attn(x, x, x, None, mask)))
        """,
        """
        output = self.encoder_attn(x, encoder_out, encoder_out, encoder_padding_mask)
        x = self.encoder_attn_layer_norm(self.dropout(output) + x)
        """,
        """
        output = self.fc2(torch.maximum(self.fc1(x), torch.zeros(1, dtype=x.dtype)))
        x = self.final_layer_norm(self.dropout(output) + x)
        """,
    ),
    _decoder(
        "in-place",
        """
        residual = x
        x = self.self_attn(x, x, x, key_padding_mask=self_attn_padding_mask, attention_mask=self_attn_mask)
        x = self.dropout(x)
        x += residual
        x = self.self_attn_layer_norm(x)
        """,
        """
        residual = x
        x = self.dropout(self.encoder_attn(x, encoder_out, encoder_out, key_padding_mask=encoder_padding_mask))
        x += residual
        x = self.encoder_attn_layer_norm(x)
        """,
        """
        residual = x
        x = self.dropout(self.fc2(F.relu(self.fc1(x), inplace=True)))
        x += residual
        x = self.final_layer_norm(x)
        """,
        imports=F,
    ),
    _decoder(
        "functional",
        """
        def add_and_norm(norm, x, output):
            return F.layer_norm(x + self.dropout(output), (self.embedding_dim,), norm.weight, norm.bias)

        output = self.self_attn(
            query=x, key=x, value=x, attention_mask=self_attn_mask, key_padding_mask=self_attn_padding_mask
        )
        x = add_and_norm(self.self_attn_layer_norm, x, output)
        """,
        """
        output = self.encoder_attn(query=x, key=encoder_out, value=encoder_out, key_padding_mask=encoder_padding_mask)
        x = add_and_norm(self.encoder_attn_layer_norm, x, output)
        """,
        """
        x = add_and_norm(self.final_layer_norm, x, self.fc2(nn.functional.relu(self.fc1(x))))
        """,
        imports=F,
    ),
    _decoder(
        "masks-as-float",
        """
        padding = None if self_attn_padding_mask is None else (self_attn_padding_mask != 0).float()
        mask = None if self_attn_mask is None else (self_attn_mask != 0).to(x.dtype)
        x = self.self_attn_layer_norm(x + self.dropout(self.self_attn(x, x, x, padding, mask)))
        """,
        """
        padding = None if encoder_padding_mask is None else (encoder_padding_mask != 0).float()
        x = self.encoder_attn_layer_norm(x + self.dropout(self.encoder_attn(x, encoder_out, encoder_out, padding)))
        """,
        """
        hidden = self.fc1(x)
        x = self.final_layer_norm(x + self.dropout(self.fc2(hidden * (hidden > 0))))
        """,
    ),
    _step(
        "recompute-all",
        """
        y = self.forward(x, encoder_out, encoder_padding_mask, self_attn_padding_mask, self_attn_mask)
        return y if cache is None else torch.cat((cache, y[:, -1:, :]), dim=1)
        """,
    ),
    _step(
        "attend-all-then-cut",
        """
        y = self.self_attn(x, x, x, self_attn_padding_mask, self_attn_mask)
        y = self.self_attn_layer_norm(self.dropout(y) + x)
        known = 0 if cache is None else x.size(1) - 1
        y = y[:, known:]
        if self.encoder_attn is not None:
            crossed = self.encoder_attn(y, encoder_out, encoder_out, encoder_padding_mask)
            y = self.encoder_attn_layer_norm(self.dropout(crossed) + y)
        y = self.final_layer_norm(self.dropout(self.fc2(torch.relu(self.fc1(y)))) + y)
        return torch.cat([x[:, :0] if cache is None else cache, y], dim=1)
        """,
    ),
    _step(
        "projections-of-the-last-query",
        """
        if cache is None:
            return self.forward(x, encoder_out, encoder_padding_mask, self_attn_padding_mask, self_attn_mask)
        last = x[:, -1].unsqueeze(1)
        q, k, v = self.self_attn.compute_mh_qkv_transformation(last, x, x)
        row = self_attn_mask[:, -1, :].unsqueeze(1) if self_attn_mask is not None else None
        y = self.self_attn.W_o(
            self.self_attn.compute_scaled_dot_product_attention(q, k, v, self_attn_padding_mask, row)
        )
        y = self.self_attn_layer_norm(last + self.dropout(y))
        if self.encoder_attn is not None:
            q, k, v = self.encoder_attn.compute_mh_qkv_transformation(y, encoder_out, encoder_out)
            z = self.encoder_attn.compute_scaled_dot_product_attention(q, k, v, encoder_padding_mask)
            y = self.encoder_attn_layer_norm(y + self.dropout(self.encoder_attn.W_o(z)))
        y = self.final_layer_norm(y + self.dropout(self.fc2(self.activation_fn(self.fc1(y)))))
        out = x.new_empty(x.shape)
        out[:, :-1] = cache
        out[:, -1:] = y
        return out
        """,
    ),
    Formulation(
        "step-list-prepared",
        "decoder",
        {
            DECODER_STEP: (
                """
                if cache is None:
                    cache = [None] * len(self.layers)
                new_cache = [None] * len(self.layers)
                for i in range(len(self.layers)):
                    new_cache[i] = x = self.layers[i].forward_one_step_ec(
                        x, encoder_out, encoder_padding_mask, decoder_padding_mask, decoder_attention_mask, cache[i]
                    )
                y = new_cache[-1][:, -1].unsqueeze(1)
                """,
            )
        },
    ),
    Formulation(
        "step-list-extended",
        "decoder",
        {
            DECODER_STEP: (
                """
                old = [None for _ in self.layers] if cache is None else cache
                new_cache = []
                for layer, layer_cache in zip(self.layers, old):
                    new_cache += [
                        layer.forward_one_step_ec(
                            new_cache[-1] if new_cache else x,
                            cache=layer_cache,
                            self_attn_mask=decoder_attention_mask,
                            self_attn_padding_mask=decoder_padding_mask,
                            encoder_padding_mask=encoder_padding_mask,
                            encoder_out=encoder_out,
                        )
                    ]
                y = new_cache[-1].narrow(1, new_cache[-1].size(1) - 1, 1)
                """,
            )
        },
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

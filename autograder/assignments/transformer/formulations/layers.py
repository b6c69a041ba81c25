"""Formulations: other correct ways to write the encoder layer, the decoder layer and one-step decoding."""

from autograder.authoring.formulations import Formulation

ENCODER_LAYER, DECODER_LAYER = "TransformerEncoderLayer.forward", "TransformerDecoderLayer.forward"
LAYER_STEP, DECODER_STEP = "TransformerDecoderLayer.forward_one_step_ec", "TransformerDecoder.forward_one_step_ec"
F = "import torch.nn.functional as F"


def _encoder(name: str, *texts: str, imports: str = "") -> Formulation:
    return Formulation(f"encoder-{name}", "encoder", {ENCODER_LAYER: texts}, imports)


def _decoder(name: str, *texts: str, imports: str = "") -> Formulation:
    return Formulation(f"decoder-{name}", "decoder", {DECODER_LAYER: texts}, imports)


def _step(name: str, text: str) -> Formulation:
    return Formulation(f"step-{name}", "decoder", {LAYER_STEP: (text,)})


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

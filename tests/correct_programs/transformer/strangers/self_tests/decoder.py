# Differs from the solution in:

class TransformerDecoderLayer(nn.Module):
    def forward(
        self,
        x: torch.Tensor,
        encoder_out: torch.Tensor | None = None,
        encoder_padding_mask: torch.Tensor | None = None,
        self_attn_padding_mask: torch.Tensor | None = None,
        self_attn_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        attn = self.self_attn(x, x, x, key_padding_mask=self_attn_padding_mask, attention_mask=self_attn_mask)
        x = self.self_attn_layer_norm(x + self.dropout(attn))
        if self.encoder_attn is not None and self.encoder_attn_layer_norm is not None:
            attn = self.encoder_attn(x, encoder_out, encoder_out, key_padding_mask=encoder_padding_mask)
            x = self.encoder_attn_layer_norm(x + self.dropout(attn))
        ffn = self.fc2(self.activation_fn(self.fc1(x)))
        x = self.final_layer_norm(x + self.dropout(ffn))
        return x

    def forward_one_step_ec(
        self,
        x: torch.Tensor,
        encoder_out: torch.Tensor | None = None,
        encoder_padding_mask: torch.Tensor | None = None,
        self_attn_padding_mask: torch.Tensor | None = None,
        self_attn_mask: torch.Tensor | None = None,
        cache: torch.Tensor | None = None,
    ) -> torch.Tensor:
        if cache is None:
            query = x
        else:
            query = x[:, -1:]
            if self_attn_mask is not None:
                self_attn_mask = self_attn_mask[:, -1:]
        attn = self.self_attn(query, x, x, key_padding_mask=self_attn_padding_mask, attention_mask=self_attn_mask)
        y = self.self_attn_layer_norm(query + self.dropout(attn))
        if self.encoder_attn is not None and self.encoder_attn_layer_norm is not None:
            attn = self.encoder_attn(y, encoder_out, encoder_out, key_padding_mask=encoder_padding_mask)
            y = self.encoder_attn_layer_norm(y + self.dropout(attn))
        ffn = self.fc2(self.activation_fn(self.fc1(y)))
        y = self.final_layer_norm(y + self.dropout(ffn))
        if cache is not None:
            y = torch.cat([cache, y], dim=1)
        return y


if __name__ == "__main__":
    torch.manual_seed(0)
    stack = TransformerDecoder(3, 8, 16, 2, output_layer_size=7).eval()
    x, memory, causal = (torch.randn(2, 6, 8), torch.randn(2, 4, 8), torch.ones(1, 6, 6).triu(1))
    everything = stack(x, None, causal, memory)
    cache = None
    for t in range(1, 7):
        y, cache = stack.forward_one_step_ec(x[:, :t], None, causal[:, :t, :t], memory, cache=cache)
        assert torch.allclose(y[:, 0], everything[:, t - 1], atol=1e-05)
    print("decoder: ok")

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
        p, tr = self.dropout.p, self.training
        x = self.self_attn_layer_norm(x + torch.dropout(self.self_attn(x, x, x, self_attn_padding_mask, self_attn_mask), p, tr))
        if self.encoder_attn is not None:
            c = self.encoder_attn(x, encoder_out, encoder_out, encoder_padding_mask)
            x = self.encoder_attn_layer_norm(x + torch.dropout(c, p, tr))
        f = self.fc2(torch.relu(self.fc1(x)))
        return self.final_layer_norm(x + torch.dropout(f, p, tr))

    def forward_one_step_ec(
        self,
        x: torch.Tensor,
        encoder_out: torch.Tensor | None = None,
        encoder_padding_mask: torch.Tensor | None = None,
        self_attn_padding_mask: torch.Tensor | None = None,
        self_attn_mask: torch.Tensor | None = None,
        cache: torch.Tensor | None = None,
    ) -> torch.Tensor:
        old = 0 if cache is None else cache.shape[1]
        new = torch.arange(old, x.shape[1], device=x.device)
        q = x.index_select(1, new)
        m = None if self_attn_mask is None else self_attn_mask.index_select(1, new)
        p, tr = self.dropout.p, self.training
        q = self.self_attn_layer_norm(q + torch.dropout(self.self_attn(q, x, x, self_attn_padding_mask, m), p, tr))
        if self.encoder_attn is not None:
            c = self.encoder_attn(q, encoder_out, encoder_out, encoder_padding_mask)
            q = self.encoder_attn_layer_norm(q + torch.dropout(c, p, tr))
        q = self.final_layer_norm(q + torch.dropout(self.fc2(torch.relu(self.fc1(q))), p, tr))
        if cache is None:
            return q
        return torch.cat((cache, q), 1)

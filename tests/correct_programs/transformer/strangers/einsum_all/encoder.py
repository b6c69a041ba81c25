# Differs from the solution in:

class TransformerEncoderLayer(nn.Module):
    def forward(self, x: torch.Tensor, self_attn_padding_mask: torch.Tensor | None = None) -> torch.Tensor:
        z = self.self_attn(query=x, key=x, value=x, key_padding_mask=self_attn_padding_mask)
        x = self.self_attn_layer_norm(self.dropout(z) + x)
        h = self.activation_fn(torch.einsum("btd,fd->btf", x, self.fc1.weight) + self.fc1.bias)
        z = torch.einsum("btf,df->btd", h, self.fc2.weight) + self.fc2.bias
        return self.final_layer_norm(self.dropout(z) + x)

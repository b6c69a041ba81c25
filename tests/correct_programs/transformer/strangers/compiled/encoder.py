# Differs from the solution in:

def feed_forward(x, w1, b1, w2, b2):
    return torch.addmm(b2, torch.relu(torch.addmm(b1, x.flatten(0, 1), w1.t())), w2.t()).view(x.shape)


fast_feed_forward = torch.compile(feed_forward)


class TransformerEncoderLayer(nn.Module):
    def forward(self, x: torch.Tensor, self_attn_padding_mask: torch.Tensor | None = None) -> torch.Tensor:
        x = self.self_attn_layer_norm(x + self.dropout(self.self_attn(x, x, x, self_attn_padding_mask)))
        y = fast_feed_forward(x, self.fc1.weight, self.fc1.bias, self.fc2.weight, self.fc2.bias)
        return self.final_layer_norm(x + self.dropout(y))

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
        y = self.self_attn(x, x, x, key_padding_mask=self_attn_padding_mask, attention_mask=self_attn_mask)
        torch.dropout_(y, self.dropout.p, self.training)
        y += x
        x = self.self_attn_layer_norm(y)
        if self.encoder_attn is not None and self.encoder_attn_layer_norm is not None:
            y = self.encoder_attn(x, encoder_out, encoder_out, key_padding_mask=encoder_padding_mask)
            torch.dropout_(y, self.dropout.p, self.training)
            y += x
            x = self.encoder_attn_layer_norm(y)
        y = self.fc2(self.fc1(x).relu_())
        torch.dropout_(y, self.dropout.p, self.training)
        y += x
        return self.final_layer_norm(y)


class TransformerDecoder(nn.Module):
    def forward_one_step_ec(
        self,
        x: torch.Tensor,
        decoder_padding_mask: torch.Tensor | None = None,
        decoder_attention_mask: torch.Tensor | None = None,
        encoder_out: torch.Tensor | None = None,
        encoder_padding_mask: torch.Tensor | None = None,
        cache: list[torch.Tensor] | None = None,
    ) -> tuple[torch.Tensor, list[torch.Tensor]]:
        new_cache = list(cache) if cache is not None else [None] * len(self.layers)
        for i in range(len(self.layers)):
            new_cache[i] = x = self.layers[i].forward_one_step_ec(
                x,
                encoder_out=encoder_out,
                encoder_padding_mask=encoder_padding_mask,
                self_attn_padding_mask=decoder_padding_mask,
                self_attn_mask=decoder_attention_mask,
                cache=new_cache[i],
            )
        y = x[:, -1:].clone()
        if self.output_layer is not None:
            y = self.output_layer(y)
        return y, new_cache

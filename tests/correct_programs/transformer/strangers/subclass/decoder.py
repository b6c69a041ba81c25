import torch
from encoder import TransformerLayer, TransformerStack
from mha import CrossAttention
from torch import nn


class TransformerDecoderLayer(TransformerLayer):
    def __init__(
        self,
        embedding_dim: int,
        ffn_embedding_dim: int,
        num_attention_heads: int,
        dropout_prob: float = 0.1,
        no_encoder_attn: bool = False,
    ) -> None:
        super().__init__(embedding_dim, ffn_embedding_dim, num_attention_heads, dropout_prob)
        self.encoder_attn = None
        self.encoder_attn_layer_norm = None
        if not no_encoder_attn:
            self.encoder_attn = CrossAttention(embedding_dim, num_attention_heads)
            self.encoder_attn_layer_norm = nn.LayerNorm(embedding_dim)

    def cross_attention(self, x, memory, memory_padding_mask):
        if self.encoder_attn is None:
            return x
        return self.add_norm(x, self.encoder_attn(x, memory, memory_padding_mask), self.encoder_attn_layer_norm)

    def forward(
        self,
        x: torch.Tensor,
        encoder_out: torch.Tensor | None = None,
        encoder_padding_mask: torch.Tensor | None = None,
        self_attn_padding_mask: torch.Tensor | None = None,
        self_attn_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        x = self.self_attention(x, self_attn_padding_mask, self_attn_mask)
        x = self.cross_attention(x, encoder_out, encoder_padding_mask)
        return self.feed_forward(x)

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
            return self(x, encoder_out, encoder_padding_mask, self_attn_padding_mask, self_attn_mask)
        row = None if self_attn_mask is None else self_attn_mask[:, -1:]
        y = self.self_attention(x[:, -1:], self_attn_padding_mask, row, keys=x)
        y = self.cross_attention(y, encoder_out, encoder_padding_mask)
        return torch.cat([cache, self.feed_forward(y)], dim=1)


class TransformerDecoder(TransformerStack):
    def __init__(
        self,
        num_layers: int,
        embedding_dim: int,
        ffn_embedding_dim: int,
        num_attention_heads: int,
        dropout_prob: float = 0.1,
        no_encoder_attn: bool = False,
        output_layer_size: int | None = None,
    ) -> None:
        sizes = (embedding_dim, ffn_embedding_dim, num_attention_heads, dropout_prob, no_encoder_attn)
        layers = [TransformerDecoderLayer(*sizes) for _ in range(num_layers)]
        super().__init__(layers, embedding_dim, output_layer_size)

    def forward(
        self,
        x: torch.Tensor,
        decoder_padding_mask: torch.Tensor | None = None,
        decoder_attention_mask: torch.Tensor | None = None,
        encoder_out: torch.Tensor | None = None,
        encoder_padding_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x, encoder_out, encoder_padding_mask, decoder_padding_mask, decoder_attention_mask)
        return self.output(x)

    def forward_one_step_ec(
        self,
        x: torch.Tensor,
        decoder_padding_mask: torch.Tensor | None = None,
        decoder_attention_mask: torch.Tensor | None = None,
        encoder_out: torch.Tensor | None = None,
        encoder_padding_mask: torch.Tensor | None = None,
        cache: list[torch.Tensor] | None = None,
    ) -> tuple[torch.Tensor, list[torch.Tensor]]:
        new_cache: list[torch.Tensor] = []
        for number, layer in enumerate(self.layers):
            x = layer.forward_one_step_ec(
                x,
                encoder_out,
                encoder_padding_mask,
                decoder_padding_mask,
                decoder_attention_mask,
                cache=cache[number] if cache else None,
            )
            new_cache.append(x)
        return (self.output(x[:, -1:]), new_cache)

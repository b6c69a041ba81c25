import torch
from mha import MultiHeadAttention
from torch import nn


class TransformerDecoderLayer(nn.Module):
    def __init__(
        self,
        embedding_dim: int,
        ffn_embedding_dim: int,
        num_attention_heads: int,
        dropout_prob: float = 0.1,
        no_encoder_attn: bool = False,
    ) -> None:
        super().__init__()
        self.embedding_dim = embedding_dim
        self.self_attn = MultiHeadAttention(embedding_dim, num_attention_heads)
        self.self_attn_layer_norm = nn.LayerNorm(embedding_dim)
        self.encoder_attn: MultiHeadAttention | None = None
        self.encoder_attn_layer_norm: nn.LayerNorm | None = None
        if not no_encoder_attn:
            self.encoder_attn = MultiHeadAttention(embedding_dim, num_attention_heads)
            self.encoder_attn_layer_norm = nn.LayerNorm(embedding_dim)
        self.activation_fn = nn.ReLU()
        self.fc1 = nn.Linear(embedding_dim, ffn_embedding_dim)
        self.fc2 = nn.Linear(ffn_embedding_dim, embedding_dim)
        self.final_layer_norm = nn.LayerNorm(embedding_dim)
        self.dropout = nn.Dropout(dropout_prob)

    def forward(
        self,
        x: torch.Tensor,
        encoder_out: torch.Tensor | None = None,
        encoder_padding_mask: torch.Tensor | None = None,
        self_attn_padding_mask: torch.Tensor | None = None,
        self_attn_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        return self.final_layer_norm((y := self.encoder_attn_layer_norm((z := self.self_attn_layer_norm(x + nn.functional.dropout(self.self_attn(x, x, x, self_attn_padding_mask, self_attn_mask), self.dropout.p, self.training))) + nn.functional.dropout(self.encoder_attn(z, encoder_out, encoder_out, encoder_padding_mask), self.dropout.p, self.training)) if self.encoder_attn else self.self_attn_layer_norm(x + nn.functional.dropout(self.self_attn(x, x, x, self_attn_padding_mask, self_attn_mask), self.dropout.p, self.training))) + nn.functional.dropout(self.fc2(self.activation_fn(self.fc1(y))), self.dropout.p, self.training))

    def forward_one_step_ec(
        self,
        x: torch.Tensor,
        encoder_out: torch.Tensor | None = None,
        encoder_padding_mask: torch.Tensor | None = None,
        self_attn_padding_mask: torch.Tensor | None = None,
        self_attn_mask: torch.Tensor | None = None,
        cache: torch.Tensor | None = None,
    ) -> torch.Tensor:
        d = lambda t: nn.functional.dropout(t, self.dropout.p, self.training)
        n, a = (0, self_attn_mask) if cache is None else (cache.size(1), self_attn_mask if self_attn_mask is None else self_attn_mask[:, cache.size(1):])
        y = self.self_attn_layer_norm(x[:, n:] + d(self.self_attn(x[:, n:], x, x, self_attn_padding_mask, a))); y = self.encoder_attn_layer_norm(y + d(self.encoder_attn(y, encoder_out, encoder_out, encoder_padding_mask))) if self.encoder_attn else y
        return torch.cat([t for t in (cache, self.final_layer_norm(y + d(self.fc2(self.activation_fn(self.fc1(y)))))) if t is not None], 1)


class TransformerDecoder(nn.Module):
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
        super().__init__()
        self.layers = nn.ModuleList(
            TransformerDecoderLayer(
                embedding_dim, ffn_embedding_dim, num_attention_heads, dropout_prob, no_encoder_attn
            )
            for _ in range(num_layers)
        )
        self.output_layer = None if output_layer_size is None else nn.Linear(embedding_dim, output_layer_size)

    def forward(
        self,
        x: torch.Tensor,
        decoder_padding_mask: torch.Tensor | None = None,
        decoder_attention_mask: torch.Tensor | None = None,
        encoder_out: torch.Tensor | None = None,
        encoder_padding_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        for layer in self.layers:
            x = layer(
                x,
                encoder_out=encoder_out,
                encoder_padding_mask=encoder_padding_mask,
                self_attn_padding_mask=decoder_padding_mask,
                self_attn_mask=decoder_attention_mask,
            )
        if self.output_layer is not None:
            x = self.output_layer(x)
        return x

    def forward_one_step_ec(
        self,
        x: torch.Tensor,
        decoder_padding_mask: torch.Tensor | None = None,
        decoder_attention_mask: torch.Tensor | None = None,
        encoder_out: torch.Tensor | None = None,
        encoder_padding_mask: torch.Tensor | None = None,
        cache: list[torch.Tensor] | None = None,
    ) -> tuple[torch.Tensor, list[torch.Tensor]]:
        new_cache = [x := layer.forward_one_step_ec(x, encoder_out, encoder_padding_mask, decoder_padding_mask, decoder_attention_mask, c) for layer, c in zip(self.layers, cache or [None] * len(self.layers))]
        return (self.output_layer(x[:, -1:]) if self.output_layer else x[:, -1:]), new_cache

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
        self._remember(encoder_out, encoder_padding_mask, self_attn_padding_mask, self_attn_mask)
        x = self._self_attention(x, x)
        if self.encoder_attn is not None and self.encoder_attn_layer_norm is not None:
            x = self._cross_attention(x)
        x = self._ffn(x)
        return x

    def _remember(self, encoder_out, encoder_padding_mask, self_attn_padding_mask, self_attn_mask):
        self.memory = encoder_out
        self.memory_mask = encoder_padding_mask
        self.padding = self_attn_padding_mask
        self.mask = self_attn_mask

    def _self_attention(self, x, keys):
        out = self.self_attn(x, keys, keys, key_padding_mask=self.padding, attention_mask=self.mask)
        return self.self_attn_layer_norm(x + self.dropout(out))

    def _cross_attention(self, x):
        out = self.encoder_attn(x, self.memory, self.memory, key_padding_mask=self.memory_mask)
        return self.encoder_attn_layer_norm(x + self.dropout(out))

    def _ffn(self, x):
        return self.final_layer_norm(x + self.dropout(self.fc2(self.activation_fn(self.fc1(x)))))

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
            return self.forward(x, encoder_out, encoder_padding_mask, self_attn_padding_mask, self_attn_mask)
        if self_attn_mask is not None:
            self_attn_mask = self_attn_mask[:, [-1], :]
        self._remember(encoder_out, encoder_padding_mask, self_attn_padding_mask, self_attn_mask)
        self.new = self._self_attention(x[:, [-1], :], x)
        if self.encoder_attn is not None:
            self.new = self._cross_attention(self.new)
        self.new = self._ffn(self.new)
        return torch.cat([cache, self.new], 1)


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
            (
                TransformerDecoderLayer(
                    embedding_dim, ffn_embedding_dim, num_attention_heads, dropout_prob, no_encoder_attn
                )
                for _ in range(num_layers)
            )
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
        self.new_cache = []
        for n in range(len(self.layers)):
            x = self.layers[n].forward_one_step_ec(
                x=x,
                encoder_out=encoder_out,
                encoder_padding_mask=encoder_padding_mask,
                self_attn_padding_mask=decoder_padding_mask,
                self_attn_mask=decoder_attention_mask,
                cache=cache[n] if cache is not None else None,
            )
            self.new_cache.append(x)
        new_cache = self.new_cache
        y = new_cache[-1][:, -1:, :]
        if self.output_layer is not None:
            y = self.output_layer(y)
        return (y, new_cache)

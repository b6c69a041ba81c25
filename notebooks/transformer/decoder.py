"""Stage 4: the Transformer decoder; stage 5: one decoding step ("Attention Is All You Need", sections 3.1 to 3.3)."""

import torch
from mha import MultiHeadAttention
from torch import nn


class TransformerDecoderLayer(nn.Module):
    """One decoder layer: masked self-attention, cross-attention to the encoder, feed-forward network.

    Each sub-layer is wrapped as in the encoder: x = LayerNorm(x + Dropout(Sublayer(x))). With
    `no_encoder_attn=True` there is no cross-attention, as in a language model.
    """

    def __init__(
        self,
        embedding_dim: int,
        ffn_embedding_dim: int,
        num_attention_heads: int,
        dropout_prob: float = 0.1,
        no_encoder_attn: bool = False,
    ) -> None:
        super().__init__()
        self.embedding_dim = embedding_dim  # d_model
        self.self_attn = MultiHeadAttention(embedding_dim, num_attention_heads)
        self.self_attn_layer_norm = nn.LayerNorm(embedding_dim)
        self.encoder_attn: MultiHeadAttention | None = None
        self.encoder_attn_layer_norm: nn.LayerNorm | None = None
        if not no_encoder_attn:
            self.encoder_attn = MultiHeadAttention(embedding_dim, num_attention_heads)
            self.encoder_attn_layer_norm = nn.LayerNorm(embedding_dim)
        self.activation_fn = nn.ReLU()
        self.fc1 = nn.Linear(embedding_dim, ffn_embedding_dim)  # W_1 and b_1
        self.fc2 = nn.Linear(ffn_embedding_dim, embedding_dim)  # W_2 and b_2
        self.final_layer_norm = nn.LayerNorm(embedding_dim)  # the norm of the feed-forward sub-layer
        self.dropout = nn.Dropout(dropout_prob)  # used for all sub-layers

    def forward(
        self,
        x: torch.Tensor,
        encoder_out: torch.Tensor | None = None,
        encoder_padding_mask: torch.Tensor | None = None,
        self_attn_padding_mask: torch.Tensor | None = None,
        self_attn_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Apply the sub-layers to all target positions at once (teacher forcing); x is not modified.

        Dropout applies to the output of each sub-layer and nowhere else.

        Args:
            x: (B, T_d, d_model), the embedded target or the output of the layer below.
            encoder_out: (B, T_e, d_model), the encoder's output. Cross-attention takes its keys and values from it.
            encoder_padding_mask: (B, T_e), non-zero where the source is padding, or None.
            self_attn_padding_mask: (B, T_d), non-zero where the target is padding, or None.
            self_attn_mask: (1, T_d, T_d) or (B, T_d, T_d), non-zero where a position must not look, or None.
                For teacher forcing this is the causal mask, non-zero above the diagonal.

        Returns:
            (B, T_d, d_model).
        """
        # Self-attention over the target, dropout, residual connection, layer norm.
        raise NotImplementedError("Stage 4: TransformerDecoderLayer.forward, part 1 of 3, is not written yet")

        # Cross-attention to the encoder's output, dropout, residual connection, layer norm.
        if self.encoder_attn is not None and self.encoder_attn_layer_norm is not None:
            raise NotImplementedError("Stage 4: TransformerDecoderLayer.forward, part 2 of 3, is not written yet")

        # Feed-forward network, dropout, residual connection, layer norm.
        raise NotImplementedError("Stage 4: TransformerDecoderLayer.forward, part 3 of 3, is not written yet")
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
        """Compute this layer's output for the last target position only, and append it to the outputs in the cache.

        The last position attends to all T_d positions of x: there is one query, but there are T_d keys and values.
        Both masks of self-attention cover all T_d positions, as in `forward`.

        The cache holds outputs of this layer. It is not a "KV cache", which holds keys and values so that earlier
        positions are not projected again.

        Args:
            x: (B, T_d, d_model), the inputs to this layer at all positions so far.
            encoder_out, encoder_padding_mask, self_attn_padding_mask, self_attn_mask: as in `forward`.
            cache: (B, T_d - 1, d_model), this layer's outputs at the earlier positions. None means that nothing is
                cached yet: compute all positions of x.

        Returns:
            (B, T_d, d_model): the cache, then the new position.
        """
        # The query is the last position, or all positions if there is no cache; then come the three sub-layers.
        raise NotImplementedError("Stage 5: TransformerDecoderLayer.forward_one_step_ec is not written yet")


class TransformerDecoder(nn.Module):
    """A stack of decoder layers, with an output layer on top if `output_layer_size` is given.

    The stack and the layer take their arguments in different orders. Here the decoder's masks come first; in the layer,
    `encoder_out` comes first. Pass them by name.
    """

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
        """Apply the layers one after the other, then the output layer if there is one.

        Args:
            x: the embedded target, (B, T_d, d_model).
            decoder_padding_mask: (B, T_d), non-zero where the target is padding, or None.
            decoder_attention_mask: (1, T_d, T_d) or (B, T_d, T_d), the causal mask, or None.
            encoder_out: (B, T_e, d_model), the encoder's output.
            encoder_padding_mask: (B, T_e), non-zero where the source is padding, or None.

        Returns:
            (B, T_d, d_model), or (B, T_d, output_layer_size).
        """
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
        """Decode one step: every layer computes its last position only.

        The result of a layer (its cache with the new position) is the input to the layer above, because the layer
        above attends to all positions.

        Args:
            x: the embedded target so far, (B, T_d, d_model).
            decoder_padding_mask, decoder_attention_mask, encoder_out, encoder_padding_mask: as in `forward`.
            cache: for each layer, its outputs at the earlier positions, (B, T_d - 1, d_model); None at the first step.

        Returns:
            y: (B, 1, d_model) or (B, 1, output_layer_size), the output at the last position.
            new_cache: a new list: for each layer, its outputs at all positions, (B, T_d, d_model).
        """
        # Compute new_cache and y (before the output layer).
        raise NotImplementedError("Stage 5: TransformerDecoder.forward_one_step_ec is not written yet")
        if self.output_layer is not None:
            y = self.output_layer(y)
        return y, new_cache

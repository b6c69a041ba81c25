"""Stage 3: a language model, the decoder-only Transformer in the style of GPT-2 (Radford et al., 2019).

It differs from the Transformer of 2017: there is no encoder and no cross-attention; the norms come before the
sub-layers (pre-norm), with one more at the end; GELU replaces ReLU; the positions are learned. In shapes, B = batch,
T = positions, V = vocabulary.
"""

from abc import ABC, abstractmethod
from typing import Any

import torch
import torch.nn.functional as F
from heads import MultiHeadAttentionEfficient
from layers import FeedForward, LayerNorm
from torch import nn


class Block(nn.Module):
    """One layer: self-attention, then the feed-forward network, each wrapped as x + Sublayer(LayerNorm(x))."""

    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float) -> None:
        super().__init__()
        self.norm1 = LayerNorm(d_model)
        self.attention = MultiHeadAttentionEfficient(d_model, num_heads, dropout)
        self.norm2 = LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff, dropout)

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """Apply both sub-layers (pre-norm): `norm1` before the attention, `norm2` before the feed-forward network.

        The residual connections bypass the norms: they add x itself, not the normalised x. Both sub-layers already end
        with their own dropout, so you need none here.

        Args:
            x: (B, T, d_model), the embedded tokens or the output of the previous layer.
            mask: boolean, True where a position may not attend, or None; see `heads`.

        Returns:
            (B, T, d_model).
        """
        raise NotImplementedError("Stage 3: Block.forward is not written yet")


class AbstractTransformer(nn.Module, ABC):
    """The common parts of a language model and a tagger. The class has no `forward`, so it cannot be instantiated.

    It has token embeddings, position embeddings, dropout, the layers, and a final norm. The initial values are small:
    weights from N(0, 0.02), biases 0.
    """

    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        num_heads: int,
        num_layers: int,
        d_ff: int,
        max_len: int,
        dropout: float,
        padding_idx: int,
    ) -> None:
        super().__init__()
        self.max_len = max_len  # the largest number of positions
        self.padding_idx = padding_idx  # the token that pads shorter sequences
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(max_len, d_model)
        self.dropout = nn.Dropout(dropout)  # of the embedded input
        self.blocks = nn.ModuleList(Block(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.norm = LayerNorm(d_model)
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                nn.init.normal_(module.weight, std=0.02)
            if isinstance(module, nn.Linear):
                nn.init.zeros_(module.bias)

    @abstractmethod
    def forward(self, *args: Any, **kwargs: Any) -> torch.Tensor:
        """Compute the logits from the tokens."""


class DecoderTransformer(AbstractTransformer):
    """A language model. Position t sees the tokens up to and including t, and predicts the token at t + 1.

    There is no output layer: the logits are products with the embeddings of all tokens (tied weights, as in GPT-2
    and in section 3.4 of the 2017 paper).
    """

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Score every token of the vocabulary as the next token, at all positions at once.

            x = Dropout(token_embedding(tokens) + position_embedding(0, 1, ..., T - 1))
            the layers, one after the other, with the causal mask
            logits = LayerNorm(x) E^T, where E is the weight of token_embedding

        Apply the causal mask in training and in evaluation mode. Do not scale the embeddings. Padding needs no mask:
        it is at the end of a sequence, where no earlier position can see it.

        Args:
            tokens: token indices, (B, T).

        Returns:
            (B, T, V), the logits: scores before the softmax.

        Raises:
            ValueError: if T is larger than `max_len`. The message names both numbers.
        """
        raise NotImplementedError("Stage 3: DecoderTransformer.forward is not written yet")

    def loss(self, tokens: torch.Tensor) -> torch.Tensor:
        """The mean cross-entropy of the next tokens, in nats.

        The model reads all tokens but the last and predicts all but the first. Targets equal to `padding_idx` count
        neither in the sum nor in the number of targets: the loss is the mean over all other targets of the batch.

        Args:
            tokens: (B, T), padded at the end with `padding_idx`; T may be max_len + 1, as the model does not read the
                last token.

        Returns:
            the loss, a tensor without axes.
        """
        raise NotImplementedError("Stage 3: DecoderTransformer.loss is not written yet")

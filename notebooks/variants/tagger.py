"""Stage 5: an encoder that assigns a tag to every token; like BERT (Devlin et al., 2019), it looks in both directions.

In shapes, B = batch, T = positions. The layers are the same as in the language model (pre-norm, GELU, learned
positions); only the mask and the output differ.
"""

import torch
import torch.nn.functional as F
from language_model import AbstractTransformer
from torch import nn

IGNORED = -100  # the tag of positions that do not count in the loss


class EncoderTransformer(AbstractTransformer):
    """A tagger. Every position sees all tokens of its sequence, but not the padding."""

    def __init__(
        self,
        vocab_size: int,
        num_tags: int,
        d_model: int,
        num_heads: int,
        num_layers: int,
        d_ff: int,
        max_len: int,
        dropout: float,
        padding_idx: int,
    ) -> None:
        super().__init__(vocab_size, d_model, num_heads, num_layers, d_ff, max_len, dropout, padding_idx)
        self.output_layer = nn.Linear(d_model, num_tags)

    def forward(self, tokens: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Score all tags at every position.

            x = Dropout(token_embedding(tokens) + position_embedding(0, 1, ..., T - 1))
            the layers, one after the other, with the padding mask
            logits = output_layer(LayerNorm(x))

        Compute the padding mask from the lengths, not from `padding_idx`: True from position `lengths[b]` on. Its
        shape is (B, 1, T). The padding tokens must not affect the logits within a sequence. The logits of a
        sequence of length 0 must be finite; their values do not matter. Nor do the logits at padded positions.

        Args:
            tokens: token indices, (B, T). T may be larger than all lengths.
            lengths: (B,), the number of tokens in each sequence.

        Returns:
            (B, T, num_tags), the logits.

        Raises:
            ValueError: if T is larger than `max_len`. The message names both numbers.
        """
        raise NotImplementedError("Stage 5: EncoderTransformer.forward is not written yet")

    def loss(self, tokens: torch.Tensor, lengths: torch.Tensor, tags: torch.Tensor) -> torch.Tensor:
        """The mean cross-entropy of the tags, (B, T), in nats. Positions with the tag IGNORED do not count."""
        logits = self(tokens, lengths)
        # (B, T, num_tags) -> (B * T, num_tags)
        return F.cross_entropy(logits.flatten(0, 1), tags.flatten(), ignore_index=IGNORED)

"""Stand-in for tagger.py: no other stage needs it, but notebooks use it to show what the trained model attends to."""

import torch
from language_model import AbstractTransformer
from torch import nn
from torch.nn import functional as F

IGNORED = -100


class EncoderTransformer(AbstractTransformer):
    """A tagger in which every position sees all tokens of its sequence."""

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
        """(B, T) -> (B, T, num_tags)."""
        B, T = tokens.shape
        if self.max_len < T:
            raise ValueError(f"{T} tokens for {self.max_len} positions")
        x = self.dropout(self.token_embedding(tokens) + self.position_embedding.weight[:T])
        padding = torch.stack([torch.arange(T, device=tokens.device).ge(length) for length in lengths])
        for layer in self.blocks:
            x = layer(x, padding.view(B, 1, T))
        return nn.Sequential(self.norm, self.output_layer)(x)

    def loss(self, tokens: torch.Tensor, lengths: torch.Tensor, tags: torch.Tensor) -> torch.Tensor:
        """The mean cross-entropy of the tags that are not ignored."""
        return F.cross_entropy(self(tokens, lengths).mT, tags, ignore_index=IGNORED)

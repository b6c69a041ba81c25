"""Stand-in for vit.py: no other stage needs it, but notebooks use it to show what the trained models attend to."""

from typing import Any

import torch
from language_model import Block
from layers import LayerNorm
from torch import nn
from torch.nn import functional as F


class PatchEmbedding(nn.Module):
    """Take patches from the columns of torch's `unfold`, and apply a linear map."""

    def __init__(self, img_size: int | tuple[int, int], patch_size: int, channels: int, d_model: int) -> None:
        super().__init__()
        # The attribute names are those of the given constructor, since `forward` may also run in the student's class.
        self.height, self.width = (img_size, img_size) if isinstance(img_size, int) else img_size
        self.patch_size = patch_size
        self.num_patches = self.height // patch_size * (self.width // patch_size)
        self.projection = nn.Linear(channels * patch_size * patch_size, d_model)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """(B, C, height, width) -> (B, N, d_model)."""
        size = self.height, self.width
        if tuple(images.shape[2:]) != size:
            raise ValueError(f"images of {tuple(images.shape[2:])} pixels, expected {size}")
        columns = F.unfold(images, self.patch_size, stride=self.patch_size)  # (B, C * P * P, N)
        return self.projection(columns.mT)


class _Unmasked(nn.Module):
    """Attention, wrapped so that torch's layer can call it."""

    def __init__(self, attention: nn.Module) -> None:
        super().__init__()
        self.attention = attention

    def forward(self, x: torch.Tensor, *_: Any, **__: Any) -> tuple[torch.Tensor, None]:
        return self.attention(x), None


class ViTBlock(Block):
    """One layer (pre-norm), without a mask."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        """(B, 1 + N, d_model) -> (B, 1 + N, d_model)."""
        # The layer of the language model is not available while this stage is graded. Only the order of torch's steps
        # is needed: its submodules are replaced.
        layer = nn.TransformerEncoderLayer(1, 1, 1, dropout=0.0, batch_first=True, norm_first=True, device="meta")
        layer.activation = nn.Identity()
        parts = {"norm1": self.norm1, "norm2": self.norm2, "linear1": self.feed_forward, "linear2": nn.Identity()}
        for name, part in {**parts, "self_attn": _Unmasked(self.attention)}.items():
            layer.add_module(name, part)
        return layer(x)


class ViT(nn.Module):
    """Run <cls> and patches through the layers; compute the logits from <cls>."""

    def __init__(
        self,
        img_size: int | tuple[int, int],
        patch_size: int,
        channels: int,
        num_classes: int,
        d_model: int,
        num_heads: int,
        num_layers: int,
        d_ff: int,
        dropout: float,
    ) -> None:
        super().__init__()
        self.patch_embedding = PatchEmbedding(img_size, patch_size, channels, d_model)
        self.cls_token = nn.Parameter(0.02 * torch.randn(1, 1, d_model))
        self.position_embedding = nn.Parameter(0.02 * torch.randn(1, 1 + self.patch_embedding.num_patches, d_model))
        self.dropout = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(ViTBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.norm = LayerNorm(d_model)
        self.output_layer = nn.Linear(d_model, num_classes)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """(B, C, height, width) -> (B, num_classes)."""
        x = torch.hstack([self.cls_token.repeat(len(images), 1, 1), self.patch_embedding(images)])
        x = nn.Sequential(self.dropout, *self.blocks, self.norm)(x + self.position_embedding)
        return self.output_layer(x.select(1, 0))

    def loss(self, images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """The mean cross-entropy of the labels."""
        return F.cross_entropy(self(images), labels)

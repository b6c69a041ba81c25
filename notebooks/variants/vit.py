"""Stage 6: the Vision Transformer (Dosovitskiy et al., 2021), which reads an image as a sequence of patches.

In shapes, B = batch, C = channels, N = patches, P = side of a patch. Images are (B, C, height, width). The layers are
the same as in the tagger (pre-norm, GELU), but without a mask, because all images have the same size.
"""

import torch
import torch.nn.functional as F
from heads import MultiHeadAttentionEfficient
from layers import FeedForward, LayerNorm
from torch import nn


class PatchEmbedding(nn.Module):
    """Cuts an image into patches of P x P pixels and maps each of them to a vector.

    The patches are read like a page: from left to right, then from top to bottom. Within a patch, the C * P * P numbers
    are in the order channel, row, column. All pixels of channel 0 come first, row by row, then all pixels of channel 1.
    A convolution with kernel size and stride P computes the same result.
    """

    def __init__(self, img_size: int | tuple[int, int], patch_size: int, channels: int, d_model: int) -> None:
        super().__init__()
        self.height, self.width = (img_size, img_size) if isinstance(img_size, int) else img_size
        if self.height % patch_size or self.width % patch_size:
            raise ValueError(f"an image of {self.height} x {self.width} has no whole patches of {patch_size}")
        self.patch_size = patch_size
        self.num_patches = (self.height // patch_size) * (self.width // patch_size)
        self.projection = nn.Linear(channels * patch_size * patch_size, d_model)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Cut images into patches and project them.

        Args:
            images: (B, C, height, width); height and width need not be equal.

        Returns:
            (B, N, d_model) with N = height / P * width / P.

        Raises:
            ValueError: if (height, width) is not the size passed to the constructor.
        """
        raise NotImplementedError("Stage 6: PatchEmbedding.forward is not written yet")


class ViTBlock(nn.Module):
    """One layer: self-attention over all patches, then the feed-forward network, each as x + Sublayer(LayerNorm(x))."""

    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float) -> None:
        super().__init__()
        self.norm1 = LayerNorm(d_model)
        self.attention = MultiHeadAttentionEfficient(d_model, num_heads, dropout)
        self.norm2 = LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff, dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Apply both sub-layers (pre-norm), without a mask: every patch sees every other patch.

        Args:
            x: (B, 1 + N, d_model).

        Returns:
            (B, 1 + N, d_model).
        """
        raise NotImplementedError("Stage 6: ViTBlock.forward is not written yet")


class ViT(nn.Module):
    """Classifies images with a learned vector <cls>, which comes before the patches and collects their information."""

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
        self.cls_token = nn.Parameter(torch.zeros(1, 1, d_model))
        self.position_embedding = nn.Parameter(torch.zeros(1, 1 + self.patch_embedding.num_patches, d_model))
        self.dropout = nn.Dropout(dropout)  # of the embedded input
        self.blocks = nn.ModuleList(ViTBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.norm = LayerNorm(d_model)
        self.output_layer = nn.Linear(d_model, num_classes)
        for learned in (self.cls_token, self.position_embedding):
            nn.init.normal_(learned, std=0.02)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Score the classes of images.

            x = [<cls>, patches], with <cls> at position 0
            x = Dropout(x + position_embedding)
            the layers, one after the other
            logits = output_layer(LayerNorm(x) at position 0)

        Args:
            images: (B, C, height, width).

        Returns:
            (B, num_classes), the logits.
        """
        raise NotImplementedError("Stage 6: ViT.forward is not written yet")

    def loss(self, images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """The mean cross-entropy of the labels, (B,), in nats."""
        return F.cross_entropy(self(images), labels)

"""Baselines for the Vision Transformer on digits: logistic regression and a small convolutional network."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from course.variants.digits import SIDE


class Classifier(nn.Module):
    """A stack of layers, wrapped as a model that `SmallRun` can train."""

    def __init__(self, *layers: nn.Module) -> None:
        super().__init__()
        self.layers = nn.Sequential(*layers)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Map images, (B, 1, height, width), to logits, (B, 10)."""
        return self.layers(images)

    def loss(self, images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """The mean cross-entropy of the labels, (B,), in nats."""
        return F.cross_entropy(self(images), labels)


def logistic_regression() -> Any:
    """Return a logistic regression with 650 parameters: a weight for each pixel and digit, and ten biases."""
    return Classifier(nn.Flatten(), nn.Linear(SIDE * SIDE, 10))


def convolution() -> Any:
    """Return a network with 101,626 parameters, about as many as the Vision Transformer has."""
    return Classifier(
        *(nn.Conv2d(1, 32, 3, padding=1), nn.ReLU()),
        *(nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Dropout(0.1), nn.Linear(64 * (SIDE // 2) ** 2, 80), nn.ReLU(), nn.Linear(80, 10)),
    )

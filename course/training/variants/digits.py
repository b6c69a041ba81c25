"""The Vision Transformers of `digits-vit`: for digits of 8 x 8 pixels, and for digits on a noisy canvas."""

from typing import TYPE_CHECKING, Any

import numpy as np

from course.training.variants.task import Measured, Task
from course.variants.digits import SIDE, on_canvas, read_digits

if TYPE_CHECKING:
    import torch

CANVAS_SEED = 7  # for the positions of the held-out digits


class Recognition(Task):
    """The unchanged digits."""

    model_class = "vit.ViT"
    figure = "accuracy"
    title = "accuracy in % (500 held-out digits)"
    batch_size = 64
    side = SIDE

    def __init__(self) -> None:
        self.training, self.held_out = read_digits()
        self.test_images = self.held_out.images

    @property
    def sizes(self) -> dict[str, Any]:
        return {
            "img_size": self.side,
            "patch_size": 2,
            "channels": 1,
            "num_classes": 10,
            "d_model": 64,
            "num_heads": 4,
            "num_layers": 3,
            "d_ff": 128,
            "dropout": 0.1,
        }

    @property
    def steps_per_epoch(self) -> int:
        return len(self.training.labels) // self.batch_size

    def draw(self, images: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return the model's input for some digits."""
        return images

    def batch(self, step: int, seed: int) -> "tuple[tuple[torch.Tensor, ...], int]":
        import torch

        epoch, index = divmod(step, self.steps_per_epoch)
        order = np.random.Generator(np.random.PCG64([seed, epoch])).permutation(len(self.training.labels))
        rows = order[index * self.batch_size : (index + 1) * self.batch_size]
        images = self.draw(self.training.images[rows], np.random.Generator(np.random.PCG64([seed, epoch, index])))
        return (torch.from_numpy(images), torch.from_numpy(self.training.labels[rows])), len(rows)

    def measure(self, model: Any) -> Measured:
        import torch
        import torch.nn.functional as F

        labels = torch.from_numpy(self.held_out.labels)
        model.eval()
        with torch.inference_mode():
            logits = model(torch.from_numpy(self.test_images))
        right = (logits.argmax(dim=-1) == labels).float().mean().item()
        return Measured(F.cross_entropy(logits, labels).item(), 100 * right)


class Search(Recognition):
    """Digits on a noisy canvas, at random positions that differ in every epoch."""

    side = 16

    def __init__(self) -> None:
        super().__init__()
        self.test_images = self.draw(self.held_out.images, np.random.Generator(np.random.PCG64(CANVAS_SEED)))

    def draw(self, images: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return on_canvas(images, self.side, rng)[0]

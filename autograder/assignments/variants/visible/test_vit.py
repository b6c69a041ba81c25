"""Stage 6: the Vision Transformer."""

from typing import Any

import numpy as np

from autograder.assignments.variants.visible.cases import VIT
from autograder.assignments.variants.visible.checks import CheckingTestCase


class TestVisionTransformer(CheckingTestCase):
    """Tests that use images with two channels and 6 x 9 pixels, in patches of 3 x 3."""

    def test_patch_embedding(self):
        """Cut images into patches and project them; reject an image of the wrong size."""
        embedding = self.student.vit.PatchEmbedding(VIT["img_size"], VIT["patch_size"], VIT["channels"], VIT["d_model"])
        embedding.load_state(self.stored("patches_weights"))
        stored = self.stored("patches")
        with self.part("patches"):
            self.assert_tensor(embedding(stored["images"]), stored["patches"], "the patches", "B N d_model")
        with self.part("other_size"):
            self.refuses(lambda: embedding(np.swapaxes(stored["images"], 2, 3)), 6, 9)
        weights = self.stored("patches_weights")
        self.warn_of_side_effects(embedding, {"images": stored["images"]}, weights=weights)

    def test_vit_block(self):
        """One layer with random weights."""
        stored, weights = self.stored("block"), self.stored("block_weights")
        block = self.student.vit.ViTBlock(30, 5, 44, 0.1)
        block.load_state(weights)
        self.assert_tensor(block(stored["x"]), stored["output"], "the output", "B T d_model")

        def build(p: float) -> Any:
            return self.student.vit.ViTBlock(30, 5, 44, p)

        self.assert_dropout(build, weights, lambda block: block(stored["x"]), stored, "B T d_model")
        self.warn_of_side_effects(block, {"x": stored["x"]}, weights=weights)

    def test_vit(self):
        """Compute the logits of some images with a small model that has random weights."""
        stored, weights = self.stored("model"), self.stored("weights")
        model = self.student.vit.ViT(**VIT)
        model.load_state(weights)
        self.assert_tensor(model(stored["images"]), stored["logits"], "the logits", "B classes")

        def build(p: float) -> Any:
            return self.student.vit.ViT(**(VIT | {"dropout": p}))

        self.assert_dropout(build, weights, lambda model: model(stored["images"]), stored, "B classes")
        self.warn_of_side_effects(model, {"images": stored["images"]}, weights=weights)

"""Hidden tests for stage 6: images, patches and models of other sizes, their dropout and gradients."""

from functools import partial
from typing import Any

from autograder.assignments.variants.hidden.models import VariantsTestCase
from autograder.grading.hidden_case import Twins


class TestVisionTransformer(VariantsTestCase):
    def image_sizes(self) -> tuple[tuple[int, int], int, int]:
        """An image height and a different width, the patch size, and the number of channels."""
        P = self.pick(1, 2, 3)
        rows, columns = self.sizes(2, low=2, high=4)
        return (rows * P, columns * P), P, self.pick(1, 2, 3)

    def test_patch_embedding(self):
        """Check square and non-square images, one or several channels, the gradients, and images of the wrong size."""
        with self.part("patches"):
            for square in (True, False):
                (height, width), P, C = self.image_sizes()
                size = height if square else (height, width)
                d_model = self.pick(5, 8, 13)
                embedding = self.embedding(size, P, C, d_model)
                images = self.transposed(3, C, height, height if square else width)
                self.gives(embedding, "the patches", "B N d_model", images)
            self.keeps_arguments(embedding.student, {"images": images})
            output = self.random(3, height * width // P**2, d_model)
            self.same_gradients(embedding, {"images": images}, output, "B C height width")
        with self.part("other_size"):
            embedding = self.embedding((8, 4), 2, 1, 6)
            for height, width in ((4, 8), (8, 6), (10, 4), (2, 16)):
                images = self.random(1, 1, height, width)
                self.refuses(partial(embedding.student, images), height, width, 8, 4)

    def embedding(self, *sizes: Any) -> Twins:
        """A patch embedding with these sizes: image size, patch size, channels, d_model."""
        return self.twins(lambda modules: modules.vit.PatchEmbedding(*sizes))

    def test_vit_block(self):
        """Check layers of other sizes, their gradients and their dropout."""
        d_model, H, d_ff = self.layer_sizes()

        def build(modules: Any, p: float) -> Any:
            return modules.vit.ViTBlock(d_model, H, d_ff, p)

        block = self.twins(lambda modules: build(modules, 0.3))
        for B, T in ((1, 5), (H, 4), (4, 4)):
            x = self.transposed(B, T, d_model)
            self.gives(block, "the output", "B T d_model", x)
        self.keeps_arguments(block.student, {"x": x})
        self.same_gradients(block, {"x": x}, self.random(*x.shape), "B T d_model")
        self.same_dropout(build, lambda model: model(x), "B T d_model")

    def test_vit(self):
        """Check models of other sizes, their gradients and their dropout."""
        (height, width), P, C = self.image_sizes()
        d_model, H, d_ff = self.layer_sizes()
        sizes = {"patch_size": P, "channels": C, "num_classes": self.pick(3, 7, 11), "d_model": d_model}
        sizes |= {"num_heads": H, "num_layers": 2, "d_ff": d_ff}

        def build(modules: Any, p: float) -> Any:
            return modules.vit.ViT(img_size=(height, width), dropout=p, **sizes)

        model = self.twins(lambda modules: build(modules, 0.3))
        for B in (1, 2, 5):
            images = self.random(B, C, height, width)
            self.gives(model, "the logits", "B classes", images)
        self.keeps_arguments(model.student, {"images": images})
        self.same_gradients(model, {"images": images}, self.random(5, sizes["num_classes"]), "B C height width")
        self.same_dropout(build, lambda model: model(images), "B classes")

"""Known mistakes in stage 6: patches, the layer and the Vision Transformer."""

from autograder.diagnosis.mistakes import Mistake

# Lines of the reference.
CHECK = "if (height, width) != (self.height, self.width):"
RAISE = 'raise ValueError(f"expected images of {self.height} x {self.width}, but got {height} x {width}")'
CUT = "patches = images.reshape(B, C, height // P, P, width // P, P)"
ORDERED = "patches = patches.permute(0, 2, 4, 1, 3, 5).flatten(3).flatten(1, 2)"
PROJECTED = "return self.projection(patches)  #"
FIRST = "x = x + self.attention(self.norm1(x))"
SECOND = "return x + self.feed_forward(self.norm2(x))"
BOTH = f"{FIRST}\n        {SECOND}"
CLS = "cls = self.cls_token.expand(images.size(0), -1, -1)"
JOINED = "x = torch.cat([cls, patches], dim=1)"
PLACED = "x = self.dropout(x + self.position_embedding)"
RETURN = "return self.output_layer(self.norm(x[:, 0]))"

READING = "Patches are read like a page, and the order within a patch is channel, row, column. See the docstring."
MOVING = (
    "Splitting creates new axes. Put them in the right order before you merge two of them: a view does not move "
    "any numbers."
)
ORDER = "The docstring of the class gives the order in one line: norm, sub-layer, residual connection."
STEPS = "The docstring lists the steps of the model in order."

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        "vit.patches-by-view",
        "vit",
        CUT,
        "patches = images.reshape(B, height // P, width // P, C, P, P).permute(0, 3, 1, 4, 2, 5)",
        "Your patches are pieces of image rows: the shape is right, but the pixels do not form squares.",
        "An image is stored row by row, so pixels that are next to each other in memory belong to the same "
        "row. " + MOVING,
    ),
    Mistake(
        "vit.patches-column-by-column",
        "vit",
        ORDERED,
        ORDERED.replace("0, 2, 4,", "0, 4, 2,"),
        "Your patches are read column by column.",
        READING,
    ),
    Mistake(
        "vit.channels-last",
        "vit",
        ORDERED,
        ORDERED.replace("1, 3, 5)", "3, 5, 1)"),
        "Within your patches, the channels of a pixel are next to each other.",
        READING,
    ),
    Mistake(
        "vit.patches-transposed",
        "vit",
        ORDERED,
        ORDERED.replace("1, 3, 5)", "1, 5, 3)"),
        "Within your patches, the pixels are read column by column.",
        READING,
    ),
    Mistake(
        "vit.patches-not-permuted",
        "vit",
        ORDERED,
        "patches = patches.reshape(B, height // P * (width // P), -1)",
        "You split the image but do not reorder the axes before you merge them.",
        MOVING,
        same_as=("vit.patches-by-view",),
    ),
    Mistake(
        "vit.axes-of-cut-exchanged",
        "vit",
        CUT,
        "patches = images.reshape(B, C, P, height // P, P, width // P)",
        "Your patches consist of pixels that are far apart in the image.",
        "The height is split into two axes: the outer one counts the patches, the inner one the pixels within a patch.",
    ),
    Mistake(
        "vit.height-width-exchanged",
        "vit",
        CUT,
        "patches = images.reshape(B, C, width // P, P, height // P, P)",
        "You split the image as if height and width were swapped; with square images you would not notice.",
        "Images have shape (B, C, height, width): rows come before columns.",
    ),
    Mistake(
        "vit.projection-missing",
        "vit",
        PROJECTED,
        "return patches  #",
        "You do not project the patches.",
        "See the Returns section of the docstring.",
    ),
    Mistake(
        "vit.size-not-checked",
        "vit",
        CHECK,
        "if False:",
        "Your patch embedding accepts images of the wrong size.",
        "See the Raises section of the docstring.",
    ),
    Mistake(
        "vit.only-area-checked",
        "vit",
        CHECK,
        "if height * width != self.height * self.width:",
        "Your patch embedding accepts images with the right number of pixels but a different height and width.",
        "See the Raises section of the docstring.",
        same_as=("vit.size-not-checked",),
    ),
    Mistake(
        "vit.size-without-numbers",
        "vit",
        RAISE,
        'raise ValueError("the image has a wrong size")',
        "Your message does not say which size was expected or which was found.",
        "A good message says what was found and what was expected.",
    ),
    Mistake(
        "vit.post-norm",
        "vit",
        BOTH,
        "x = self.norm1(x + self.attention(x))\n        return self.norm2(x + self.feed_forward(x))",
        "Your layer has its norms after the sub-layers, as in the 2017 Transformer.",
        ORDER,
    ),
    Mistake(
        "vit.residual-from-norm",
        "vit",
        BOTH,
        "x = self.norm1(x)\n        x = x + self.attention(x)\n        x = self.norm2(x)\n"
        "        return x + self.feed_forward(x)",
        "The residual connection in your layer adds the output of the norm, not its input.",
        ORDER,
    ),
    Mistake(
        "vit.norms-exchanged",
        "vit",
        BOTH,
        "x = x + self.attention(self.norm2(x))\n        return x + self.feed_forward(self.norm1(x))",
        "Your layer swaps its two norms.",
        "Before training, both norms are the same; with trained weights they are not.",
    ),
    Mistake(
        "vit.attention-residual-missing",
        "vit",
        FIRST,
        "x = self.attention(self.norm1(x))",
        "Your layer has no residual connection around attention.",
        ORDER,
    ),
    Mistake(
        "vit.network-residual-missing",
        "vit",
        SECOND,
        "return self.feed_forward(self.norm2(x))",
        "Your layer has no residual connection around the feed-forward network.",
        ORDER,
    ),
    Mistake(
        "vit.first-norm-missing",
        "vit",
        FIRST,
        "x = x + self.attention(x)",
        "Your layer has no norm before attention.",
        ORDER,
    ),
    Mistake(
        "vit.second-norm-missing",
        "vit",
        SECOND,
        "return x + self.feed_forward(x)",
        "Your layer has no norm before the feed-forward network.",
        ORDER,
    ),
    Mistake(
        "vit.causal-mask",
        "vit",
        FIRST,
        "T = x.size(1)\n        x = x + self.attention(self.norm1(x), torch.ones(1, T, T).triu(1).bool())",
        "Your layer uses a causal mask.",
        "An image has no order in time: every patch sees every other patch.",
    ),
    Mistake(
        "vit.cls-at-the-end",
        "vit",
        JOINED,
        "x = torch.cat([patches, cls], dim=1)",
        "Your model puts <cls> after the patches.",
        STEPS,
    ),
    Mistake(
        "vit.cls-for-one-image",
        "vit",
        CLS,
        "cls = self.cls_token",
        "Your model has one <cls> for the whole batch, so the shapes do not fit.",
        "There is only one <cls> vector, but every image of the batch needs it at the front.",
    ),
    Mistake(
        "vit.cls-added",
        "vit",
        JOINED,
        "x = torch.cat([cls, patches + cls], dim=1)",
        "Your model adds <cls> to all patches.",
        "The <cls> vector has its own position and is not part of the patches. " + STEPS,
    ),
    Mistake(
        "vit.mean-instead-of-cls",
        "vit",
        RETURN,
        "return self.output_layer(self.norm(x).mean(dim=1))",
        "Your model classifies the image from the mean of all positions.",
        "Many models do that. Here the docstring says which position to read.",
    ),
    Mistake(
        "vit.mean-of-patches",
        "vit",
        RETURN,
        "return self.output_layer(self.norm(x[:, 1:]).mean(dim=1))",
        "Your model classifies the image from the mean of the patches and does not read <cls>.",
        "The docstring says which position to read.",
    ),
    Mistake(
        "vit.last-position-read",
        "vit",
        RETURN,
        "return self.output_layer(self.norm(x[:, -1]))",
        "Your model reads the last patch instead of <cls>.",
        "In a language model only the last position has seen everything. Here all positions have, and one of them is "
        "meant for the answer.",
    ),
    Mistake(
        "vit.last-norm-missing",
        "vit",
        RETURN,
        "return self.output_layer(x[:, 0])",
        "Your model has no norm before the output layer.",
        STEPS,
    ),
    Mistake(
        "vit.positions-missing",
        "vit",
        PLACED,
        "x = self.dropout(x)",
        "Your model does not add the position embeddings, so it cannot know where a patch was.",
        STEPS,
    ),
    Mistake(
        "vit.cls-without-position",
        "vit",
        f"{JOINED}  # (B, 1 + N, d_model)\n        {PLACED}",
        "x = self.dropout(torch.cat([cls, patches + self.position_embedding[:, 1:]], dim=1))",
        "Your model adds position embeddings only to the patches.",
        "The table has one more vector than there are patches. " + STEPS,
    ),
    Mistake(
        "vit.first-layer-only",
        "vit",
        "for block in self.blocks:",
        "for block in self.blocks[:1]:",
        "Your model skips layers, as if it used only the first one.",
        STEPS,
    ),
    Mistake(
        "vit.input-dropout-missing",
        "vit",
        PLACED,
        "x = x + self.position_embedding",
        "During training, your model applies no dropout to the embedded input.",
        STEPS,
    ),
    Mistake(
        "vit.patches-detached",
        "vit",
        ORDERED,
        ORDERED.replace("patches.permute", "patches.detach().permute"),
        "Your patches are right, but no gradient reaches the image.",
        "Somewhere the computation leaves the autograd graph.",
        seen_by="hidden",
    ),
)

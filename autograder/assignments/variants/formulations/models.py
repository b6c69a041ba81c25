"""Formulations: other correct ways to write the tagger and the Vision Transformer."""

from autograder.authoring.formulations import Formulation

PATCHES, VIT_BLOCK, VIT_ = "PatchEmbedding.forward", "ViTBlock.forward", "ViT.forward"


def _tagger(name: str, text: str) -> Formulation:
    return Formulation(f"tagger-{name}", "tagger", {"EncoderTransformer.forward": (text,)})


def _vit(name: str, function: str, text: str) -> Formulation:
    return Formulation(f"vit-{name}", "vit", {function: (text,)})


TAGGER = [
    _tagger(
        "expanded-mask",
        """
        B, T = tokens.size()
        if T > self.max_len:
            raise ValueError(f"too long: {T} > {self.max_len}")
        mask = torch.arange(T).expand(B, T) >= lengths.unsqueeze(1)
        mask = mask.view(B, 1, T).expand(-1, T, -1)
        x = self.dropout(self.token_embedding(tokens) + self.position_embedding(torch.arange(T).unsqueeze(0)))
        for block in self.blocks:
            x = block(x, mask)
        return self.output_layer(self.norm(x))
        """,
    ),
    _tagger(
        "mask-by-loop",
        """
        T = tokens.shape[1]
        if T > self.max_len:
            raise ValueError("the input has {} tokens, at most {} are allowed".format(T, self.max_len))
        mask = torch.ones(len(lengths), 1, T, dtype=torch.bool)
        for row, length in enumerate(lengths.tolist()):
            mask[row, 0, :length] = False
        x = self.token_embedding(tokens)
        x = x + self.position_embedding.weight[None, :T]
        x = self.dropout(x)
        for block in self.blocks:
            x = block(x, mask=mask)
        x = self.norm(x)
        return x @ self.output_layer.weight.T + self.output_layer.bias
        """,
    ),
    _tagger(
        "one-sequence-at-a-time",
        """
        B, T = tokens.shape
        if T > self.max_len:
            raise ValueError(f"{T} tokens, {self.max_len} positions")
        embedded = self.dropout(self.token_embedding(tokens) + self.position_embedding(torch.arange(T)))
        results = []
        for row in range(B):
            mask = torch.zeros(1, 1, T, dtype=torch.bool)
            mask[..., int(lengths[row]) :] = True
            x = embedded[row : row + 1]
            for block in self.blocks:
                x = block(x, mask)
            results.append(self.output_layer(self.norm(x)))
        return torch.cat(results)
        """,
    ),
]

VIT = [
    _vit(
        "patches-convolution",
        PATCHES,
        """
        if images.shape[2:] != (self.height, self.width):
            raise ValueError(f"{tuple(images.shape[2:])} is not {(self.height, self.width)}")
        P = self.patch_size
        kernel = self.projection.weight.view(-1, images.size(1), P, P)
        return F.conv2d(images, kernel, self.projection.bias, stride=P).flatten(2).transpose(1, 2)
        """,
    ),
    _vit(
        "patches-unfold",
        PATCHES,
        """
        H, W = images.shape[-2:]
        if H != self.height or W != self.width:
            raise ValueError(f"the image is {H} x {W} instead of {self.height} x {self.width}")
        columns = F.unfold(images, self.patch_size, stride=self.patch_size)
        return self.projection(columns.transpose(1, 2))
        """,
    ),
    _vit(
        "patches-loops",
        PATCHES,
        """
        B, C, H, W = images.shape
        if (H, W) != (self.height, self.width):
            raise ValueError(f"wanted {self.height} x {self.width}, got {H} x {W}")
        P = self.patch_size
        patches = []
        for top in range(0, H, P):
            for left in range(0, W, P):
                patches.append(self.projection(images[:, :, top : top + P, left : left + P].reshape(B, -1)))
        return torch.stack(patches, dim=1)
        """,
    ),
    _vit(
        "patches-tensor-unfold",
        PATCHES,
        """
        if images.size(2) != self.height or images.size(3) != self.width:
            raise ValueError(f"{images.size(2)} x {images.size(3)}, expected {self.height} x {self.width}")
        P = self.patch_size
        cut = images.unfold(2, P, P).unfold(3, P, P)
        cut = cut.permute(0, 2, 3, 1, 4, 5)
        return self.projection(cut.reshape(images.size(0), self.num_patches, -1))
        """,
    ),
    _vit(
        "block-one-line",
        VIT_BLOCK,
        "return (y := x + self.attention(self.norm1(x), None)) + self.feed_forward(self.norm2(y))",
    ),
    _vit(
        "model-repeat",
        VIT_,
        """
        x = self.patch_embedding(images)
        x = torch.hstack((self.cls_token.repeat(len(x), 1, 1), x)) + self.position_embedding
        x = self.dropout(x)
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        return self.output_layer(x[:, 0, :])
        """,
    ),
    _vit(
        "model-empty-first",
        VIT_,
        """
        patches = self.patch_embedding(images)
        x = F.pad(patches, (0, 0, 1, 0))
        first = torch.zeros(x.size(1), 1)
        first[0] = 1.0
        x = x + first * self.cls_token
        x = self.dropout(self.position_embedding + x)
        for i in range(len(self.blocks)):
            x = self.blocks[i](x)
        return self.output_layer(self.norm(x).select(1, 0))
        """,
    ),
]

"""Small language models trained side by side: each part is taken from GPT-2 or from today's open models."""

from collections.abc import Collection, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from course.training.variants.practice import SmallTales, update

if TYPE_CHECKING:
    import torch

PARTS = ("RMSNorm", "RoPE", "SwiGLU", "grouped queries")
D, HEADS, GROUPS, LAYERS, T, WINDOWS = 64, 4, 2, 2, 64, 12
PEAK, WARMUP = 4e-3, 30


def build_with(new: Collection[str], modern: Any, ready: SimpleNamespace, vocab_size: int) -> Any:
    """Build a language model with these new parts; all other parts are old.

    Args:
        new: some of `PARTS`. Grouped queries are possible only with RoPE, because `modern` has no attention without it.
        modern: the module with the new parts.
        ready: modules with the old parts: `layers` and `heads`.
    """
    import torch
    import torch.nn.functional as F
    from torch import nn

    if "grouped queries" in new and "RoPE" not in new:
        raise ValueError("grouped queries need RoPE here")
    norm = modern.RMSNorm if "RMSNorm" in new else ready.layers.LayerNorm

    class Layer(nn.Module):
        """One pre-norm layer."""

        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = norm(D), norm(D)
            groups = GROUPS if "grouped queries" in new else HEADS
            self.attention = (
                modern.GroupedQueryAttention(D, HEADS, groups)
                if "RoPE" in new
                else ready.heads.MultiHeadAttentionEfficient(D, HEADS, 0.0)
            )
            # The same number of weights: 3 * 8/3 = 2 * 4.
            self.feed_forward = (
                modern.SwiGLU(D, 8 * D // 3) if "SwiGLU" in new else ready.layers.FeedForward(D, 4 * D, 0.0)
            )

        def forward(self, x: torch.Tensor, causal: torch.Tensor) -> torch.Tensor:
            """Apply the layer, (B, T, D) -> (B, T, D)."""
            y = self.norm1(x)
            x = x + (self.attention(y)[0] if "RoPE" in new else self.attention(y, causal))
            return x + self.feed_forward(self.norm2(x))

    class Model(nn.Module):
        """A language model: embeddings, layers, and multiplication by the embedding matrix."""

        def __init__(self) -> None:
            super().__init__()
            self.tokens = nn.Embedding(vocab_size, D)
            self.positions = None if "RoPE" in new else nn.Embedding(T, D)
            self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
            self.norm = norm(D)
            for name, weight in self.named_parameters():
                if weight.dim() == 2:
                    nn.init.normal_(
                        weight, std=0.1 if "tokens" in name or "positions" in name else weight.size(1) ** -0.5
                    )

        def loss(self, tokens: torch.Tensor) -> torch.Tensor:
            """The mean next-token loss in nats, a scalar, for tokens (B, T + 1)."""
            x = self.tokens(tokens[:, :-1])  # (B, T, D)
            if self.positions is not None:
                x = x + self.positions.weight[: x.size(1)]
            causal = torch.ones(1, x.size(1), x.size(1), dtype=torch.bool).triu(1)
            for layer in self.layers:
                x = layer(x, causal)
            logits = self.norm(x) @ self.tokens.weight.T  # (B, T, vocab_size)
            return F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())

    return Model()


class OldAndNew:
    """The tales, and runs of models that differ only in their parts."""

    def __init__(self, modern: Any, ready: SimpleNamespace) -> None:
        from course.training.variants.tales import encode_tale

        self.modern, self.ready, self.tales = modern, ready, SmallTales()
        self.tales.max_len, self.tales.windows = T, WINDOWS
        self.held_out = self._windows([encode_tale(tale, self.tales.tokenizer) for tale in self.tales.held_out])

    def _windows(self, tales: Sequence[Sequence[int]]) -> "torch.Tensor":
        """All windows of the held-out tales, without overlap: (N, T + 1)."""
        import torch

        starts = [tale[start : start + T + 1] for tale in tales for start in range(0, len(tale) - T, T)]
        return torch.tensor(starts)

    def run(self, new: Collection[str], seed: int, steps: int = 200) -> tuple[float, int]:
        """Train a model from fresh weights; return its loss in nats per held-out token, and its number of parameters.

        Runs with the same seed get the same batches.
        """
        import torch

        torch.manual_seed(seed)
        model = build_with(new, self.modern, self.ready, self.tales.tokenizer.vocab_size)
        optimizer = torch.optim.AdamW(model.parameters(), betas=(0.9, 0.98))
        for step in range(steps):
            batch, _ = self.tales.batch(step, seed)
            update(model, batch, optimizer, PEAK * min((step + 1) / WARMUP, 1 - step / steps), max_norm=1.0)
        model.eval()
        with torch.no_grad():
            loss = float(model.loss(self.held_out))
        return loss, sum(parameter.numel() for parameter in model.parameters())

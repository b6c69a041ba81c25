# Differs from the solution in:

import logging
import os
import sys
import time
import warnings


HERE = os.path.dirname(os.path.abspath(__file__))


if HERE not in sys.path:
    sys.path.insert(0, HERE)


logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")


log = logging.getLogger(__name__)


log.info("mha.py loaded with torch %s", torch.__version__)


class MultiHeadAttention(nn.Module):
    def compute_mh_qkv_transformation(
        self, Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        print("Q", Q.shape, "K", K.shape, "V", V.shape)
        assert Q.shape[0] == K.shape[0] == V.shape[0], "batch"
        assert K.shape[1] == V.shape[1], "keys and values"
        q = self.W_q(Q)
        k = self.W_k(K)
        v = self.W_v(V)
        q = q.view(q.shape[0], q.shape[1], self.num_heads, self.d_k)
        k = k.view(k.shape[0], k.shape[1], self.num_heads, self.d_k)
        v = v.view(v.shape[0], v.shape[1], self.num_heads, self.d_k)
        print("after view", q.shape, k.shape, v.shape)
        q = q.transpose(1, 2)
        k = k.transpose(1, 2)
        v = v.transpose(1, 2)
        assert q.shape == (Q.shape[0], self.num_heads, Q.shape[1], self.d_k), q.shape
        return q, k, v

    def compute_scaled_dot_product_attention(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        key_padding_mask: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        start = time.perf_counter()
        if key_padding_mask is not None and bool((key_padding_mask != 0).all(dim=1).any()):
            warnings.warn("a sentence without words", stacklevel=2)
        scores = query @ key.transpose(2, 3)
        scores = scores / math.sqrt(query.shape[3])
        log.debug("scores %s", tuple(scores.shape))
        print("scores", scores.shape, "mean", scores.mean().item())
        mask = None
        if key_padding_mask is not None:
            print("padding mask", key_padding_mask.dtype, key_padding_mask.shape)
            mask = (key_padding_mask != 0).unsqueeze(1).unsqueeze(1).expand(scores.shape)
        if attention_mask is not None:
            print("attention mask", attention_mask.dtype, attention_mask.shape)
            other = (attention_mask != 0).unsqueeze(1).expand(scores.shape)
            mask = other if mask is None else torch.logical_or(mask, other)
        if mask is not None:
            assert mask.shape == scores.shape
            scores = scores.masked_fill(mask, torch.finfo(scores.dtype).min)
        weights = torch.nn.functional.softmax(scores, dim=-1)
        assert not torch.isnan(weights).any()
        assert torch.allclose(weights.sum(-1), torch.ones_like(weights.sum(-1)), atol=1e-3)
        x = weights @ value
        B, _, T_q, _ = x.shape
        x = x.transpose(1, 2).contiguous().view(B, T_q, self.d_model)
        print("attention took %.6f s" % (time.perf_counter() - start), file=sys.stderr)
        return x


if __name__ == "__main__":
    import torch.nn.functional as F

    torch.manual_seed(0)
    mine = MultiHeadAttention(8, 2)
    theirs = nn.MultiheadAttention(8, 2, batch_first=True)
    a, b, c = (torch.randn(3, 2, 5, 4) for _ in range(3))
    assert torch.allclose(
        mine.compute_scaled_dot_product_attention(a, b, c),
        F.scaled_dot_product_attention(a, b, c).transpose(1, 2).flatten(2),
        atol=1e-6,
    )
    print(eval("theirs"), "ok")

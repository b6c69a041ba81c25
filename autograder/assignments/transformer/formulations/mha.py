"""Formulations: other correct ways to write attention (masks, scale, softmax)."""

from autograder.authoring.formulations import Formulation

QKV = "MultiHeadAttention.compute_mh_qkv_transformation"
SDPA = "MultiHeadAttention.compute_scaled_dot_product_attention"


def _attention(name: str, text: str, imports: str = "", finite: bool = True) -> Formulation:
    return Formulation(f"mha-{name}", "mha", {SDPA: (text,)}, imports, finite)


F = "import torch.nn.functional as F"

MHA = [
    _attention(
        "fill-inf",
        """
        scores = torch.matmul(query, key.transpose(2, 3)) / math.sqrt(self.d_k)
        if key_padding_mask is not None:
            scores = scores.masked_fill(key_padding_mask.unsqueeze(1).unsqueeze(2) != 0, float("-inf"))
        if attention_mask is not None:
            scores = scores.masked_fill(attention_mask.unsqueeze(1) != 0, float("-inf"))
        x = torch.matmul(F.softmax(scores, dim=-1), value)
        """,
        F,
        finite=False,
    ),
    _attention(
        "fill-inf-nan-to-num",
        """
        scores = query @ key.mT * (1 / math.sqrt(query.size(-1)))
        if key_padding_mask is not None:
            scores[key_padding_mask.bool()[:, None, None].expand_as(scores)] = -torch.inf
        if attention_mask is not None:
            scores[attention_mask.bool()[:, None].expand_as(scores)] = -torch.inf
        x = torch.nan_to_num(scores.softmax(dim=3)) @ value
        """,
    ),
    _attention(
        "fill-min-in-place",
        """
        scores = query.matmul(key.permute(0, 1, 3, 2)).div(self.d_k ** 0.5)
        lowest = torch.finfo(scores.dtype).min
        if key_padding_mask is not None:
            scores.masked_fill_(key_padding_mask.bool().view(key.size(0), 1, 1, key.size(2)), lowest)
        if attention_mask is not None:
            scores.masked_fill_(attention_mask.bool().unsqueeze(1), lowest)
        x = nn.Softmax(dim=-1)(scores).matmul(value)
        """,
    ),
    _attention(
        "fill-1e9-scaled-query",
        """
        query = query / math.sqrt(self.d_k)
        scores = torch.matmul(query, key.transpose(-1, -2))
        if key_padding_mask is not None:
            scores = scores.masked_fill(key_padding_mask[:, None, None, :].ne(0), -1e9)
        if attention_mask is not None:
            scores = scores.masked_fill(attention_mask[:, None, :, :].ne(0), -1e9)
        x = torch.matmul(torch.softmax(scores, -1), value)
        """,
    ),
    _attention(
        "fill-both-sides-scaled",
        """
        root = self.d_k ** 0.25
        scores = (query / root) @ (key / root).transpose(2, 3)
        for mask in (
            None if key_padding_mask is None else key_padding_mask[:, None, None],
            None if attention_mask is None else attention_mask[:, None],
        ):
            if mask is not None:
                scores = scores.masked_fill(~(mask == 0), -1e20)
        x = scores.softmax(-1) @ value
        """,
    ),
    _attention(
        "additive",
        """
        scores = torch.matmul(query, key.transpose(-2, -1)) * self.d_k ** -0.5
        if key_padding_mask is not None:
            scores = scores + (key_padding_mask != 0).to(scores.dtype)[:, None, None, :] * -1e9
        if attention_mask is not None:
            scores = scores + (attention_mask != 0).to(scores.dtype)[:, None] * -1e9
        x = torch.matmul(torch.softmax(scores, dim=-1), value)
        """,
    ),
    _attention(
        "additive-in-place-merged",
        """
        B, H, T_q, _ = query.shape
        penalty = torch.zeros(B, T_q, key.size(2), dtype=query.dtype, device=query.device)
        if key_padding_mask is not None:
            penalty += key_padding_mask.ne(0).unsqueeze(1) * -1e30
        if attention_mask is not None:
            penalty += attention_mask.ne(0) * -1e30
        scores = query @ key.transpose(2, 3)
        scores *= 1 / math.sqrt(self.d_k)
        scores += penalty.unsqueeze(1)
        x = scores.softmax(dim=-1) @ value
        """,
    ),
    _attention(
        "where-on-merged-masks",
        """
        scores = query @ key.transpose(-2, -1) / math.sqrt(self.d_k)
        allowed = torch.ones_like(scores, dtype=torch.bool)
        if key_padding_mask is not None:
            allowed = allowed & (key_padding_mask == 0)[:, None, None, :]
        if attention_mask is not None:
            allowed = allowed & (attention_mask == 0)[:, None, :, :]
        x = torch.where(allowed, scores, torch.full_like(scores, -1e9)).softmax(-1) @ value
        """,
    ),
    _attention(
        "masks-expanded",
        """
        B, H, T_q, _ = query.shape
        T_k = key.shape[2]
        forbidden = torch.zeros(B, H, T_q, T_k, dtype=torch.bool, device=query.device)
        if key_padding_mask is not None:
            forbidden = forbidden | key_padding_mask.bool().view(B, 1, 1, T_k).expand(B, H, T_q, T_k)
        if attention_mask is not None:
            copies = B // attention_mask.size(0)
            forbidden = forbidden | attention_mask.bool().unsqueeze(1).repeat(copies, H, 1, 1)
        scores = torch.einsum("bhid,bhjd->bhij", query, key) / math.sqrt(self.d_k)
        scores = scores.masked_fill(forbidden, torch.finfo(query.dtype).min)
        x = torch.einsum("bhij,bhjd->bhid", scores.softmax(dim=-1), value)
        """,
    ),
    _attention(
        "open-rows-without-keys",
        """
        scores = query @ key.transpose(-2, -1) / math.sqrt(self.d_k)
        forbidden = torch.zeros_like(scores).bool()
        if key_padding_mask is not None:
            forbidden |= key_padding_mask[:, None, None, :] != 0
        if attention_mask is not None:
            forbidden |= attention_mask[:, None] != 0
        forbidden &= ~forbidden.all(dim=-1, keepdim=True)
        x = scores.masked_fill(forbidden, float("-inf")).softmax(dim=-1) @ value
        """,
    ),
    _attention(
        "weights-zeroed-again",
        """
        scores = query @ key.transpose(-2, -1) / math.sqrt(self.d_k)
        forbidden = torch.zeros(1, 1, 1, 1, dtype=torch.bool, device=query.device)
        if key_padding_mask is not None:
            forbidden = forbidden | (key_padding_mask != 0)[:, None, None]
        if attention_mask is not None:
            forbidden = forbidden | (attention_mask != 0)[:, None]
        weights = torch.softmax(scores - 1e9 * forbidden, dim=-1)
        x = weights.masked_fill(forbidden, 0.0) @ value
        """,
    ),
    _attention(
        "bmm-on-folded-heads",
        """
        B, H, T_q, d_k = query.shape
        T_k = key.size(2)
        # (B, H, T, d_k) -> (B * H, T, d_k)
        q, k, v = (t.reshape(B * H, -1, d_k) for t in (query, key, value))
        scores = torch.bmm(q, k.transpose(1, 2)) / math.sqrt(d_k)
        if key_padding_mask is not None:
            mask = key_padding_mask.repeat_interleave(H, dim=0).unsqueeze(1)
            scores = scores.masked_fill(mask != 0, -1e9)
        if attention_mask is not None:
            mask = attention_mask.expand(B, T_q, T_k).repeat_interleave(H, dim=0)
            scores = scores.masked_fill(mask != 0, -1e9)
        x = torch.bmm(F.softmax(scores, dim=2), v).view(B, H, T_q, d_k)
        """,
        F,
    ),
    _attention(
        "baddbmm",
        """
        B, H, T_q, d_k = query.shape
        penalty = query.new_zeros(B, H, T_q, key.size(2))
        if key_padding_mask is not None:
            penalty = penalty.masked_fill(key_padding_mask[:, None, None, :] != 0, -1e9)
        if attention_mask is not None:
            penalty = penalty.masked_fill(attention_mask[:, None] != 0, -1e9)
        scores = torch.baddbmm(
            penalty.flatten(0, 1), query.flatten(0, 1), key.flatten(0, 1).mT, alpha=1 / math.sqrt(d_k)
        )
        x = scores.unflatten(0, (B, H)).softmax(-1) @ value
        """,
    ),
    _attention(
        "loop-over-heads",
        """
        heads = []
        for h in range(self.num_heads):
            scores = query[:, h] @ key[:, h].transpose(1, 2) / math.sqrt(self.d_k)
            if key_padding_mask is not None:
                scores = scores.masked_fill((key_padding_mask != 0).unsqueeze(1), -1e9)
            if attention_mask is not None:
                scores = scores.masked_fill(attention_mask != 0, -1e9)
            heads.append(torch.softmax(scores, dim=-1) @ value[:, h])
        x = torch.stack(heads, dim=1)
        """,
    ),
    _attention(
        "loop-over-sentences",
        """
        x = torch.zeros_like(query)
        for b in range(query.size(0)):
            scores = torch.matmul(query[b], key[b].transpose(1, 2)) / math.sqrt(self.d_k)
            if key_padding_mask is not None:
                scores = scores.masked_fill(key_padding_mask[b].bool(), torch.finfo(scores.dtype).min)
            if attention_mask is not None:
                mask = attention_mask.expand(query.size(0), -1, -1)[b]
                scores = scores.masked_fill(mask.bool(), torch.finfo(scores.dtype).min)
            x[b] = torch.matmul(F.softmax(scores, dim=-1), value[b])
        """,
        F,
    ),
    _attention(
        "softmax-by-hand",
        """
        scores = query @ key.transpose(-2, -1) / math.sqrt(self.d_k)
        if key_padding_mask is not None:
            scores = scores.masked_fill(key_padding_mask[:, None, None, :] != 0, torch.finfo(scores.dtype).min)
        if attention_mask is not None:
            scores = scores.masked_fill(attention_mask[:, None, :, :] != 0, torch.finfo(scores.dtype).min)
        exponentials = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
        x = exponentials @ value / exponentials.sum(dim=-1, keepdim=True)
        """,
    ),
    _attention(
        "softmax-by-logarithm",
        """
        scores = query @ key.transpose(-2, -1) / math.sqrt(self.d_k)
        if key_padding_mask is not None:
            scores = scores.masked_fill(key_padding_mask[:, None, None, :] != 0, -1e9)
        if attention_mask is not None:
            scores = scores.masked_fill(attention_mask[:, None, :, :] != 0, -1e9)
        x = torch.exp(scores - torch.logsumexp(scores, dim=-1, keepdim=True)) @ value
        """,
    ),
    _attention(
        "scale-as-tensor",
        """
        scores = query @ key.transpose(-2, -1) / torch.sqrt(torch.tensor(self.d_k))
        if key_padding_mask is not None:
            scores = scores.masked_fill(key_padding_mask[:, None, None, :] != 0, -1e9)
        if attention_mask is not None:
            scores = scores.masked_fill(attention_mask[:, None, :, :] != 0, -1e9)
        x = torch.softmax(scores, dim=-1) @ value
        """,
    ),
    _attention(
        "scale-as-float32-tensor",
        """
        scale = torch.tensor(self.d_k, dtype=torch.float32, device=query.device).rsqrt()
        scores = torch.mul(query @ key.transpose(-2, -1), scale)
        if key_padding_mask is not None:
            scores = scores.masked_fill(key_padding_mask[:, None, None, :] != 0, -1e9)
        if attention_mask is not None:
            scores = scores.masked_fill(attention_mask[:, None, :, :] != 0, -1e9)
        x = torch.softmax(scores, dim=-1) @ value
        """,
    ),
    _attention(
        "softmax-in-float32",
        """
        scores = query @ key.transpose(-2, -1) / math.sqrt(self.d_k)
        if key_padding_mask is not None:
            scores = scores.masked_fill(key_padding_mask[:, None, None, :] != 0, -1e9)
        if attention_mask is not None:
            scores = scores.masked_fill(attention_mask[:, None, :, :] != 0, -1e9)
        x = torch.softmax(scores, dim=-1, dtype=torch.float32).to(value.dtype) @ value
        """,
    ),
    _attention(
        "softmax-of-float",
        """
        scores = query @ key.transpose(-2, -1) / np.sqrt(self.d_k)
        if key_padding_mask is not None:
            scores = scores.masked_fill(key_padding_mask[:, None, None, :] != 0, -1e9)
        if attention_mask is not None:
            scores = scores.masked_fill(attention_mask[:, None, :, :] != 0, -1e9)
        x = torch.softmax(scores.float(), dim=-1).type_as(value) @ value
        """,
        "import numpy as np",
    ),
]

"""Formulations: other correct ways to write norms, GELU, feed-forward networks and attention."""

from autograder.authoring.formulations import Formulation

NORM, GELU, NETWORK = "LayerNorm.forward", "gelu", "FeedForward.forward"
HEAD, SIMPLE = "AttentionHead.forward", "MultiHeadAttentionSimple.forward"
EFFICIENT = "MultiHeadAttentionEfficient.forward"
F = "import torch.nn.functional as F"


def _layers(name: str, function: str, text: str, imports: str = "") -> Formulation:
    return Formulation(f"layers-{name}", "layers", {function: (text,)}, imports)


def _heads(name: str, function: str, text: str, imports: str = "") -> Formulation:
    return Formulation(f"heads-{name}", "heads", {function: (text,)}, imports)


LAYERS = [
    _layers(
        "norm-var-mean",
        NORM,
        """
        variance, mean = torch.var_mean(x, dim=-1, correction=0, keepdim=True)
        return torch.addcmul(self.bias, self.weight, (x - mean) * (variance + self.eps).rsqrt())
        """,
    ),
    _layers(
        "norm-std-of-biased",
        NORM,
        """
        centred = x - x.mean(-1).unsqueeze(-1)
        root = (centred.std(-1, unbiased=False, keepdim=True) ** 2 + self.eps) ** 0.5
        return centred / root * self.weight + self.bias
        """,
    ),
    _layers(
        "norm-sums",
        NORM,
        """
        n = x.shape[-1]
        mean = x.sum(-1, keepdim=True) / n
        squares = ((x - mean) ** 2).sum(-1, keepdim=True) / n
        return self.weight * ((x - mean) / torch.sqrt(squares + self.eps)) + self.bias
        """,
    ),
    _layers(
        "norm-with-cat",
        NORM,
        """
        size = x.size(-1)
        rows = x.reshape(-1, size)
        normed = [(row - row.mean()) / (((row - row.mean()) ** 2).mean() + self.eps).sqrt() for row in rows]
        return (torch.stack(normed) * self.weight + self.bias).reshape(x.shape)
        """,
    ),
    _layers(
        "gelu-normal-cdf",
        GELU,
        """
        return x * torch.distributions.Normal(0.0, 1.0).cdf(x)
        """,
    ),
    _layers("gelu-erfc", GELU, "return x * torch.special.erfc(-x * 0.5**0.5) / 2"),
    _layers("gelu-ndtr", GELU, "return torch.special.ndtr(x).mul(x)"),
    _layers(
        "network-functional",
        NETWORK,
        """
        hidden = F.linear(x, self.fc1.weight, self.fc1.bias)
        y = gelu(hidden) @ self.fc2.weight.T + self.fc2.bias
        return F.dropout(y, self.dropout.p, self.training)
        """,
        F,
    ),
    _layers(
        "network-step-by-step",
        NETWORK,
        """
        y = self.fc1(x)
        y = gelu(y)
        y = self.fc2(y)
        y = self.dropout(y)
        return y
        """,
    ),
]

HEADS = [
    _heads(
        "head-minus-infinity-repaired",
        HEAD,
        """
        scores = self.W_q(x) @ self.W_k(x).mT * self.W_q.out_features**-0.5
        if mask is not None:
            scores = scores.masked_fill(mask, float("-inf"))
        return self.dropout(scores.softmax(-1).nan_to_num()) @ self.W_v(x)
        """,
    ),
    _heads(
        "head-additive-mask",
        HEAD,
        """
        q, k, v = self.W_q(x), self.W_k(x), self.W_v(x)
        scores = torch.einsum("bid,bjd->bij", q, k) / math.sqrt(k.shape[-1])
        if mask is not None:
            scores = scores + torch.zeros_like(scores).masked_fill(mask, -1e9)
        return torch.einsum("bij,bjd->bid", self.dropout(torch.softmax(scores, -1)), v)
        """,
    ),
    _heads(
        "head-where",
        HEAD,
        """
        q = self.W_q(x) / math.sqrt(self.W_q.weight.size(0))
        weights = torch.bmm(q, self.W_k(x).transpose(1, 2))
        if mask is not None:
            weights = torch.where(mask, torch.tensor(-1e30, dtype=weights.dtype), weights)
        return torch.bmm(self.dropout(nn.functional.softmax(weights, dim=2)), self.W_v(x))
        """,
    ),
    _heads(
        "head-own-softmax",
        HEAD,
        """
        q, k, v = (layer(x) for layer in (self.W_q, self.W_k, self.W_v))
        scores = q @ k.transpose(1, 2) / q.size(-1) ** 0.5
        if mask is not None:
            scores.masked_fill_(mask, -1e12)
        powers = (scores - scores.amax(-1, keepdim=True)).exp()
        return self.dropout(powers / powers.sum(-1, keepdim=True)) @ v
        """,
    ),
    _heads(
        "head-expanded-mask",
        HEAD,
        """
        B, T, _ = x.shape
        if mask is None:
            mask = torch.zeros(1, 1, T, dtype=torch.bool)
        mask = mask.expand(B, T, T)
        scores = self.W_q(x).matmul(self.W_k(x).permute(0, 2, 1)).div(math.sqrt(self.W_k.out_features))
        scores = scores - 1e9 * mask
        return self.dropout(torch.softmax(scores, 2)).matmul(self.W_v(x))
        """,
    ),
    _heads(
        "simple-preallocated",
        SIMPLE,
        """
        merged = torch.empty_like(x)
        d_head = x.size(-1) // len(self.heads)
        for number, head in enumerate(self.heads):
            merged[..., number * d_head : (number + 1) * d_head] = head(x, mask=mask)
        return self.output_dropout(self.W_o(merged))
        """,
    ),
    _heads(
        "simple-sum-of-projections",
        SIMPLE,
        """
        parts = self.W_o.weight.chunk(len(self.heads), dim=1)
        mixed = sum(head(x, mask) @ part.T for head, part in zip(self.heads, parts))
        return self.output_dropout(mixed + self.W_o.bias)
        """,
    ),
    _heads(
        "efficient-chunk-reshape",
        EFFICIENT,
        """
        B, T, C = x.size()
        q, k, v = self.W_qkv(x).chunk(3, dim=2)
        k = k.view(B, T, self.num_heads, C // self.num_heads).transpose(1, 2)
        q = q.view(B, T, self.num_heads, C // self.num_heads).transpose(1, 2)
        v = v.view(B, T, self.num_heads, C // self.num_heads).transpose(1, 2)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        if mask is not None:
            att = att.masked_fill(mask[:, None], -1e9)
        att = self.attention_dropout(torch.softmax(att, dim=-1))
        y = (att @ v).transpose(1, 2).reshape(B, T, C)
        return self.output_dropout(self.W_o(y))
        """,
    ),
    _heads(
        "efficient-einsum",
        EFFICIENT,
        """
        B, T, _ = x.shape
        qkv = self.W_qkv(x).view(B, T, 3, self.num_heads, self.d_head)
        scores = torch.einsum("bihd,bjhd->bhij", qkv[:, :, 0], qkv[:, :, 1]) / self.d_head**0.5
        if mask is not None:
            scores = scores.masked_fill(mask.unsqueeze(-3), torch.finfo(scores.dtype).min)
        weights = self.attention_dropout(scores.softmax(dim=-1))
        merged = torch.einsum("bhij,bjhd->bihd", weights, qkv[:, :, 2]).flatten(2)
        return self.output_dropout(self.W_o(merged))
        """,
    ),
    _heads(
        "efficient-heads-in-batch",
        EFFICIENT,
        """
        B, T, d_model = x.shape
        H, d = self.num_heads, self.d_head
        parts = self.W_qkv(x).reshape(B, T, 3, H, d).permute(2, 0, 3, 1, 4).reshape(3, B * H, T, d)
        q, k, v = parts.unbind(0)
        scores = torch.bmm(q, k.transpose(1, 2)) / math.sqrt(d)
        if mask is not None:
            scores = scores.masked_fill(mask.expand(B, T, T).repeat_interleave(H, dim=0), -1e10)
        heads = torch.bmm(self.attention_dropout(scores.softmax(-1)), v)
        merged = heads.view(B, H, T, d).permute(0, 2, 1, 3).reshape(B, T, d_model)
        return self.output_dropout(self.W_o(merged))
        """,
    ),
    _heads(
        "efficient-loop-over-heads",
        EFFICIENT,
        """
        q, k, v = self.W_qkv(x).split(x.size(-1), dim=-1)
        outputs = []
        for h in range(self.num_heads):
            part = slice(h * self.d_head, (h + 1) * self.d_head)
            scores = q[..., part] @ k[..., part].mT / math.sqrt(self.d_head)
            if mask is not None:
                scores = scores.masked_fill(mask, torch.finfo(scores.dtype).min)
            outputs.append(self.attention_dropout(torch.softmax(scores, -1)) @ v[..., part])
        return self.output_dropout(self.W_o(torch.cat(outputs, -1)))
        """,
    ),
    _heads(
        "efficient-log-softmax",
        EFFICIENT,
        """
        B, T, C = x.shape
        q, k, v = (t.unflatten(-1, (self.num_heads, -1)).movedim(2, 1) for t in self.W_qkv(x).tensor_split(3, dim=-1))
        scores = (q / math.sqrt(self.d_head)) @ k.movedim(-1, -2)
        if mask is not None:
            scores = torch.where(mask.unsqueeze(1), -1e15, scores)
        weights = self.attention_dropout(scores.log_softmax(-1).exp())
        return self.output_dropout(self.W_o((weights @ v).movedim(1, 2).flatten(-2)))
        """,
    ),
]

"""Formulations: other correct ways to split tensors into heads, and to share attributes between the two methods."""

from autograder.assignments.transformer.formulations.mha import QKV, SDPA, F
from autograder.authoring.formulations import Formulation


def _heads(name: str, text: str, imports: str = "") -> Formulation:
    return Formulation(f"mha-heads-{name}", "mha", {QKV: (text,)}, imports)


HEADS = [
    _heads(
        "reshape-permute",
        """
        q = self.W_q(Q).reshape(Q.size(0), Q.size(1), self.num_heads, self.d_k).permute(0, 2, 1, 3)
        k = self.W_k(K).reshape(K.size(0), K.size(1), self.num_heads, self.d_k).permute(0, 2, 1, 3)
        v = self.W_v(V).reshape(V.size(0), V.size(1), self.num_heads, self.d_k).permute(0, 2, 1, 3)
        return q, k, v
        """,
    ),
    _heads(
        "contiguous",
        """
        B = Q.shape[0]
        q = self.W_q(Q).view(B, -1, self.num_heads, self.d_k).swapaxes(1, 2).contiguous()
        k = self.W_k(K).view(B, -1, self.num_heads, self.d_k).swapaxes(1, 2).contiguous()
        v = self.W_v(V).view(B, -1, self.num_heads, self.d_k).swapaxes(1, 2).contiguous()
        return q, k, v
        """,
    ),
    _heads(
        "unflatten-movedim",
        """
        return tuple(
            linear(x).unflatten(-1, (self.num_heads, self.d_k)).movedim(2, 1)
            for linear, x in zip((self.W_q, self.W_k, self.W_v), (Q, K, V))
        )
        """,
    ),
    _heads(
        "split-stack",
        """
        q = torch.stack(self.W_q(Q).split(self.d_k, dim=-1), dim=1)
        k = torch.stack(self.W_k(K).chunk(self.num_heads, dim=-1), dim=1)
        v = torch.stack(torch.tensor_split(self.W_v(V), self.num_heads, dim=2), dim=1)
        return q, k, v
        """,
    ),
    _heads(
        "einsum-of-weights",
        """
        H, d_k = self.num_heads, self.d_k

        def project(linear, x):
            y = torch.einsum("btm,hdm->bhtd", x, linear.weight.view(H, d_k, -1))
            return y + linear.bias.view(H, 1, d_k)

        return project(self.W_q, Q), project(self.W_k, K), project(self.W_v, V)
        """,
    ),
    _heads(
        "linear-for-each-head",
        """
        results = []
        for linear, x in ((self.W_q, Q), (self.W_k, K), (self.W_v, V)):
            heads = []
            for h in range(self.num_heads):
                rows = slice(h * self.d_k, (h + 1) * self.d_k)
                heads.append(F.linear(x, linear.weight[rows], linear.bias[rows]).unsqueeze(1))
            results.append(torch.cat(heads, dim=1))
        return results[0], results[1], results[2]
        """,
        F,
    ),
    # The two methods share attributes that the first one sets; `forward` always calls it first.
    Formulation(
        "mha-shared-sizes",
        "mha",
        {
            QKV: (
                """
                self.B, self.T_q, self.T_k = Q.size(0), Q.size(1), K.size(1)
                heads = self.num_heads, self.d_k
                q = self.W_q(Q).reshape(self.B, self.T_q, *heads).transpose(1, 2)
                k = self.W_k(K).reshape(self.B, self.T_k, *heads).transpose(1, 2)
                return q, k, self.W_v(V).reshape(self.B, self.T_k, *heads).transpose(1, 2)
                """,
            ),
            SDPA: (
                """
                scores = torch.matmul(query, key.permute(0, 1, 3, 2)) / self.d_k**0.5
                if key_padding_mask is not None:
                    hidden = key_padding_mask.reshape(self.B, 1, 1, self.T_k).expand(-1, self.num_heads, self.T_q, -1)
                    scores = scores.masked_fill(hidden != 0, -1e9)
                if attention_mask is not None:
                    scores = scores.masked_fill(attention_mask.view(-1, 1, self.T_q, self.T_k) != 0, -1e9)
                x = torch.matmul(scores.softmax(-1), value).reshape(self.B, self.num_heads, self.T_q, self.d_k)
                """,
            ),
        },
    ),
    Formulation(
        "mha-shared-projection",
        "mha",
        {
            QKV: (
                """
                heads = (self.num_heads, self.d_k)
                self.query = self.W_q(Q).unflatten(2, heads).transpose(1, 2)
                self.key = self.W_k(K).unflatten(2, heads).transpose(1, 2)
                self.value = self.W_v(V).unflatten(2, heads).transpose(1, 2)
                return self.query, self.key, self.value
                """,
            ),
            SDPA: (
                """
                scores = self.query @ self.key.mT / math.sqrt(self.d_k)
                if key_padding_mask is not None:
                    scores = scores.masked_fill(key_padding_mask[:, None, None] != 0, -1e9)
                if attention_mask is not None:
                    scores = scores.masked_fill(attention_mask[:, None] != 0, -1e9)
                x = scores.softmax(dim=-1) @ self.value
                """,
            ),
        },
    ),
]

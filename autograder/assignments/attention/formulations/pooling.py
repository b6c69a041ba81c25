"""Other correct ways to write stage 1 of `attention`: kernels, pooling, leave-one-out predictions."""

from autograder.authoring.formulations import Formulation

LOO = "KernelRegression.leave_one_out"
FORWARD = "KernelRegression.forward"


def _kernels(name: str, boxcar: str, triangular: str, epanechnikov: str, imports: str = "") -> Formulation:
    texts = {"boxcar": (boxcar,), "triangular": (triangular,), "epanechnikov": (epanechnikov,)}
    return Formulation(f"kernels-{name}", "pooling", texts, imports)


def _pooling(name: str, text: str, imports: str = "") -> Formulation:
    return Formulation(f"pooling-{name}", "pooling", {"attention_pooling": (text,)}, imports)


def _left_out(name: str, text: str, forward: str | None = None) -> Formulation:
    regions = {LOO: (text,)} | ({} if forward is None else {FORWARD: (forward,)})
    return Formulation(f"leave-one-out-{name}", "pooling", regions)


POOLING = [
    _kernels(
        "where",
        "return torch.where(u <= 1, 1.0, 0.0)",
        "return torch.where(u < 1, 1 - u, torch.zeros_like(u))",
        "return torch.where(u < 1, 3 / 4 * (1 - u * u), torch.tensor(0.0, dtype=u.dtype))",
    ),
    _kernels(
        "masks",
        "return 1.0 * (u.abs() <= 1)",
        "return (1 - u.abs()) * (u.abs() <= 1)",
        "return 0.75 * (1 - u**2) * (u <= 1)",
    ),
    _kernels(
        "maximum",
        "return (~(u > 1)).float()",
        "return torch.maximum(1 - torch.abs(u), torch.tensor(0.0))",
        "return torch.max(3 / 4 * (1 - torch.pow(u, 2)), torch.zeros_like(u))",
    ),
    _kernels(
        "in-place",
        """
        result = torch.zeros_like(u)
        result[u <= 1] = 1
        return result
        """,
        "return torch.relu(1 - u)",
        """
        result = 3 * (1 - u.square()) / 4
        result[u > 1] = 0
        return result
        """,
    ),
    _kernels(
        "clamped-distance",
        "return torch.ones_like(u).masked_fill(u > 1, 0)",
        "return 1 - u.clamp(max=1)",
        "return 0.75 * (1 - u.clamp(max=1).pow(2))",
    ),
    _pooling(
        "differences",
        """
        difference = queries[:, None, :] - keys[None, :, :]
        distance = torch.sqrt((difference**2).sum(dim=-1))
        scores = kernel(distance / width)
        total = scores.sum(dim=-1, keepdim=True)
        nearest = distance == distance.min(dim=-1, keepdim=True).values
        scores = torch.where(total == 0, nearest.to(scores.dtype), scores)
        weights = scores / scores.sum(dim=-1, keepdim=True)
        return torch.matmul(weights, values), weights
        """,
    ),
    _pooling(
        "rows-repaired",
        """
        distance = torch.linalg.norm(queries.unsqueeze(1) - keys.unsqueeze(0), dim=2)
        weights = kernel(distance.div(width)).to(values.dtype)
        lost = weights.sum(1) == 0
        if lost.any():
            weights = weights.clone()
            smallest = distance[lost].min(dim=1, keepdim=True)[0]
            weights[lost] = torch.isclose(distance[lost], smallest).to(weights.dtype)
        weights = weights / weights.sum(1, keepdim=True)
        return weights.mm(values), weights
        """,
    ),
    _pooling(
        "loop",
        """
        rows = []
        for query in queries:
            distance = (keys - query).norm(dim=1)
            row = kernel(distance / width)
            if float(row.sum()) == 0.0:
                row = torch.zeros_like(distance)
                row[distance == distance.min()] = 1.0
            rows.append(row / row.sum())
        weights = torch.stack(rows)
        return torch.einsum("qk,kv->qv", weights, values), weights
        """,
    ),
    _pooling(
        "expanded-square",
        """
        square = (queries**2).sum(1)[:, None] + (keys**2).sum(1)[None, :] - 2 * queries @ keys.T
        distance = square.clamp(min=0).sqrt()
        value = kernel(distance / width)
        reached = value.sum(1, keepdim=True) > 0
        near = (distance <= distance.amin(1, keepdim=True) + 1e-9).double().to(value.dtype)
        value = value * reached + near * ~reached
        weights = value / value.sum(1, keepdim=True)
        return weights @ values, weights
        """,
    ),
    _pooling(
        "numpy-nearest",
        """
        distance = torch.cdist(queries, keys, p=2.0)
        scores = kernel(distance / width)
        empty = (scores == 0).all(dim=1)
        nearest = np.isclose(distance.detach().numpy(), distance.detach().numpy().min(axis=1, keepdims=True))
        scores = torch.where(empty[:, None], torch.from_numpy(nearest).to(scores.dtype), scores)
        weights = nn.functional.normalize(scores, p=1, dim=1)
        return weights @ values, weights
        """,
        "import numpy as np",
    ),
    _left_out(
        "pooling-of-the-others",
        """
        n = keys.shape[0]
        estimates, rows = [], []
        for i in range(n):
            others = [j for j in range(n) if j != i]
            estimate, weights = self.forward(keys[i : i + 1], keys[others], values[others])
            row = torch.zeros(n, dtype=keys.dtype)
            row[others] = weights[0].to(keys.dtype)
            estimates.append(estimate[0])
            rows.append(row)
        return torch.stack(estimates), torch.stack(rows)
        """,
        """
        width = torch.exp(self.log_width)
        return attention_pooling(queries, keys, values, self.kernel, width=width)
        """,
    ),
    _left_out(
        "off-diagonal",
        """
        n = len(keys)
        mask = 1 - torch.eye(n, dtype=keys.dtype)
        distance = (keys[:, None] - keys[None]).pow(2).sum(-1).sqrt()
        value = self.kernel(distance / torch.exp(self.log_width)) * mask
        far = distance + distance.max() * 2 * (1 - mask) + (1 - mask)
        fallback = (far == far.min(dim=1, keepdim=True).values).to(keys.dtype)
        value = torch.where(value.sum(dim=1, keepdim=True) == 0, fallback, value)
        weights = value / value.sum(dim=1, keepdim=True)
        return weights.matmul(values), weights
        """,
        "return attention_pooling(queries, keys, values, kernel=self.kernel, width=self.log_width.exp())",
    ),
]

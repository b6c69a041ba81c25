"""Formulations of the optimizers: other correct ways to write them."""

from autograder.authoring.formulations import Formulation


def _optim(name: str, function: str, text: str, imports: str = "") -> Formulation:
    return Formulation(f"optim-{name}", "optim", {function: (text,)}, imports)


OPTIM = [
    _optim(
        "adamw-in-place",
        "AdamW.step",
        """
        for group in self.param_groups:
            (beta1, beta2), lr, eps = group["betas"], group["lr"], group["eps"]
            for p in filter(lambda p: p.grad is not None, group["params"]):
                state = self.state[p]
                if "step" not in state:
                    state.update(step=torch.zeros(()), exp_avg=torch.zeros_like(p), exp_avg_sq=torch.zeros_like(p))
                state["step"] += 1
                t = int(state["step"])
                state["exp_avg"].mul_(beta1).add_(p.grad, alpha=1 - beta1)
                state["exp_avg_sq"].mul_(beta2).addcmul_(p.grad, p.grad, value=1 - beta2)
                p.mul_(1 - lr * group["weight_decay"])
                divisor = (state["exp_avg_sq"].sqrt() / (1 - beta2**t) ** 0.5).add_(eps)
                p.addcdiv_(state["exp_avg"], divisor, value=-lr / (1 - beta1**t))
        """,
    ),
    _optim(
        "adamw-lerp",
        "AdamW.step",
        """
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    state, (b1, b2) = self.state[p], group["betas"]
                    state["t"] = state.get("t", 0) + 1
                    state["m"] = torch.lerp(p.grad, state.get("m", torch.zeros_like(p)), b1)
                    state["v"] = torch.lerp(p.grad**2, state.get("v", torch.zeros_like(p)), b2)
                    first, second = state["m"] / (1 - b1 ** state["t"]), state["v"] / (1 - b2 ** state["t"])
                    new = p - group["lr"] * (group["weight_decay"] * p + first / (second**0.5 + group["eps"]))
                    p.copy_(new)
        """,
    ),
    _optim(
        "adamw-data",
        "AdamW.step",
        """
        for group in self.param_groups:
            for p in group["params"]:
                g = p.grad
                if g is None:
                    continue
                t, m, v = self.state[p].get("all", (0, 0.0, 0.0))
                b1, b2 = group["betas"]
                t, m, v = t + 1, b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
                self.state[p]["all"] = (t, m, v)
                p.data = p.data * (1 - group["lr"] * group["weight_decay"])
                p.data -= group["lr"] * (m / (1 - b1**t)) / (torch.sqrt(v / (1 - b2**t)) + group["eps"])
        """,
    ),
    _optim(
        "orthogonalise-never-transposed",
        "orthogonalise",
        """
        X = G / (torch.linalg.norm(G) + 1e-7)
        for _step in range(steps):
            A = X @ X.T
            X = 3.4445 * X + (-4.7750 * A + 2.0315 * A @ A) @ X
        return X
        """,
    ),
    _optim(
        "orthogonalise-recursive",
        "orthogonalise",
        """
        if G.shape[0] > G.shape[1]:
            return orthogonalise(G.mT, steps).mT
        X = G / (torch.sqrt((G * G).sum()) + 1e-7)
        while steps > 0:
            A = X.matmul(X.mT)
            AX = A.matmul(X)
            X = X.mul(3.4445).sub(4.7750 * AX).add(2.0315 * A.matmul(AX))
            steps -= 1
        return X
        """,
    ),
    _optim(
        "orthogonalise-from-the-right",
        "orthogonalise",
        """
        X = G.clone().div_(G.square().sum().sqrt().add(1e-7))
        for _step in range(steps):
            A = X.T @ X
            X = X @ torch.addmm(3.4445 * torch.eye(A.size(0), dtype=A.dtype) - 4.7750 * A, A, A, alpha=2.0315)
        return X
        """,
    ),
    _optim(
        "muon-in-place",
        "Muon.step",
        """
        for group in self.param_groups:
            lr, mu = group["lr"], group["momentum"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                u = self.state[p].setdefault("momentum_buffer", torch.zeros_like(p.grad))
                u.mul_(mu).add_(p.grad)
                step = orthogonalise(torch.add(p.grad, u, alpha=mu), steps=group["steps"])
                n, m = p.shape
                p.mul_(1 - lr * group["weight_decay"]).add_(step, alpha=-lr * max(n / m, 1.0) ** 0.5)
        """,
    ),
    _optim(
        "muon-mean-of-gradients",  # the same direction, since orthogonalise divides by the norm
        "Muon.step",
        """
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    mu = group["momentum"]
                    mean = mu * self.state[p].get("mean", 0.0) + (1 - mu) * p.grad
                    self.state[p]["mean"] = mean
                    direction = orthogonalise((1 - mu) * p.grad + mu * mean, group["steps"])
                    decay = group["weight_decay"] * p
                    p.sub_(group["lr"] * (decay + math.sqrt(max(1, p.shape[0] / p.shape[1])) * direction))
        """,
        "import math",
    ),
    _optim(
        "split-by-membership",
        "split",
        """
        embedded = [m.weight for m in model.modules() if type(m) is nn.Embedding]
        hidden = [p for p in model.parameters() if p.ndim == 2 and not any(p is weight for weight in embedded)]
        return hidden, [p for p in model.parameters() if not any(p is other for other in hidden)]
        """,
    ),
    _optim(
        "split-sets",
        "split",
        """
        everything = set(model.parameters())
        matrices = {p for p in everything if len(p.shape) == 2}
        for module in model.modules():
            if isinstance(module, nn.Embedding):
                matrices.discard(module.weight)
        return list(matrices), list(everything - matrices)
        """,
    ),
    _optim(
        "wsd-minimum",
        "wsd",
        """
        rising = (step + 1) / warmup if step < warmup else 1.0
        left = max(total - step, 0)
        falling = floor + (1 - floor) * min(left / max(decay, 1), 1)
        return min(rising, falling)
        """,
    ),
]

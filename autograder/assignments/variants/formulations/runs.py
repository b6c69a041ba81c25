"""Formulations: other correct ways to write the training functions and the parts of today's models."""

from autograder.authoring.formulations import Formulation

ATTENTION = "GroupedQueryAttention.forward"


def _training(name: str, function: str, text: str, imports: str = "") -> Formulation:
    return Formulation(f"training-{name}", "training", {function: (text,)}, imports)


def _modern(name: str, function: str, text: str) -> Formulation:
    return Formulation(f"modern-{name}", "modern", {function: (text,)})


TRAINING = [
    _training(
        "loss-wanted-distribution",
        "smoothed_loss",
        """
        V = logits.size(-1)
        wanted = F.one_hot(targets, V) * (1 - smoothing) + smoothing / V
        each = -(wanted * logits.log_softmax(-1)).sum(-1)
        keep = (targets != padding_idx).to(each.dtype)
        return (each * keep).sum() / keep.sum()
        """,
    ),
    _training(
        "loss-logsumexp",
        "smoothed_loss",
        """
        keep = targets.ne(padding_idx)
        logits, targets = logits[keep], targets[keep]
        total = torch.logsumexp(logits, dim=-1)
        right = logits[torch.arange(len(targets)), targets]
        return (total - (1 - smoothing) * right - smoothing * logits.mean(-1)).mean()
        """,
    ),
    _training(
        "loss-divergence",
        "smoothed_loss",
        """
        V = logits.size(-1)
        wanted = torch.full_like(logits, smoothing / V)
        wanted.scatter_(-1, targets.unsqueeze(-1), 1 - smoothing + smoothing / V)
        entropy = -torch.xlogy(wanted, wanted).sum(-1)
        divergence = F.kl_div(logits.log_softmax(-1), wanted, reduction="none").sum(-1)
        return (divergence + entropy)[targets != padding_idx].mean()
        """,
    ),
    _training(
        "warmup-branches",
        "warmup_rate",
        """
        if step < warmup:
            return step * peak / warmup
        return peak * warmup**0.5 * step**-0.5
        """,
    ),
    _training(
        "warmup-formula-of-the-paper",
        "warmup_rate",
        "return peak * warmup**0.5 * min(step**-0.5, step * warmup**-1.5)",
    ),
    _training(
        "cosine-half-angle",
        "cosine_rate",
        """
        if step < warmup:
            return peak * step / warmup
        if step > total:
            return floor
        share = math.cos(math.pi / 2 * (step - warmup) / (total - warmup)) ** 2
        return share * peak + (1 - share) * floor
        """,
    ),
    _training(
        "cosine-tensor",
        "cosine_rate",
        """
        rising = torch.tensor(step / warmup)
        done = torch.tensor((step - warmup) / (total - warmup)).clamp(0, 1)
        falling = floor + 0.5 * (peak - floor) * (1 + torch.cos(math.pi * done))
        return float(torch.where(rising < 1, peak * rising, falling))
        """,
    ),
    _training(
        "clip-one-vector",
        "clip_gradients",
        """
        parameters = [p for p in parameters if p.grad is not None]
        norm = torch.cat([p.grad.flatten() for p in parameters]).norm()
        if norm > max_norm:
            for p in parameters:
                p.grad = p.grad * (max_norm / norm)
        return norm
        """,
    ),
    _training(
        "clip-factor-at-most-one",
        "clip_gradients",
        """
        gradients = [p.grad for p in list(parameters) if p.grad is not None]
        norm = torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(g) for g in gradients]))
        factor = min(1.0, max_norm / float(norm))
        for g in gradients:
            g *= factor
        return norm.item()
        """,
    ),
    _training(
        "step-set-to-zero",
        "train_step",
        """
        model.train(True)
        for parameter in model.parameters():
            parameter.grad = None
        loss = model.loss(*batch)
        loss.backward()
        clip_gradients(list(model.parameters()), max_norm)
        for group in optimizer.param_groups:
            group.update(lr=rate)
        optimizer.step()
        return loss.detach()
        """,
    ),
    _training(
        "step-without-sets",
        "train_step",
        """
        optimizer.zero_grad(set_to_none=False)
        model.train()
        loss = model.loss(*batch)
        loss.backward()
        value = float(loss)
        clip_gradients(model.parameters(), max_norm=max_norm)
        for number in range(len(optimizer.param_groups)):
            optimizer.param_groups[number]["lr"] = rate
        optimizer.step()
        return value
        """,
    ),
    _training(
        "groups-by-module",
        "parameter_groups",
        """
        spared, decaying = {}, {}
        for module in model.modules():
            for parameter in module.parameters(recurse=False):
                if isinstance(module, nn.Embedding) or parameter.ndim != 2:
                    spared[parameter] = None
                    decaying.pop(parameter, None)
                elif parameter not in spared:
                    decaying[parameter] = None
        return [
            dict(params=list(decaying), weight_decay=weight_decay),
            dict(params=list(spared), weight_decay=0.0),
        ]
        """,
    ),
]

MODERN = [
    _modern(
        "norm-divided",
        "RMSNorm.forward",
        """
        wide = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
        return (wide / torch.sqrt((wide * wide).mean(-1, keepdim=True) + self.eps)).to(x.dtype) * self.weight
        """,
    ),
    _modern(
        "norm-by-length",
        "RMSNorm.forward",
        """
        x = x.to(torch.promote_types(x.dtype, torch.float32))  # the result of half precision is then in float32
        length = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
        return self.weight * (x / (length**2 / x.size(-1) + self.eps) ** 0.5)
        """,
    ),
    _modern(
        "rotate-complex",
        "rotate",
        """
        if x.shape[-1] % 2 == 1:
            raise ValueError(f"d_head = {x.shape[-1]} is odd")
        wide = x if x.dtype in (torch.float32, torch.float64) else x.float()  # no complex numbers in bfloat16
        pairs = torch.view_as_complex(wide.unflatten(-1, (-1, 2)).contiguous())
        frequency = 10000.0 ** (-torch.arange(0, x.shape[-1], 2) / x.shape[-1])
        angles = torch.outer(positions.to(frequency.dtype), frequency)
        return torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles)).flatten(-2).type_as(x)
        """,
    ),
    _modern(
        "rotate-repeated-angles",
        "rotate",
        """
        d = x.size(-1)
        if d % 2 != 0:
            raise ValueError(f"{d} features cannot be paired")
        frequency = torch.exp(torch.arange(0, d, 2) * (-math.log(10000.0) / d))
        angles = (positions.unsqueeze(-1) * frequency).repeat_interleave(2, dim=-1)
        swapped = torch.stack([-x[..., 1::2], x[..., 0::2]], dim=-1).reshape(x.shape)
        return x * angles.cos() + swapped * angles.sin()
        """,
    ),
    _modern(
        "rotate-matrices",
        "rotate",
        """
        d = x.size(-1)
        if d % 2:
            raise ValueError(f"an odd number of features: {d}")
        y = torch.empty_like(x)
        for i in range(d // 2):
            angle = positions.double() * 10000.0 ** (-2 * i / d)
            turn = torch.stack([angle.cos(), -angle.sin(), angle.sin(), angle.cos()], -1).view(-1, 2, 2).to(x.dtype)
            y[..., 2 * i : 2 * i + 2] = (turn @ x[..., 2 * i : 2 * i + 2, None]).squeeze(-1)
        return y
        """,
    ),
    _modern(
        "gate-by-hand",
        "SwiGLU.forward",
        """
        gate = self.W_gate(x)
        gate = gate * torch.sigmoid(gate)
        return self.W_down(gate.mul(self.W_up(x)))
        """,
    ),
    _modern(
        "attention-repeated",
        ATTENTION,
        """
        B, T, d_model = x.shape
        past = cache[0].shape[2] if cache is not None else 0
        positions = torch.arange(past, past + T)
        q = self.W_q(x).view(B, T, self.num_heads, self.d_head).transpose(1, 2)
        k = self.W_k(x).view(B, T, self.num_kv_heads, self.d_head).transpose(1, 2)
        v = self.W_v(x).view(B, T, self.num_kv_heads, self.d_head).transpose(1, 2)
        q, k = rotate(q, positions), rotate(k, positions)
        if cache is not None:
            k = torch.cat([cache[0], k], dim=-2)
            v = torch.cat([cache[1], v], dim=-2)
        share = self.num_heads // self.num_kv_heads
        keys, values = k.repeat_interleave(share, dim=1), v.repeat_interleave(share, dim=1)
        scores = q @ keys.transpose(2, 3) / self.d_head**0.5
        scores = scores.masked_fill(torch.arange(past + T)[None] > positions[:, None], float("-inf"))
        y = (scores.softmax(-1) @ values).transpose(1, 2).reshape(B, T, d_model)
        return self.W_o(y), (k, v)
        """,
    ),
    _modern(
        "attention-einsum",
        ATTENTION,
        """
        G, H, d = self.num_kv_heads, self.num_heads, self.d_head
        T = x.shape[1]
        start = 0 if cache is None else cache[0].size(-2)
        where = start + torch.arange(T)
        q = rotate(self.W_q(x).unflatten(-1, (G, H // G, d)).permute(0, 2, 3, 1, 4), where)
        k = rotate(self.W_k(x).unflatten(-1, (G, d)).transpose(1, 2), where)
        v = self.W_v(x).unflatten(-1, (G, d)).transpose(1, 2)
        if cache is not None:
            k, v = (torch.cat(pair, dim=2) for pair in zip(cache, (k, v)))
        scores = torch.einsum("bgrid,bgjd->bgrij", q, k) / math.sqrt(d)
        if T > 1:
            scores = scores + torch.full((T, start + T), -1e30).triu(1 + start)
        y = torch.einsum("bgrij,bgjd->bigrd", scores.softmax(dim=-1), v).flatten(2)
        return self.W_o(y), (k, v)
        """,
    ),
    _modern(
        "attention-loop",
        ATTENTION,
        """
        T, past = x.size(1), 0 if cache is None else cache[0].size(2)
        positions = torch.arange(past, past + T)
        keys = torch.stack([rotate(part, positions) for part in self.W_k(x).split(self.d_head, -1)], 1)
        values = torch.stack(self.W_v(x).split(self.d_head, -1), 1)
        if cache is not None:
            keys, values = torch.cat([cache[0], keys], 2), torch.cat([cache[1], values], 2)
        results = []
        for head, query in enumerate(self.W_q(x).split(self.d_head, dim=-1)):
            group = head * self.num_kv_heads // self.num_heads
            scores = rotate(query, positions) @ keys[:, group].mT / math.sqrt(self.d_head)
            for row in range(T):
                scores[:, row, past + row + 1 :] = -math.inf
            results.append(torch.softmax(scores, -1) @ values[:, group])
        return self.W_o(torch.cat(results, -1)), [keys, values]
        """,
    ),
]

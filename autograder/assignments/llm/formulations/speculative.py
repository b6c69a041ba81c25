"""Formulations of speculative decoding: other correct ways to write it."""

from autograder.authoring.formulations import Formulation


def _speculative(name: str, function: str, text: str) -> Formulation:
    return Formulation(f"speculative-{name}", "speculative", {function: (text,)})


SPECULATIVE = [
    _speculative(
        "draw-by-search",
        "draw",
        """
        sums = torch.cumsum(probabilities, dim=-1)
        return torch.searchsorted(sums, u * sums[-1], right=True).item()
        """,
    ),
    _speculative(
        "draw-by-counting",
        "draw",
        """
        share = probabilities / probabilities.sum()
        return int((share.cumsum(0) <= u).sum())
        """,
    ),
    _speculative(
        "draw-by-loop",
        "draw",
        """
        left = u * float(probabilities.sum())
        for token, weight in enumerate(probabilities.tolist()):
            left -= weight
            if left < 0:
                return token
        return int(probabilities.nonzero()[-1])
        """,
    ),
    _speculative(
        "draw-by-argmax",
        "draw",
        """
        c = probabilities.cumsum(-1)
        return int((c > u * c[-1]).int().argmax())
        """,
    ),
    _speculative(
        "verify-by-ratio",
        "verify",
        """
        kept = []
        for guess, p, q, number in zip(tokens, target, draft, accept):
            if number < min(1.0, (p[guess] / q[guess]).item()):
                kept.append(guess)
            else:
                return kept + [draw(torch.relu(p - q), u)]
        return kept + [draw(target[-1], u)]
        """,
    ),
    _speculative(
        "verify-normalised-residual",
        "verify",
        """
        K = len(tokens)
        n = 0
        while n < K and accept[n] * draft[n][tokens[n]] < target[n][tokens[n]]:
            n += 1
        weights = target[n]
        if n < K:
            weights = torch.maximum(weights - draft[n], torch.zeros_like(weights))
            weights = weights / weights.sum()
        return list(tokens[:n]) + [draw(weights, u)]
        """,
    ),
    _speculative(
        "verify-padded-draft",
        "verify",
        """
        index = torch.tensor(tokens)[:, None]
        p, q = target[:-1].gather(1, index)[:, 0], draft.gather(1, index)[:, 0]
        kept = int((torch.tensor(accept) * q < p).long().cumprod(0).sum())
        padded = torch.cat([draft, torch.zeros_like(draft[:1])])
        return tokens[:kept] + [draw((target[kept] - padded[kept]).clamp(min=0), u)]
        """,
    ),
    _speculative(
        "speculate-by-positions",
        "speculate",
        """
        new, calls = [], 0
        while len(new) < length:
            known = prompt + new
            q = []
            for i in range(K):
                q.append(draft(torch.tensor(known))[len(known) - 1])
                known = known + [draw(q[i], next(uniforms))]
            n = len(prompt) + len(new)
            p = target(torch.tensor(known))[n - 1 :]
            calls = calls + 1
            accept = [next(uniforms) for _ in known[n:]]
            new = new + verify(p, torch.stack(q), known[n:], accept, next(uniforms))
        return new[:length], calls
        """,
    ),
    _speculative(
        "speculate-draft-read-again",
        "speculate",
        """
        text = torch.tensor(prompt)
        calls = 0
        while len(text) - len(prompt) < length:
            longer = text
            for _ in range(K):
                token = draw(draft(longer)[-1], next(uniforms))
                longer = torch.cat([longer, torch.tensor([token])])
            q = draft(longer)[len(text) - 1 : -1]
            p = target(longer)[len(text) - 1 :]
            accept = [next(uniforms) for _ in range(K)]
            u = next(uniforms)
            text = torch.cat([text, torch.tensor(verify(p, q, longer[len(text) :].tolist(), accept, u))])
            calls += 1
        return text[len(prompt) :][:length].tolist(), calls
        """,
    ),
]

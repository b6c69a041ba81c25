"""Formulations: other correct ways to write the language model and generation."""

from autograder.authoring.formulations import Formulation

BLOCK, DECODER, LOSS = "Block.forward", "DecoderTransformer.forward", "DecoderTransformer.loss"
CACHED, FILTER, GENERATE_ = "forward_cached", "filter_logits", "generate"


def _lm(name: str, function: str, text: str) -> Formulation:
    return Formulation(f"lm-{name}", "language_model", {function: (text,)})


def _generate(name: str, function: str, text: str) -> Formulation:
    return Formulation(f"generate-{name}", "generate", {function: (text,)})


LM = [
    _lm(
        "block-step-by-step",
        BLOCK,
        """
        residual = x
        x = self.norm1(x)
        x = self.attention(x, mask=mask)
        x = residual + x
        residual = x
        x = self.norm2(x)
        x = self.feed_forward(x)
        return residual + x
        """,
    ),
    _lm(
        "block-in-place-on-own",
        BLOCK,
        """
        y = self.attention(self.norm1(x), mask)
        y += x
        z = self.feed_forward(self.norm2(y))
        return z.add_(y)
        """,
    ),
    _lm(
        "model-compared-positions",
        DECODER,
        """
        B, T = tokens.shape
        if T > self.max_len:
            raise ValueError(f"got {T} tokens, at most {self.max_len} are possible")
        place = torch.arange(T)
        x = self.dropout(self.token_embedding(tokens) + self.position_embedding(place.expand(B, T)))
        forbidden = (place[None, :] > place[:, None])[None].repeat(B, 1, 1)
        for layer in self.blocks:
            x = layer(x, mask=forbidden)
        return self.norm(x) @ self.token_embedding.weight.T
        """,
    ),
    _lm(
        "model-inverted-tril",
        DECODER,
        """
        T = tokens.shape[1]
        if not T <= self.max_len:
            raise ValueError(f"max_len is {self.max_len}, the input has {T}")
        x = self.token_embedding.weight[tokens] + self.position_embedding.weight[:T]
        x = self.dropout(x)
        for i in range(len(self.blocks)):
            x = self.blocks[i](x, ~torch.tril(torch.ones(T, T)).bool().view(1, T, T))
        x = self.norm(x)
        return torch.einsum("btd,vd->btv", x, self.token_embedding.weight)
        """,
    ),
    _lm(
        "loss-selected",
        LOSS,
        """
        inputs, targets = tokens[:, :-1], tokens[:, 1:]
        kept = targets != self.padding_idx
        return F.cross_entropy(self.forward(inputs)[kept], targets[kept])
        """,
    ),
    _lm(
        "loss-by-hand",
        LOSS,
        """
        log_probabilities = self(tokens[:, :-1]).log_softmax(-1)
        targets = tokens[:, 1:]
        surprise = -log_probabilities.gather(2, targets[..., None]).squeeze(2)
        counted = (targets != self.padding_idx).to(surprise.dtype)
        return (surprise * counted).sum() / counted.sum()
        """,
    ),
    _lm(
        "loss-transposed",
        LOSS,
        """
        scores = self(tokens[:, :-1]).transpose(1, 2)
        return F.cross_entropy(scores, tokens[:, 1:], ignore_index=self.padding_idx)
        """,
    ),
]

GENERATE = [
    _generate(
        "cached-split-and-branches",
        CACHED,
        """
        past = cache[0][0].shape[2] if cache else 0
        B, T = tokens.shape
        if past + T > model.max_len:
            raise ValueError(f"{past + T} > max_len = {model.max_len}")
        positions = past + torch.arange(T)
        x = model.token_embedding(tokens) + model.position_embedding(positions)
        new = []
        for i, block in enumerate(model.blocks):
            a = block.attention
            q, k, v = a.W_qkv(block.norm1(x)).chunk(3, dim=-1)
            q, k, v = (t.view(B, T, a.num_heads, -1).transpose(1, 2) for t in (q, k, v))
            if cache:
                k = torch.cat((cache[i][0], k), dim=-2)
                v = torch.cat((cache[i][1], v), dim=-2)
            new.append((k, v))
            att = q @ k.mT / math.sqrt(q.shape[-1])
            if T > 1:
                att = att.masked_fill(torch.ones(T, T).triu(1).bool(), float("-inf"))
            y = (att.softmax(-1) @ v).transpose(1, 2).reshape(B, T, -1)
            x = x + a.W_o(y)
            x = x + block.feed_forward(block.norm2(x))
        return model.norm(x) @ model.token_embedding.weight.T, new
        """,
    ),
    _generate(
        "cached-einsum-absolute-positions",
        CACHED,
        """
        before = 0 if cache is None else cache[0][0].size(-2)
        here = torch.arange(before, before + tokens.size(1))
        if before + tokens.size(1) > model.max_len:
            raise ValueError(f"the text would have {before + tokens.size(1)} tokens, the model {model.max_len}")
        everywhere = torch.arange(before + tokens.size(1))
        visible = everywhere[None, :] <= here[:, None]
        x = model.token_embedding(tokens) + model.position_embedding(here)[None]
        pairs = []
        for layer in range(len(model.blocks)):
            block = model.blocks[layer]
            parts = block.attention.W_qkv(block.norm1(x)).unflatten(-1, (3, block.attention.num_heads, -1))
            queries, keys, values = (parts[:, :, n].permute(0, 2, 1, 3).contiguous() for n in range(3))
            if cache is not None:
                keys, values = (torch.cat(two, 2) for two in zip(cache[layer], (keys, values)))
            pairs.append((keys, values))
            scores = torch.einsum("bhid,bhjd->bhij", queries, keys) * block.attention.d_head**-0.5
            weights = torch.where(visible, scores, torch.finfo(scores.dtype).min).softmax(dim=-1)
            mixed = torch.einsum("bhij,bhjd->bihd", weights, values).flatten(2)
            x = x + block.attention.output_dropout(block.attention.W_o(mixed))
            x = x + block.feed_forward(block.norm2(x))
        return F.linear(model.norm(x), model.token_embedding.weight), pairs
        """,
    ),
    _generate(
        "filter-sorted-and-scattered",
        FILTER,
        """
        logits = logits / temperature
        ordered, order = torch.sort(logits, dim=-1, descending=True)
        if top_k is not None:
            ordered[..., top_k:] = -float("inf")
        if top_p is not None:
            cumulative = ordered.softmax(-1).cumsum(-1)
            remove = cumulative > top_p
            remove[..., 1:] = remove[..., :-1].clone()
            remove[..., 0] = False
            ordered = ordered.masked_fill(remove, -float("inf"))
        return torch.empty_like(logits).scatter_(-1, order, ordered)
        """,
    ),
    _generate(
        "filter-log-probabilities",
        FILTER,
        """
        p = torch.softmax(logits / temperature, dim=-1)
        if top_k is not None and top_k < p.size(-1):
            p = p * (p >= p.topk(top_k).values[..., -1:])
            p = p / p.sum(-1, keepdim=True)
        if top_p is not None and top_p < 1.0:
            larger = p.unsqueeze(-2) > p.unsqueeze(-1)
            better = (p.unsqueeze(-2) * larger).sum(-1)
            p = p * (better < top_p)
        return (p / p.sum(-1, keepdim=True)).log()
        """,
    ),
    _generate(
        "filter-row-by-row",
        FILTER,
        """
        shape = logits.shape
        rows = []
        for row in (logits / temperature).reshape(-1, shape[-1]):
            kept = row.argsort(descending=True).tolist()
            if top_k is not None:
                kept = kept[:top_k]
            if top_p is not None and top_p < 1:
                total, few = 0.0, []
                for token, share in zip(kept, row[kept].softmax(0).tolist()):
                    few.append(token)
                    total += share
                    if total >= top_p:
                        break
                kept = few
            new = torch.full_like(row, -math.inf)
            new[kept] = row[kept]
            rows.append(new)
        return torch.stack(rows).reshape(shape)
        """,
    ),
    _generate(
        "loop-gumbel",
        GENERATE_,
        """
        text = prompt.clone()
        logits, cache = forward_cached(model, text)
        for _ in range(max_new_tokens):
            if text.size(1) >= model.max_len:
                break
            scores = logits[:, -1, :]
            if generator is not None:
                scores = filter_logits(scores, temperature, top_k, top_p)
                noise = torch.rand(scores.shape, generator=generator, dtype=scores.dtype)
                scores = scores - torch.log(-torch.log(noise))
            new = scores.argmax(-1)[:, None]
            text = torch.cat((text, new), dim=1)
            if text.size(1) < model.max_len:
                logits, cache = forward_cached(model, new, cache)
        return text
        """,
    ),
    _generate(
        "loop-inverse-distribution",
        GENERATE_,
        """
        tokens = prompt
        cache = None
        while tokens.size(1) < model.max_len and tokens.size(1) < prompt.size(1) + max_new_tokens:
            logits, cache = forward_cached(model, tokens if cache is None else tokens[:, -1:], cache)
            last = logits[:, -1]
            if generator is None:
                choice = last.max(dim=-1, keepdim=True).indices
            else:
                p = filter_logits(last, temperature=temperature, top_k=top_k, top_p=top_p).softmax(-1)
                point = torch.rand(p.size(0), 1, generator=generator, dtype=p.dtype) * p.sum(-1, keepdim=True)
                choice = (p.cumsum(-1) <= point).sum(-1, keepdim=True)
            tokens = torch.cat([tokens, choice], dim=-1)
        return tokens
        """,
    ),
    _generate(
        "loop-without-cache",
        GENERATE_,
        """
        for _ in range(max_new_tokens):
            if prompt.size(1) == model.max_len:
                break
            last = model(prompt)[:, -1]
            if generator is None:
                new = last.argmax(-1)
            else:
                shares = filter_logits(last, temperature, top_k, top_p).softmax(-1)
                new = torch.multinomial(shares, num_samples=1, generator=generator).squeeze(1)
            prompt = torch.cat([prompt, new.unsqueeze(1)], 1)
        return prompt
        """,
    ),
]

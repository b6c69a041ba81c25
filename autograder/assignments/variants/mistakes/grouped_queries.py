"""Known mistakes in stage 8: grouped queries, their positions and their cache."""

from autograder.diagnosis.mistakes import Mistake

# Lines of the reference.
POSITIONS = "positions = torch.arange(T_past, T_past + T_new, device=x.device)"
QUERIES = "q = rotate(split_heads(self.W_q(x)), positions)"
KEYS = "k = rotate(split_heads(self.W_k(x)), positions)"
VALUES = "v = split_heads(self.W_v(x))"
JOINED = "k, v = torch.cat([cache[0], k], dim=2), torch.cat([cache[1], v], dim=2)"
GROUPED = "grouped = q.unflatten(1, (self.num_kv_heads, -1))"
SCORES = "scores = grouped @ k.unsqueeze(2).transpose(-2, -1) / math.sqrt(self.d_head)"
LATER = "later = torch.ones(T_new, k.size(2), dtype=torch.bool, device=x.device).triu(diagonal=T_past + 1)"
WEIGHTS = "heads = torch.softmax(scores.masked_fill(later, -math.inf), dim=-1) @ v.unsqueeze(2)"
MERGED = "merged = heads.flatten(1, 2).transpose(1, 2).flatten(2)"
RETURN = "return self.W_o(merged), (k, v)"

CACHING = "The docstring says what the cache holds, and which positions the new tokens have."
GROUPING = "The docstring of the class says which queries use which keys, for 4 heads in 2 groups."

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        "modern.heads-take-turns",
        "modern",
        GROUPED,
        "grouped = q.unflatten(1, (-1, self.num_kv_heads)).transpose(1, 2)",
        "Each of your groups consists of every G-th query head.",
        GROUPING,
    ),
    Mistake(
        "modern.groups-take-turns",
        "modern",
        f"{SCORES}  # (B, G, H / G, T_new, T)\n        {LATER}\n        {WEIGHTS}",
        "turns = [t.repeat(1, q.size(1) // k.size(1), 1, 1).unflatten(1, (k.size(1), -1)) for t in (k, v)]\n"
        f"        {SCORES.replace('k.unsqueeze(2)', 'turns[0]')}\n        {LATER}\n"
        f"        {WEIGHTS.replace('v.unsqueeze(2)', 'turns[1]')}",
        "Your query heads alternate between the groups: head 0 uses the first group, head 1 the second, and so on.",
        GROUPING,
    ),
    Mistake(
        "modern.first-group-for-all",
        "modern",
        SCORES,
        "scores = grouped @ k[:, :1].unsqueeze(2).transpose(-2, -1) / math.sqrt(self.d_head)",
        "All your queries use the keys of the first group.",
        GROUPING,
    ),
    Mistake(
        "modern.queries-not-turned",
        "modern",
        QUERIES,
        "q = split_heads(self.W_q(x))",
        "You do not rotate the queries.",
        "For the product to depend only on the distance, both queries and keys must be rotated.",
    ),
    Mistake(
        "modern.keys-not-turned",
        "modern",
        KEYS,
        "k = split_heads(self.W_k(x))",
        "You do not rotate the keys.",
        "For the product to depend only on the distance, both queries and keys must be rotated.",
    ),
    Mistake(
        "modern.values-turned",
        "modern",
        VALUES,
        "v = rotate(split_heads(self.W_v(x)), positions)",
        "You rotate the values too.",
        "Positions decide where a query looks, not what it finds there. See the docstring.",
    ),
    Mistake(
        "modern.positions-from-zero",
        "modern",
        POSITIONS,
        "positions = torch.arange(T_new, device=x.device)",
        "With a cache, you rotate the new token as if it were the first.",
        CACHING,
    ),
    Mistake(
        "modern.cache-turned-again",
        "modern",
        JOINED,
        "k = torch.cat([rotate(cache[0], torch.arange(T_past, device=x.device)), k], dim=2)\n"
        "            v = torch.cat([cache[1], v], dim=2)",
        "You rotate the cached keys again in every step.",
        CACHING,
    ),
    Mistake(
        "modern.cache-not-turned",
        "modern",
        RETURN,
        "return self.W_o(merged), (rotate(k, -torch.arange(k.size(2), device=x.device)), v)",
        "Your cache holds the keys before rotation.",
        CACHING,
    ),
    Mistake(
        "modern.new-before-old",
        "modern",
        JOINED,
        "k, v = torch.cat([k, cache[0]], dim=2), torch.cat([v, cache[1]], dim=2)",
        "You put the new keys and values before those in the cache.",
        CACHING,
    ),
    Mistake(
        "modern.cache-of-new-tokens",
        "modern",
        RETURN,
        "return self.W_o(merged), (k[:, :, -T_new:], v[:, :, -T_new:])",
        "Your new cache holds only the keys and values of the new positions.",
        CACHING,
    ),
    Mistake(
        "modern.pair-exchanged",
        "modern",
        RETURN,
        "return self.W_o(merged), (v, k)",
        "Your cache holds the values where the keys belong, as if it were (values, keys).",
        CACHING,
    ),
    Mistake(
        "modern.not-causal",
        "modern",
        WEIGHTS,
        WEIGHTS.replace("scores.masked_fill(later, -math.inf)", "scores"),
        "In your attention layer, every position sees the later positions.",
        "The first line of the docstring says what a position attends to.",
    ),
    Mistake(
        "modern.mask-without-past",
        "modern",
        LATER,
        LATER.replace("T_past + 1", "1"),
        "With a cache, your new token sees only the beginning of the text.",
        "Each row of the mask belongs to a new position, each column to one of the positions so far.",
    ),
    Mistake(
        "modern.scale-missing",
        "modern",
        SCORES,
        SCORES.replace(" / math.sqrt(self.d_head)", ""),
        "You do not scale the scores.",
        "The docstring says what the scores are divided by.",
    ),
    Mistake(
        "modern.scale-d-model",
        "modern",
        SCORES,
        SCORES.replace("self.d_head", "x.size(-1)"),
        "You divide the scores by the square root of d_model.",
        "The docstring says what the scores are divided by.",
    ),
    Mistake(
        "modern.merged-without-transpose",
        "modern",
        MERGED,
        "merged = heads.flatten(1, 2).reshape(x.size(0), T_new, -1)",
        "You merge the heads without first moving the head axis after the position axis.",
        "A view does not move any numbers. Undo the two steps that split the heads, in reverse order.",
    ),
    Mistake(
        "modern.heads-not-mixed",
        "modern",
        RETURN,
        "return merged, (k, v)",
        "Your attention does not apply W_o to the heads.",
        "See the Returns section of the docstring.",
    ),
)

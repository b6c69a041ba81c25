"""Known mistakes in stage 4: the cached forward pass."""

from autograder.assignments.variants.mistakes import sampling
from autograder.diagnosis.mistakes import Mistake

# Lines of the reference.
CHECK = "if T > model.max_len:"
EMBEDDED = "x = model.token_embedding(tokens) + model.position_embedding(torch.arange(T_past, T, device=tokens.device))"
LATER = "later = torch.ones(T_new, T, dtype=torch.bool, device=tokens.device).triu(diagonal=T_past + 1)"
PROJECTED = "qkv = attention.W_qkv(block.norm1(x))"
SPLIT = "q, k, v = qkv.view(B, T_new, 3, attention.num_heads, attention.d_head).permute(2, 0, 3, 1, 4)"
JOINED = """k = torch.cat([old_keys, k], dim=2)  # (B, H, T, d_head)
            v = torch.cat([old_values, v], dim=2)"""
KEPT = "new_cache.append((k, v))"
SCORES = "scores = q @ k.transpose(-2, -1) / math.sqrt(attention.d_head)"
WEIGHTS = "torch.softmax(scores.masked_fill(later, -math.inf), dim=-1)"
MIXED = "x = x + attention.W_o(merged)"
NETWORK = "x = x + block.feed_forward(block.norm2(x))"
RETURN = "return F.linear(model.norm(x), model.token_embedding.weight), new_cache"

POSITIONS = "With T_past tokens in the cache, the first new token is at position T_past."
CACHING = (
    "The cache holds everything that the next step needs: the keys and values of all tokens so far, with the new "
    "ones at the end."
)
LAYER = "Compare your code with the layer of stage 3: only the source of the keys and values is different."

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        "generate.positions-from-zero",
        "generate",
        EMBEDDED,
        EMBEDDED.replace("torch.arange(T_past, T,", "torch.arange(T_new,"),
        "The positions of your new tokens start at 0 in every step.",
        POSITIONS,
    ),
    Mistake(
        "generate.positions-one-late",
        "generate",
        EMBEDDED,
        EMBEDDED.replace(
            "torch.arange(T_past, T, device=tokens.device)",
            "torch.arange(T_past + (T_past > 0), T + (T_past > 0), device=tokens.device)",
        ),
        "With a cache, your new tokens are one position too late.",
        POSITIONS,
    ),
    Mistake(
        "generate.prompt-not-causal",
        "generate",
        WEIGHTS,
        "torch.softmax(scores, dim=-1)",
        "In your prompt, every position sees the later positions.",
        "A single new token may attend to everything before it, so it needs no mask. A prompt of several tokens "
        "needs the causal mask of stage 3.",
    ),
    Mistake(
        "generate.mask-without-past",
        "generate",
        LATER,
        LATER.replace("T_past + 1", "1"),
        "With a cache, your new token sees only the beginning of the text.",
        "Each row of the mask belongs to a new token, each column to one of the tokens so far. Which column belongs to "
        "the first new token itself?",
    ),
    Mistake(
        "generate.cache-of-new-tokens",
        "generate",
        KEPT,
        "new_cache.append((k[:, :, -T_new:], v[:, :, -T_new:]))",
        "Your new cache holds only the keys and values of the new tokens.",
        CACHING,
    ),
    Mistake(
        "generate.cache-not-extended",
        "generate",
        KEPT,
        "new_cache.append((k, v) if cache is None else cache[layer])",
        "Your new cache is the old cache: the new tokens are missing.",
        CACHING,
    ),
    Mistake(
        "generate.cache-not-read",
        "generate",
        f"            {JOINED}\n        {KEPT}",
        "            new_cache.append((torch.cat([old_keys, k], dim=2), torch.cat([old_values, v], dim=2)))\n"
        "        else:\n            new_cache.append((k, v))",
        "Your queries attend only to the new tokens; you update the cache but do not use it.",
        "The new queries attend to the keys of the whole text: the keys in the cache and the new ones.",
    ),
    Mistake(
        "generate.new-before-old",
        "generate",
        JOINED,
        "k = torch.cat([k, old_keys], dim=2)\n            v = torch.cat([v, old_values], dim=2)",
        "You put the new keys and values before those in the cache.",
        CACHING,
    ),
    Mistake(
        "generate.joined-along-features",
        "generate",
        JOINED,
        "k = torch.cat([old_keys, k], dim=-1)\n            v = torch.cat([old_values, v], dim=-1)",
        "You concatenate old and new keys along the wrong axis, not along the position axis.",
        "Write down the four axes of the keys. Which one grows from step to step?",
    ),
    Mistake(
        "generate.pair-exchanged",
        "generate",
        KEPT,
        "new_cache.append((v, k))",
        "Your cache holds the values where the keys belong, as if its pairs were (values, keys).",
        "The docstring gives the order of the keys and values in a pair.",
    ),
    Mistake(
        "generate.first-layer-for-all",
        "generate",
        "old_keys, old_values = cache[layer]",
        "old_keys, old_values = cache[0]",
        "All layers read the cache of the first layer.",
        "Each layer computes its own keys and values, so each has its own entry in the cache.",
    ),
    Mistake(
        "generate.too-long-without-past",
        "generate",
        CHECK,
        "if T_new > model.max_len:",
        "You compare only the number of new tokens with the maximum length, without counting the tokens in the cache.",
        "The model must have enough positions for the whole text. See the Raises section of the docstring.",
        seen_by="hidden",
    ),
    Mistake(
        "generate.too-long-not-refused",
        "generate",
        CHECK,
        "if False:",
        "You do not check for too many tokens; PyTorch raises an exception later.",
        "The message should name both numbers. See the Raises section of the docstring.",
    ),
    Mistake(
        "generate.cache-changed",
        "generate",
        KEPT,
        "new_cache.append((k, v))\n        if cache is not None:\n            cache[layer] = (k, v)",
        "Your result is right, but the call changes the cache that was passed in.",
        "The cache belongs to the caller, who may want to continue the same text in two ways.",
        seen_by="hidden",
    ),
    Mistake(
        "generate.scale-missing",
        "generate",
        SCORES,
        "scores = q @ k.transpose(-2, -1)",
        "You do not scale the scores.",
        "The attention is the same as in stage 2. " + LAYER,
    ),
    Mistake(
        "generate.order-k-q-v",
        "generate",
        SPLIT,
        SPLIT.replace("q, k, v", "k, q, v"),
        "Your queries and keys are swapped, as if the first third of the features were keys and the second third "
        "queries.",
        "Stage 2 says which features are queries, keys and values.",
    ),
    Mistake(
        "generate.thirds-within-heads",
        "generate",
        SPLIT,
        "q, k, v = qkv.view(B, T_new, attention.num_heads, 3, attention.d_head).permute(3, 0, 2, 1, 4)",
        "You take the queries, keys and values of head 0 first, then those of head 1, and so on.",
        "Stage 2 says which features belong to which head, and which are queries, keys and values.",
    ),
    Mistake(
        "generate.first-norm-missing",
        "generate",
        PROJECTED,
        "qkv = attention.W_qkv(x)",
        "Your layers have no norm before attention.",
        LAYER,
    ),
    Mistake(
        "generate.attention-residual-missing",
        "generate",
        MIXED,
        "x = attention.W_o(merged)",
        "Your layers have no residual connection around attention.",
        LAYER,
    ),
    Mistake(
        "generate.heads-not-mixed",
        "generate",
        MIXED,
        "x = x + merged",
        "Your layers do not apply W_o to the merged heads.",
        LAYER,
    ),
    Mistake(
        "generate.network-residual-missing",
        "generate",
        NETWORK,
        "x = block.feed_forward(block.norm2(x))",
        "Your layers have no residual connection around the feed-forward network.",
        LAYER,
    ),
    Mistake(
        "generate.last-norm-missing",
        "generate",
        RETURN,
        "return F.linear(x, model.token_embedding.weight), new_cache",
        "Your model has no norm before the logits.",
        "Compare your code with the end of the stage 3 model.",
    ),
    Mistake(
        "generate.last-logits-only",
        "generate",
        RETURN,
        "return F.linear(model.norm(x[:, -1:]), model.token_embedding.weight), new_cache",
        "You return only the logits of the last position.",
        "They are enough for sampling, but the docstring asks for the logits of all new positions.",
    ),
    *sampling.MISTAKES,
)

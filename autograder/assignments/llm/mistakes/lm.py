"""Known mistakes in stage 3: the modern language model."""

from typing import Any

from autograder.diagnosis.mistakes import Mistake

# Lines of the reference.
QUERIES = "queries = torch.arange(past, past + new)[:, None]"
KEYS = "keys = torch.arange(past - kept, past + new)"
HIDDEN = "hidden = keys > queries"
WINDOW = "hidden = hidden | (keys <= queries - window)"
Q_HEADS = "q = self.W_q(x).unflatten(-1, (-1, self.d_head)).transpose(1, 2)"
IF_NORM = "if self.qk_norm:"
NORMS = "q, k = self.q_norm(q), self.k_norm(k)"
POSITIONS = "positions = torch.arange(past, past + x.size(1))"
ROTATED = "return rotate(q, positions), rotate(k, positions), v"
PROJECT = "q, k, v = self.project(x, past)"
JOINED = "k, v = torch.cat([cache[0], k], dim=2), torch.cat([cache[1], v], dim=2)"
MASK = "hidden = hidden_keys(past, T_new, k.size(2) - T_new, self.window)"
GROUPED = "grouped = q.unflatten(1, (self.num_kv_heads, -1))"
SCORES = "scores = grouped @ k.unsqueeze(2).transpose(-2, -1) / math.sqrt(self.d_head)"
WEIGHTS = "weights = scores.masked_fill(hidden, -math.inf).softmax(dim=-1)"
START = "start = max(k.size(2) - (self.window - 1), 0)"
MERGED = "return self.W_o(heads.transpose(1, 2).flatten(2)), (k, v)"
EMBEDDED = "x = self.dropout(self.embedding(tokens))"
BLOCK = "x, cache = block(x, past, None if caches is None else caches[layer])"
LOGITS = "return F.linear(self.norm(x), self.embedding.weight), new_caches"
READ = "logits, _ = self(tokens[:, :-1])"
LOSS = "return F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())"

WHERE = "Write down the positions of the queries and of the keys for past = 7, kept = 2 and three new tokens."
COUNT = "With a window of 1, a query sees only its own position."
ORDER = "The docstring gives the order: split into heads, normalise, rotate."
ONLY = "The docstring says what happens to the values."
KEPT = "How many earlier keys can the next query still see, if its own key counts too?"


def _lm(name: str, old: str, new: str, looks_like: str, read_again: str, **options: Any) -> Mistake:
    return Mistake(f"lm.{name}", "lm", old, new, looks_like, read_again, **options)


MISTAKES: tuple[Mistake, ...] = (
    _lm("mask-own-position", HIDDEN, "hidden = keys >= queries", "A query does not see its own position.", COUNT),
    _lm("mask-inverted", HIDDEN, "hidden = keys <= queries", "Your mask is True where a query may attend.", WHERE),
    _lm(
        "mask-queries-from-zero",
        QUERIES,
        "queries = torch.arange(new)[:, None]",
        "Your first new query is at position 0, no matter how much the model has already read.",
        WHERE,
    ),
    _lm(
        "mask-keys-from-zero",
        KEYS,
        "keys = torch.arange(kept + new)",
        "Your oldest cached key is at position 0, although the cache keeps only the most recent keys.",
        WHERE,
    ),
    _lm(
        "mask-window-too-wide",
        WINDOW,
        WINDOW.replace("<=", "<"),
        "Your window is one key too wide.",
        COUNT,
    ),
    _lm(
        "mask-window-too-narrow",
        WINDOW,
        WINDOW.replace("queries - window", "queries - window + 1"),
        "Your window is one key too narrow.",
        COUNT,
    ),
    _lm("mask-window-ignored", WINDOW, "pass", "Your mask has no window.", WHERE),
    _lm(
        "mask-window-shows-later-keys",
        WINDOW,
        "hidden = keys <= queries - window",
        "With a window, your queries see later keys.",
        "A window hides additional keys: the later keys stay hidden.",
    ),
    _lm(
        "project-norm-after-rotation",
        ROTATED,
        "if self.qk_norm:\n            return self.q_norm(rotate(q, positions)), self.k_norm(rotate(k, positions)), v\n"
        "        return rotate(q, positions), rotate(k, positions), v",
        "You normalise once more after the rotation.",
        ORDER,
    ),
    _lm(
        "project-norm-only-after-rotation",
        NORMS,
        "positions = torch.arange(past, past + x.size(1))\n"
        "            return self.q_norm(rotate(q, positions)), self.k_norm(rotate(k, positions)), v",
        "You rotate first and then normalise.",
        ORDER + " The weights of the norm differ from feature to feature, so the order matters.",
    ),
    _lm(
        "project-keys-not-normalised",
        NORMS,
        "q = self.q_norm(q)",
        "You normalise only the queries.",
        "Queries and keys each have their own norm.",
    ),
    _lm(
        "project-norms-exchanged",
        NORMS,
        "q, k = self.k_norm(q), self.q_norm(k)",
        "The queries get the norm for the keys, and the keys get the norm for the queries.",
        "Which norm belongs to the queries, and which to the keys?",
    ),
    _lm(
        "project-one-norm",
        NORMS,
        "q, k = self.q_norm(q), self.q_norm(k)",
        "You use one norm for both queries and keys.",
        "Queries and keys each have their own norm.",
    ),
    _lm(
        "project-always-normalised",
        IF_NORM,
        "if True:",
        "You normalise even if the switch is off.",
        "The docstring says when queries and keys are normalised.",
    ),
    _lm(
        "project-values-normalised",
        NORMS,
        NORMS + "\n            v = self.k_norm(v)",
        "You normalise the values.",
        ONLY,
    ),
    _lm(
        "project-values-rotated",
        ROTATED,
        "return rotate(q, positions), rotate(k, positions), rotate(v, positions)",
        "You rotate the values.",
        ONLY,
    ),
    _lm(
        "project-keys-not-rotated",
        ROTATED,
        "return rotate(q, positions), k, v",
        "You do not rotate the keys.",
        "A score depends on the distance only if queries and keys are both rotated.",
    ),
    _lm(
        "project-positions-from-zero",
        POSITIONS,
        "positions = torch.arange(x.size(1))",
        "You count positions from 0 in every call.",
        "The argument past says how many positions come before x.",
    ),
    _lm(
        "project-heads-interleaved",
        Q_HEADS,
        Q_HEADS.replace(
            "unflatten(-1, (-1, self.d_head)).transpose(1, 2)", "unflatten(-1, (self.d_head, -1)).movedim(-1, 1)"
        ),
        "Each of your query heads takes every H-th feature.",
        "The docstring says which features belong to head h.",
    ),
    _lm(
        "project-heads-by-view",
        Q_HEADS,
        "q = self.W_q(x).reshape(x.size(0), self.num_heads, x.size(1), self.d_head)",
        "You move the query heads to the front by reshaping, which mixes positions.",
        "Split the last axis first, then swap two axes.",
    ),
    _lm(
        "attention-scale-missing",
        SCORES,
        SCORES.replace(" / math.sqrt(self.d_head)", ""),
        "You do not scale the scores.",
        "The docstring says what the scores are divided by.",
    ),
    _lm(
        "attention-scale-d-model",
        SCORES,
        SCORES.replace("self.d_head", "x.size(-1)"),
        "You divide the scores by the square root of d_model.",
        "The docstring says what the scores are divided by.",
    ),
    _lm(
        "attention-groups-in-turn",
        GROUPED + "  # (B, H, T_new, D) -> (B, G, H / G, T_new, D)",
        "k_all, v_all = k, v\n"
        "        turns = [head % self.num_kv_heads for head in range(self.num_heads)]\n"
        "        order = sorted(range(self.num_heads), key=lambda head: turns[head])\n"
        "        back = sorted(range(self.num_heads), key=order.__getitem__)\n"
        "        grouped = q[:, order].unflatten(1, (self.num_kv_heads, -1))\n"
        "        scores = grouped @ k.unsqueeze(2).transpose(-2, -1) / math.sqrt(self.d_head)\n"
        "        weights = scores.masked_fill(hidden, -math.inf).softmax(dim=-1)\n"
        "        heads = (weights @ v.unsqueeze(2)).flatten(1, 2)[:, back]\n"
        "        if self.window is not None:\n"
        "            start = max(k.size(2) - (self.window - 1), 0)\n"
        "            k, v = k_all[:, :, start:], v_all[:, :, start:]\n"
        "        return self.W_o(heads.transpose(1, 2).flatten(2)), (k, v)\n"
        "        grouped = q.unflatten(1, (self.num_kv_heads, -1))",
        "Your query heads use the key heads in turn: 0, 1, 0, 1.",
        "Neighbouring query heads share a key head. The docstring gives a formula.",
    ),
    _lm(
        "attention-no-mask",
        WEIGHTS,
        "weights = scores.softmax(dim=-1)",
        "Your queries see everything.",
        "The mask says what is hidden.",
    ),
    _lm(
        "attention-cache-after",
        JOINED,
        JOINED.replace("[cache[0], k]", "[k, cache[0]]").replace("[cache[1], v]", "[v, cache[1]]"),
        "You put the new keys before the cached ones.",
        "The oldest keys come first in the cache.",
    ),
    _lm(
        "attention-past-from-cache",
        PROJECT,
        "q, k, v = self.project(x, 0 if cache is None else cache[0].size(2))",
        "You take the position of the first new token from the length of the cache.",
        "With a window, the cache is shorter than the text. The argument past gives this position.",
    ),
    _lm(
        "attention-cut-before",
        MASK,
        "if self.window is not None:\n"
        "            begin = max(k.size(2) - max(self.window - 1, 1), 0)\n"
        "            k, v = k[:, :, begin:], v[:, :, begin:]\n"
        "        hidden = hidden_keys(past, T_new, k.size(2) - T_new, self.window)[:, -k.size(2) :]\n"
        "        hidden[hidden.all(dim=-1)] = False",
        "You cut keys off before the new positions have seen them.",
        "The first of several new positions may see keys that later positions no longer see. Attend first, then cut.",
    ),
    _lm(
        "attention-keeps-window",
        START,
        "start = max(k.size(2) - self.window, 0)",
        "Your cache keeps one more key than later positions can see.",
        KEPT,
    ),
    _lm("attention-cache-grows", START, "start = 0", "Your cache keeps all keys, whatever the window.", KEPT),
    _lm(
        "attention-empty-cut",
        START,
        "start = -(self.window - 1)",
        "With a window of 1, your cache keeps everything.",
        "A slice that starts at minus zero starts at zero. The number of keys to keep may also be zero.",
    ),
    _lm(
        "attention-heads-not-side-by-side",
        MERGED,
        MERGED.replace("heads.transpose(1, 2).flatten(2)", "heads.reshape(x.shape[0], T_new, -1)"),
        "You concatenate the heads by reshaping, which mixes positions.",
        "Move the heads of a position next to each other first.",
    ),
    _lm(
        "model-norm-missing",
        LOGITS,
        "return F.linear(x, self.embedding.weight), new_caches",
        "Your model leaves out the final norm.",
        "The docstring lists the steps from the embedding to the logits.",
    ),
    _lm(
        "model-embedding-scaled",
        EMBEDDED,
        "x = self.dropout(self.embedding(tokens)) * math.sqrt(self.embedding.embedding_dim)",
        "Your model multiplies the embedding by the square root of d_model.",
        "The 2017 Transformer does this, but this docstring does not call for it.",
    ),
    _lm(
        "model-past-forgotten",
        BLOCK,
        BLOCK.replace("past, ", "0, "),
        "Your blocks do not receive the number of earlier tokens.",
        "A block takes the number of earlier positions.",
    ),
    _lm(
        "model-one-cache-for-all",
        BLOCK,
        BLOCK.replace("caches[layer]", "caches[0]"),
        "All your blocks use the cache of the first block.",
        "Each block has its own keys and values.",
    ),
    _lm(
        "model-caches-not-used",
        BLOCK,
        "x, cache = block(x, past, None)",
        "Your blocks do not get their caches.",
        "Without a cache, a token sees only the new tokens.",
    ),
    _lm(
        "loss-not-shifted",
        LOSS,
        LOSS.replace("tokens[:, 1:]", "tokens[:, :-1]"),
        "Your loss asks the model to repeat the token that it has just read.",
        "The prediction at a position is for the next token.",
    ),
    _lm(
        "loss-sum",
        LOSS,
        LOSS.replace(".flatten())", '.flatten(), reduction="sum")'),
        "Your loss is a sum.",
        "The docstring says what the mean is taken over.",
    ),
    _lm(
        "loss-in-bits",
        LOSS,
        LOSS + " / math.log(2)",
        "Your loss is in bits.",
        "The docstring names the unit.",
    ),
    _lm(
        "loss-last-prediction-lost",
        READ,
        "logits = self(tokens[:, :-1])[0][:, :-1]\n        tokens = tokens[:, :-1]",
        "Your loss leaves out the last token.",
        "A row of T + 1 tokens yields T predictions.",
    ),
)

"""Known mistakes in stage 2: attention in tiles."""

from typing import Any

from autograder.diagnosis.mistakes import Mistake

# Lines of the reference.
NEW_M = "new_m = torch.maximum(m, scores.amax(dim=-1))"
BASE = "base = new_m.masked_fill(new_m == -math.inf, 0.0)"
WEIGHTS = "weights = torch.exp(scores - base.unsqueeze(-1))"
SCALE = "scale = torch.exp(m - base)"
STEP = "return new_m, total * scale + weights.sum(dim=-1), acc * scale.unsqueeze(-1) + weights @ v"
ROWS = "rows = q[..., i : i + block_q, :] / math.sqrt(q.size(-1))"
POSITIONS = "positions = torch.arange(i, i + rows.size(-2), device=q.device) + T_k - T_q"
TILES = "for j in range(0, T_k, block_k):"
SKIP = "if (causal and j > last) or (window is not None and int(columns[-1]) <= first - window):"
EARLIER = "scores = scores.masked_fill(columns > positions[:, None], -math.inf)"
WINDOW = "scores = scores.masked_fill(columns <= positions[:, None] - window, -math.inf)"
OUT = "outs.append(acc / total.masked_fill(total == 0, 1.0).unsqueeze(-1))"
LSE = "lses.append(m + total.log())"
SIZES = "T_q, T_k = q.size(-2), k.size(-2)"
BOTH = "lse = torch.logaddexp(lse1, lse2)"
BASE_OF_BOTH = "base = lse.masked_fill(lse == -math.inf, 0.0)"
SHARES = "share1, share2 = torch.exp(lse1 - base).unsqueeze(-1), torch.exp(lse2 - base).unsqueeze(-1)"
SUM = "return share1 * out1 + share2 * out2, lse"

STATE = "The docstring defines all three numbers of the state relative to the same maximum."
POSITION = "The docstring gives the position of query i."
MEANING = "What is the total weight of a set of keys? Its lse is the logarithm of this weight."


def _flash(name: str, old: str, new: str, looks_like: str, read_again: str, **options: Any) -> Mistake:
    return Mistake(f"flash.{name}", "flash", old, new, looks_like, read_again, **options)


MISTAKES: tuple[Mistake, ...] = (
    _flash(
        "step-acc-not-rescaled",
        STEP,
        STEP.replace("acc * scale.unsqueeze(-1)", "acc"),
        "You do not rescale the old sum of values when the maximum grows.",
        STATE,
    ),
    _flash(
        "step-total-not-rescaled",
        STEP,
        STEP.replace("total * scale", "total"),
        "You do not rescale the old sum of exponentials when the maximum grows.",
        STATE,
    ),
    _flash(
        "step-nothing-rescaled",
        SCALE,
        "scale = torch.ones_like(m)",
        "You do not rescale the old sums when the maximum grows.",
        STATE,
    ),
    _flash(
        "step-scale-upside-down",
        SCALE,
        "scale = torch.exp(torch.where(m == -math.inf, 0.0, base - m))",
        "You rescale the old sums by the inverse of the correct factor.",
        "The old exponentials were taken relative to the old maximum. With a larger maximum, they get smaller.",
    ),
    _flash(
        "step-hidden-row-nan",
        BASE,
        "base = new_m",
        "A query that has seen no key so far gets NaN.",
        "Its maximum is minus infinity. What is minus infinity minus minus infinity?",
    ),
    _flash(
        "step-new-values-rescaled",
        STEP,
        STEP.replace("acc * scale.unsqueeze(-1) + weights @ v", "(acc + weights @ v) * scale.unsqueeze(-1)"),
        "You rescale the new values too.",
        "The new exponentials are already relative to the new maximum.",
    ),
    _flash(
        "step-softmax-in-each-tile",
        WEIGHTS,
        "weights = torch.nan_to_num(torch.softmax(scores, dim=-1))",
        "You normalise the weights in each tile.",
        "The sums are divided once, after the last tile. Until then, total accumulates the divisor.",
    ),
    _flash(
        "step-weights-not-shifted",
        WEIGHTS,
        "weights = torch.exp(scores)",
        "You do not subtract the maximum from the scores.",
        STATE,
    ),
    _flash(
        "step-old-maximum-returned",
        STEP,
        STEP.replace("return new_m,", "return torch.where(m == -math.inf, new_m, m),"),
        "You return the old maximum with the new sums.",
        STATE,
    ),
    _flash(
        "step-old-maximum-forgotten",
        NEW_M,
        "new_m = scores.amax(dim=-1)",
        "Your maximum covers only the new tile.",
        "The maximum is over all keys so far. If the new tile is hidden, the maximum does not change.",
        seen_by="hidden",
    ),
    _flash(
        "step-maximum-at-least-zero",
        NEW_M,
        "new_m = torch.maximum(m, scores.amax(dim=-1)).clamp(min=0.0)",
        "Your maximum starts at 0. If all scores are far below 0, the sums vanish.",
        "The maximum of a query that has seen no key is minus infinity.",
        seen_by="hidden",
    ),
    _flash(
        "tiles-scale-missing",
        ROWS,
        "rows = q[..., i : i + block_q, :]",
        "You do not divide the scores by the square root of D.",
        "See the formula in the first line of the docstring.",
    ),
    _flash(
        "tiles-scale-of-values",
        ROWS,
        ROWS.replace("q.size(-1)", "v.size(-1)"),
        "You divide the scores by the square root of the size of the values.",
        "Scores are products of queries and keys, so their size is the one that matters.",
    ),
    _flash(
        "tiles-scale-not-root",
        ROWS,
        ROWS.replace("math.sqrt(q.size(-1))", "q.size(-1)"),
        "You divide the scores by D instead of its square root.",
        "See the formula in the first line of the docstring.",
    ),
    _flash(
        "tiles-ragged-tile-dropped",
        TILES,
        "for j in range(0, T_k - block_k + 1, block_k):",
        "You leave out the last keys if they do not fill a tile.",
        "The docstring says that the tile size need not divide the number of keys, and may be larger.",
    ),
    _flash(
        "tiles-aligned-at-the-beginning",
        POSITIONS,
        POSITIONS.replace(" + T_k - T_q", ""),
        "Your first query is at position 0, although there are more keys than queries.",
        POSITION,
    ),
    _flash(
        "tiles-own-position-hidden",
        EARLIER,
        EARLIER.replace("columns >", "columns >="),
        "A query does not see the key at its own position.",
        "The docstring says up to which position a query attends.",
    ),
    _flash(
        "tiles-skipped-too-early",
        SKIP,
        SKIP.replace("j > last", "j >= last"),
        "You skip a tile whose first key is at the position of the last query.",
        "A tile can be skipped if every query of the block comes before the first key of the tile.",
    ),
    _flash(
        "tiles-window-one-too-wide",
        WINDOW,
        WINDOW.replace("columns <=", "columns <"),
        "Your window is one key too wide.",
        "According to the docstring, which keys are in a window of 1?",
    ),
    _flash(
        "tiles-window-skipped-too-early",
        SKIP,
        SKIP.replace("<= first - window", "<= last - window"),
        "You skip a tile that the first queries of the block still see.",
        "The first query of a block sees keys that the last query no longer sees.",
    ),
    _flash(
        "tiles-window-ignored",
        WINDOW,
        "pass",
        "Your window hides nothing inside a tile.",
        "The edge of the window may fall inside a tile.",
    ),
    _flash(
        "tiles-not-divided",
        OUT,
        "outs.append(acc)",
        "You do not divide by the sum of the exponentials.",
        "A softmax divides by a sum. The state contains this sum.",
    ),
    _flash(
        "tiles-no-key-nan",
        OUT,
        "outs.append(acc / total.unsqueeze(-1))",
        "A query that sees no key gets NaN.",
        "Its sums are 0. The docstring says what its output is.",
        seen_by="hidden",
    ),
    _flash("tiles-lse-without-log", LSE, "lses.append(m + total)", "Your lse uses the sum itself.", STATE),
    _flash(
        "tiles-lse-without-maximum",
        LSE,
        "lses.append(total.log())",
        "Your lse leaves out the maximum.",
        "The exponentials are relative to the maximum, so add it back to the logarithm of their sum.",
    ),
    _flash(
        "tiles-everything-at-once",
        SIZES,
        SIZES + "\n    block_q, block_k = T_q, T_k",
        "The result is right, but you compute all scores at once.",
        "This is what the stage is about: no tensor may be larger than a tile.",
    ),
    _flash(
        "tiles-all-queries-at-once",
        SIZES,
        SIZES + "\n    block_q = T_q",
        "The result is right, but you process all queries at once.",
        "A tile has a limited number of queries and of keys.",
    ),
    _flash(
        "combine-mean",
        SUM,
        "return (out1 + out2) / 2, lse",
        "You take the mean of the two results.",
        MEANING,
    ),
    _flash(
        "combine-shares-of-logarithms",
        SHARES,
        "share1 = (lse1 / (lse1 + lse2)).nan_to_num(1.0).unsqueeze(-1)\n    share2 = 1 - share1",
        "Your shares are proportional to the logarithms.",
        MEANING,
    ),
    _flash(
        "combine-shares-not-normalised",
        SHARES,
        SHARES.replace(" - base", ""),
        "Your shares do not add up to 1.",
        MEANING,
    ),
    _flash(
        "combine-shares-exchanged",
        SUM,
        "return share2 * out1 + share1 * out2, lse",
        "Each result gets the share of the other result.",
        "A set with a larger lse has more weight.",
    ),
    _flash(
        "combine-lse-added",
        BOTH,
        "lse = lse1 + lse2",
        "You add the logarithms.",
        "The sums are added, not their logarithms.",
    ),
    _flash(
        "combine-lse-maximum",
        BOTH,
        "lse = torch.maximum(lse1, lse2)",
        "You take the larger lse.",
        "The sums of the two sets are added.",
    ),
    _flash(
        "combine-nothing-nan",
        BASE_OF_BOTH,
        "base = lse",
        "A query that sees no key of either set gets NaN.",
        "What is minus infinity minus minus infinity?",
        seen_by="hidden",
    ),
)

"""Known mistakes in stage 7: speculative decoding."""

from typing import Any

from autograder.diagnosis.mistakes import Mistake

# Lines of the reference.
SUMS = "cumulated = probabilities.cumsum(dim=0)"
DRAWN = "return int((cumulated > u * cumulated[-1]).nonzero()[0])"
LOOP = "for i, token in enumerate(tokens):"
REFUSED = "if accept[i] * draft[i, token] >= target[i, token]:"
RESIDUAL = "residual = (target[i] - draft[i]).clamp(min=0)"
REPLACED = "return [*tokens[:i], draw(residual, u)]"
BONUS = "return [*tokens, draw(target[len(tokens)], u)]"
ROUNDS = "while len(tokens) < len(prompt) + length:"
ROW = "rows.append(draft(torch.tensor(tokens + guesses))[-1])"
GUESS = "guesses.append(draw(rows[-1], next(uniforms)))"
RIGHT = "right = target(torch.tensor(tokens + guesses))[-(K + 1) :]"
CALLS = "calls += 1"
ACCEPT = "accept = [next(uniforms) for _ in range(K)]"
VERIFIED = "tokens += verify(right, torch.stack(rows), guesses, accept, next(uniforms))"
RESULT = "return tokens[len(prompt) : len(prompt) + length], calls"

CUMULATED = (
    "The docstring defines the cumulative weight. Write it down for the weights 1, 3, 2 and mark u times their sum."
)
NEVER = "Can a token of weight 0 be drawn with u = 0?"
RATIO = "Compare your condition with the docstring's, using the probabilities of one token in both models."
REST = "The residual is the amount by which the target exceeds the draft. Where the draft is larger, it is 0."
STOP = "Guesses after a rejected one follow a text that no longer exists."
ROWS = "The target has one more row than there are guesses: row i comes before guess i, the last row after all guesses."
NUMBERS = "The docstring gives the order of the random numbers: one per guess, then K numbers, then one more."
SEEN = "The draft must read everything that comes before the token that it guesses."


def _speculative(name: str, old: str, new: str, looks_like: str, read_again: str, **options: Any) -> Mistake:
    return Mistake(f"speculative.{name}", "speculative", old, new, looks_like, read_again, **options)


MISTAKES: tuple[Mistake, ...] = (
    _speculative(
        "draw-weight-zero",
        DRAWN,
        DRAWN.replace("cumulated > u", "cumulated >= u"),
        "A token of weight 0 can be drawn.",
        NEVER,
    ),
    _speculative(
        "draw-not-scaled",
        DRAWN,
        "return int((cumulated > u).long().argmax())",
        "You compare u with the sums themselves, which need not end at 1.",
        CUMULATED,
    ),
    _speculative(
        "draw-largest",
        DRAWN,
        "return int(probabilities.argmax())",
        "You always take the most likely token.",
        "Drawing is random. The random number decides.",
    ),
    _speculative(
        "draw-one-too-early",
        SUMS,
        "cumulated = torch.cat([probabilities.cumsum(dim=0)[1:], probabilities.sum()[None]])",
        "You draw the token before the right one.",
        CUMULATED,
    ),
    _speculative(
        "draw-one-too-late",
        SUMS,
        "cumulated = torch.cat([torch.zeros(1), probabilities.cumsum(dim=0)[:-1]])\n"
        "    cumulated[-1] = probabilities.sum()",
        "The cumulative weight of your tokens does not include their own weight.",
        CUMULATED,
    ),
    _speculative(
        "draw-softmax",
        SUMS,
        "cumulated = probabilities.softmax(dim=0).cumsum(dim=0)",
        "You apply a softmax to the weights.",
        "The weights are probabilities already, not logits.",
    ),
    _speculative(
        "draw-sorted",
        DRAWN,
        "order = probabilities.argsort(descending=True)\n"
        "    cumulated = probabilities[order].cumsum(dim=0)\n"
        "    return int(order[(cumulated > u * cumulated[-1]).nonzero()[0]])",
        "You go through the tokens from the most likely to the least likely.",
        "That is a correct way to draw, but the docstring requires the tokens in the order of their ids.",
    ),
    _speculative(
        "draw-from-the-end",
        DRAWN,
        DRAWN.replace("> u *", "> (1 - u) *"),
        "A large u leads to a token with a small id.",
        CUMULATED,
    ),
    _speculative(
        "verify-target-drawn",
        RESIDUAL,
        "residual = target[i]",
        "You replace a rejected guess by drawing from the target.",
        "Tokens that the draft prefers would still be drawn too often. " + REST,
    ),
    _speculative(
        "verify-draft-drawn",
        RESIDUAL,
        "residual = draft[i]",
        "You replace a rejected guess by drawing from the draft.",
        REST,
    ),
    _speculative(
        "verify-residual-exchanged",
        RESIDUAL,
        "residual = (draft[i] - target[i]).clamp(min=0)",
        "Your residual is the amount by which the draft exceeds the target.",
        REST,
    ),
    _speculative(
        "verify-residual-absolute",
        RESIDUAL,
        "residual = (target[i] - draft[i]).abs()",
        "Your residual also includes tokens to which the draft gives a higher probability.",
        REST,
    ),
    _speculative(
        "verify-residual-not-cut",
        RESIDUAL,
        "residual = target[i] - draft[i] + 1e-6",
        "Your residual has negative weights.",
        REST,
    ),
    _speculative(
        "verify-residual-next-row",
        RESIDUAL,
        RESIDUAL.replace("target[i]", "target[i + 1]"),
        "Your residual uses the target's row after the guess, not before it.",
        ROWS,
    ),
    _speculative(
        "verify-largest-of-residual",
        REPLACED,
        "return [*tokens[:i], int(residual.argmax())]",
        "You take the largest element of the residual.",
        "The docstring says that the token is drawn.",
    ),
    _speculative(
        "verify-greedy",
        REFUSED,
        "if draft[i, token] > target[i, token]:",
        "You reject every guess that the draft finds more likely than the target does.",
        RATIO,
    ),
    _speculative(
        "verify-only-target",
        REFUSED,
        "if accept[i] >= target[i, token]:",
        "You keep a guess with the target's probability. The draft's probability plays no role.",
        RATIO,
    ),
    _speculative(
        "verify-ratio-upside-down",
        REFUSED,
        "if accept[i] * target[i, token] >= draft[i, token]:",
        "You swap the roles of target and draft in the condition.",
        RATIO,
    ),
    _speculative(
        "verify-one-number",
        REFUSED,
        REFUSED.replace("accept[i]", "accept[0]"),
        "You use the same random number for all guesses.",
        "Each guess has its own random number.",
    ),
    _speculative(
        "verify-next-row",
        REFUSED,
        REFUSED.replace("target[i, token]", "target[i + 1, token]"),
        "You compare a guess with the target's row after it, not before it.",
        ROWS,
    ),
    _speculative("verify-all-kept", REFUSED, "if False:", "You keep all guesses.", RATIO),
    _speculative(
        "verify-goes-on",
        REPLACED,
        "tokens = [*tokens[:i], draw(residual, u), *tokens[i + 1 :]]",
        "You continue after a rejected guess.",
        STOP,
    ),
    _speculative(
        "verify-rest-kept",
        REPLACED,
        "return [*tokens[:i], draw(residual, u), *tokens[i + 1 :]]",
        "You keep the guesses after a rejected one.",
        STOP,
    ),
    _speculative(
        "verify-kept-dropped",
        REPLACED,
        "return [draw(residual, u)]",
        "You drop the guesses that should be kept.",
        "The tokens before the rejected guess are part of the result.",
    ),
    _speculative(
        "verify-refused-kept",
        REPLACED,
        REPLACED.replace("tokens[:i]", "tokens[: i + 1]"),
        "You keep the rejected guess as well.",
        "The new token takes the place of the rejected guess.",
    ),
    _speculative(
        "verify-last-not-checked",
        LOOP,
        "for i, token in enumerate(tokens[:-1]):",
        "You do not check the last guess.",
        "Every guess may be rejected.",
    ),
    _speculative(
        "verify-no-bonus",
        BONUS,
        "return list(tokens)",
        "If all guesses are kept, you add no token.",
        "The target's row after the last guess is already computed, so one more token is free.",
    ),
    _speculative(
        "verify-bonus-row-before",
        BONUS,
        BONUS.replace("target[len(tokens)]", "target[len(tokens) - 1]"),
        "You draw the additional token from the row before the last guess.",
        ROWS,
    ),
    _speculative(
        "verify-bonus-largest",
        BONUS,
        "return [*tokens, int(target[len(tokens)].argmax())]",
        "Your additional token is always the most likely one.",
        "The docstring says that this token is drawn too.",
    ),
    _speculative(
        "speculate-guesses-largest",
        GUESS,
        "guesses.append(int(rows[-1].argmax()))",
        "You guess the draft's most likely token.",
        "The guesses must be drawn from the draft's probabilities, since they are compared with these probabilities.",
    ),
    _speculative(
        "speculate-guesses-unseen",
        ROW,
        ROW.replace("tokens + guesses", "tokens"),
        "The draft does not read its own earlier guesses.",
        SEEN,
    ),
    _speculative(
        "speculate-prompt-unseen",
        ROW,
        "rows.append(draft(torch.tensor((tokens + guesses)[len(prompt) - 1 :]))[-1])",
        "The draft reads only the end of the prompt.",
        SEEN,
    ),
    _speculative(
        "speculate-first-row",
        ROW,
        ROW.replace("[-1]", "[0]"),
        "You use the draft's probabilities after the first token.",
        "Which row belongs to the token that comes after all others?",
    ),
    _speculative(
        "speculate-rows-from-beginning",
        RIGHT,
        RIGHT.replace("[-(K + 1) :]", "[: K + 1]"),
        "You use the target's rows from the beginning of the text.",
        ROWS,
    ),
    _speculative(
        "speculate-rows-one-late",
        RIGHT,
        "right = target(torch.tensor(tokens + guesses))[-K:]\n        right = torch.cat([right, right[-1:]])",
        "Your target rows are one position too late.",
        ROWS,
    ),
    _speculative(
        "speculate-rows-one-early",
        RIGHT,
        "right = target(torch.tensor([*prompt[:1], *tokens, *guesses]))[-(K + 2) : -1]",
        "Your target rows are one position too early.",
        ROWS,
    ),
    _speculative(
        "speculate-numbers-in-other-order",
        ACCEPT + "\n        " + VERIFIED,
        "last = next(uniforms)\n        " + ACCEPT + "\n        " + VERIFIED.replace("next(uniforms)", "last"),
        "You take the random number for the last token before the numbers for the guesses.",
        NUMBERS,
    ),
    _speculative(
        "speculate-one-number-for-all",
        ACCEPT,
        "accept = [next(uniforms)] * K",
        "You take only one random number for all guesses of a round.",
        NUMBERS,
    ),
    _speculative(
        "speculate-one-round",
        ROUNDS,
        "for _ in range(1):",
        "You stop after the first round.",
        "Repeat until there are enough tokens.",
    ),
    _speculative(
        "speculate-one-token-short",
        ROUNDS,
        "while len(tokens) < len(prompt) + length - 1:",
        "You stop one token too early.",
        "The prompt does not count.",
    ),
    _speculative(
        "speculate-prompt-counted",
        ROUNDS,
        "while len(tokens) < length:",
        "You count the prompt as new tokens.",
        "The prompt does not count.",
    ),
    _speculative(
        "speculate-too-many",
        RESULT,
        "return tokens[len(prompt) :], calls",
        "You return too many tokens.",
        "The last round may produce more tokens than needed.",
    ),
    _speculative(
        "speculate-prompt-returned",
        RESULT,
        "return tokens[: len(prompt) + length], calls",
        "You return the prompt too.",
        "The docstring says which tokens are returned.",
    ),
    _speculative(
        "speculate-guesses-counted",
        CALLS,
        "calls += K",
        "You count the guesses instead of the calls to the target.",
        "In each round, the target reads everything in one call.",
    ),
    _speculative(
        "speculate-called-for-each-guess",
        RIGHT,
        "right = torch.stack([target(torch.tensor(tokens + guesses[:i]))[-1] for i in range(K + 1)])",
        "You call the target once per guess, so nothing is saved.",
        "In a single call, the target returns the probabilities after every token that it reads.",
    ),
)

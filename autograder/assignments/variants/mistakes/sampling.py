"""Known mistakes in stage 4: the filter and the loop."""

from autograder.diagnosis.mistakes import Mistake

# Lines of the reference.
TEMPERATURE = "logits = logits / temperature"
TOP_K = "smallest = logits.topk(min(top_k, logits.size(-1)), dim=-1).values[..., -1:]"
CUT = "logits = logits.masked_fill(logits < smallest, -math.inf)"
ORDERED = "ordered, order = logits.sort(dim=-1, descending=True)"
BEFORE = "before = probabilities.cumsum(dim=-1) - probabilities"
DROPPED = "dropped = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, order, before >= top_p)"
FILTER = f"""{TEMPERATURE}
    if top_k is not None:
        {TOP_K}  # (..., 1)
        {CUT}
    if top_p is not None and top_p < 1:
        {ORDERED}"""
STEPS = "for _ in range(min(max_new_tokens, model.max_len - prompt.size(1))):"
READ = "logits, cache = forward_cached(model, unread, cache)"
LAST = "last = logits[:, -1]"
GREEDY = "unread = last.argmax(dim=-1, keepdim=True)"
FILTERED = "probabilities = torch.softmax(filter_logits(last, temperature, top_k, top_p), dim=-1)"
DRAWN = "unread = torch.multinomial(probabilities, 1, generator=generator)"
RETURN = "return tokens\n    ### END SOLUTION"

SHARE = (
    "Keep the smallest set of the most likely tokens whose probabilities add up to at least p, including the token "
    "that makes the sum reach p."
)
ORDER = "The docstring numbers the three steps; each works on the result of the previous step."

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        "generate.temperature-multiplied",
        "generate",
        TEMPERATURE,
        "logits = logits * temperature",
        "Your filter multiplies by the temperature, so a high temperature makes the best token more likely.",
        "A high temperature makes all tokens nearly equally likely. See step 1 in the docstring.",
    ),
    Mistake(
        "generate.temperature-ignored",
        "generate",
        TEMPERATURE,
        "logits = logits + 0 * temperature",
        "The temperature has no effect in your filter.",
        "See step 1 in the docstring.",
    ),
    Mistake(
        "generate.top-k-one-more",
        "generate",
        TOP_K,
        TOP_K.replace("min(top_k,", "min(top_k + 1,"),
        "Your filter keeps one more token than k.",
        "Count how many logits are at least as large as your threshold.",
    ),
    Mistake(
        "generate.top-k-one-less",
        "generate",
        CUT,
        "logits = logits.masked_fill(logits <= smallest, -math.inf)",
        "Your filter keeps one token fewer than k.",
        "Count how many logits are at least as large as your threshold, including the threshold itself.",
    ),
    Mistake(
        "generate.top-k-smallest",
        "generate",
        TOP_K,
        TOP_K.replace(
            "logits.topk(min(top_k, logits.size(-1)), dim=-1)",
            "logits.topk(min(top_k, logits.size(-1)), dim=-1, largest=False)",
        ),
        "Your filter takes its threshold from the smallest logits instead of the largest.",
        "See step 2 in the docstring.",
    ),
    Mistake(
        "generate.cut-to-zero",
        "generate",
        CUT,
        "logits = logits.masked_fill(logits < smallest, 0.0)",
        "Your filter sets the logits of tokens outside the top k to 0, so they can still be drawn.",
        "The exponential of 0 is 1. For which logit is the exponential 0?",
    ),
    Mistake(
        "generate.top-k-larger-than-vocabulary",
        "generate",
        TOP_K,
        TOP_K.replace("min(top_k, logits.size(-1))", "top_k"),
        "Your filter raises an exception if k is larger than the vocabulary.",
        "See step 2 in the docstring.",
        seen_by="hidden",
    ),
    Mistake(
        "generate.top-p-without-last",
        "generate",
        DROPPED,
        DROPPED.replace("before >= top_p", "before + probabilities > top_p"),
        "Your filter drops the token that makes the sum reach p.",
        "With a small p, no token would be left. " + SHARE,
    ),
    Mistake(
        "generate.top-p-not-sorted-back",
        "generate",
        DROPPED,
        "dropped = before >= top_p",
        "Your filter drops tokens by their rank, as if the vocabulary were sorted.",
        "After sorting, index 0 is the best token, not token 0. Sorting also returns the original indices of the "
        "tokens.",
    ),
    Mistake(
        "generate.top-p-sorted-again",
        "generate",
        DROPPED,
        "dropped = (before >= top_p).gather(-1, order)",
        "Your filter moves the marks from the sorted tokens back to the wrong tokens.",
        "Sorting also returns the original index of each sorted token. Reading with these indices sorts again; to "
        "undo the sorting, write with them, or read with the inverse permutation.",
    ),
    Mistake(
        "generate.top-p-ascending",
        "generate",
        ORDERED,
        "ordered, order = logits.sort(dim=-1)",
        "Your filter keeps the least likely tokens whose probabilities add up to p.",
        "By default, sorting begins with the smallest number. " + SHARE,
    ),
    Mistake(
        "generate.top-p-as-threshold",
        "generate",
        DROPPED,
        "dropped = torch.softmax(logits, dim=-1) < top_p",
        "Your filter compares p with the probability of each token, not with their sum.",
        SHARE,
    ),
    Mistake(
        "generate.top-p-before-temperature",
        "generate",
        "probabilities = torch.softmax(ordered, dim=-1)",
        "probabilities = torch.softmax(ordered * temperature, dim=-1)",
        "Your filter computes the probabilities for top-p without the temperature.",
        ORDER,
    ),
    Mistake(
        "generate.top-p-before-top-k",
        "generate",
        f"        {CUT}\n    if top_p is not None and top_p < 1:\n        {ORDERED}",
        f"        full, {CUT.replace('= ', '= logits, ')}\n    else:\n        full = logits\n"
        "    if top_p is not None and top_p < 1:\n        ordered, order = full.sort(dim=-1, descending=True)",
        "Your filter computes the probabilities for top-p from all tokens, before top-k.",
        "After top-k, the probabilities of the remaining tokens add up to 1 again. " + ORDER,
    ),
    Mistake(
        "generate.top-p-of-what-was-given",
        "generate",
        FILTER,
        FILTER.replace(TEMPERATURE, f"given, {TEMPERATURE.replace('= ', '= logits, ')}").replace(
            "ordered, order = logits", "ordered, order = given"
        ),
        "Your filter computes the probabilities for top-p from the original logits, before the first two steps.",
        ORDER,
    ),
    Mistake(
        "generate.filter-in-place",
        "generate",
        TEMPERATURE,
        "logits = logits.div_(temperature)",
        "Your result is right, but the call changes the logits that were passed in.",
        "Operators such as /= and methods whose names end in an underscore change the caller's tensor.",
        seen_by="hidden",
    ),
    Mistake(
        "generate.beyond-the-model",
        "generate",
        STEPS,
        "for _ in range(max_new_tokens):",
        "Your loop continues even after the text has reached the maximum length of the model.",
        "The docstring gives the maximum number of tokens in the result.",
    ),
    Mistake(
        "generate.one-token-less",
        "generate",
        STEPS,
        STEPS.replace("model.max_len - prompt.size(1)", "model.max_len - prompt.size(1) - 1"),
        "Your text ends one token before the maximum length.",
        "The docstring gives the maximum number of tokens in the result.",
    ),
    Mistake(
        "generate.one-token-more",
        "generate",
        STEPS,
        STEPS.replace("model.max_len - prompt.size(1)", "model.max_len - prompt.size(1) + 1"),
        "Your text has one more token than the model has positions.",
        "The last token need not be read, so one more could be predicted; but the docstring limits the number.",
    ),
    Mistake(
        "generate.reads-everything-again",
        "generate",
        READ,
        "logits, cache = forward_cached(model, tokens, cache)",
        "Your loop reads the whole text again in every step, although the cache already has it.",
        "With a cache, pass on only unread tokens: first the prompt, then one token at a time.",
    ),
    Mistake(
        "generate.first-logits",
        "generate",
        LAST,
        "last = logits[:, 0]",
        "You predict the next token from the first new position instead of the last.",
        "Only the last position has seen the whole text.",
    ),
    Mistake(
        "generate.worst-token",
        "generate",
        GREEDY,
        "unread = last.argmin(dim=-1, keepdim=True)",
        "Your greedy loop takes the token with the lowest score.",
        "Greedy decoding takes the token with the highest score.",
    ),
    Mistake(
        "generate.new-tokens-only",
        "generate",
        RETURN,
        "return tokens[:, prompt.size(1) :]\n    ### END SOLUTION",
        "You return the new tokens without the prompt.",
        "See the Returns section of the docstring.",
    ),
    Mistake(
        "generate.always-greedy",
        "generate",
        DRAWN,
        "unread = probabilities.argmax(dim=-1, keepdim=True)",
        "With a generator, you still return the greedy text, as if you did not sample or ignored the temperature.",
        "With a generator each token is sampled: a token with probability 0.3 is drawn 3 times out of 10.",
    ),
    Mistake(
        "generate.generator-restarted",
        "generate",
        DRAWN,
        "unread = torch.multinomial(probabilities, 1, generator=generator.manual_seed(0))",
        "All seeds produce the same text, as if you reset the generator before each token.",
        "The generator belongs to the caller, who has already seeded it.",
    ),
    Mistake(
        "generate.generator-ignored",
        "generate",
        DRAWN,
        "unread = torch.multinomial(probabilities, 1)",
        "The same seed produces a different text each time: your loop uses PyTorch's global generator.",
        "PyTorch's sampling functions take the generator as an argument.",
        random=True,
    ),
    Mistake(
        "generate.always-sampled",
        "generate",
        "if generator is None:\n            unread = last.argmax(dim=-1, keepdim=True)  # (B, 1)\n        else:",
        "if True:",
        "Your loop samples tokens even without a generator.",
        "Without a generator, take the best token. See the docstring.",
        random=True,
    ),
    Mistake(
        "generate.draws-without-filter",
        "generate",
        FILTERED,
        "probabilities = torch.softmax(last, dim=-1)",
        "Your loop draws tokens outside the top k, as if it did not use the filter or some of its arguments.",
        "The docstring says which distribution the tokens are drawn from.",
    ),
    # The visible tests warn of this.
    Mistake(
        "generate.draws-without-top-p",
        "generate",
        FILTERED,
        FILTERED.replace("top_k, top_p)", "top_k)"),
        "Your loop does not pass top_p to the filter.",
        "The docstring says which distribution the tokens are drawn from.",
        seen_by="hidden",
    ),
    Mistake(
        "generate.draws-evenly",
        "generate",
        FILTERED,
        f"{FILTERED}\n            probabilities = (probabilities > 0).double()",
        "Your loop draws all tokens that the filter keeps with the same probability.",
        "The filter decides which tokens can be drawn, and the softmax of its result decides how often.",
        seen_by="hidden",
    ),
    Mistake(
        "generate.draws-squared",
        "generate",
        FILTERED,
        f"{FILTERED}.square()",
        "Likely tokens are drawn too often.",
        "The probability of a token is the softmax of the filtered logits, and nothing else.",
        seen_by="hidden",
    ),
)

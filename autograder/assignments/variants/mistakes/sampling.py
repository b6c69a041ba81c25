"""Known mistakes of stage 4: the filter and the loop."""

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
    "The kept tokens are the smallest number of best ones that together reach p, and the one with which the sum "
    "reaches it is kept too."
)
ORDER = "The docstring numbers the three steps; each works on what the one before has left."

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        "generate.temperature-multiplied",
        "generate",
        TEMPERATURE,
        "logits = logits * temperature",
        "Your filter multiplies by the temperature: a high one makes the best token more likely.",
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
        "Your filter keeps one token more than k.",
        "Count how many logits are as large as the one with which you compare.",
    ),
    Mistake(
        "generate.top-k-one-less",
        "generate",
        CUT,
        "logits = logits.masked_fill(logits <= smallest, -math.inf)",
        "Your filter keeps one token less than k.",
        "Count how many logits are as large as the one with which you compare, that one included.",
    ),
    Mistake(
        "generate.top-k-smallest",
        "generate",
        TOP_K,
        TOP_K.replace(
            "logits.topk(min(top_k, logits.size(-1)), dim=-1)",
            "logits.topk(min(top_k, logits.size(-1)), dim=-1, largest=False)",
        ),
        "Your filter takes its border from the smallest logits instead of the largest.",
        "See step 2 in the docstring.",
    ),
    Mistake(
        "generate.cut-to-zero",
        "generate",
        CUT,
        "logits = logits.masked_fill(logits < smallest, 0.0)",
        "Your filter gives the tokens outside the top k the logit 0, with which they may well be drawn.",
        "The exponential of 0 is 1. Look for a logit whose exponential is 0.",
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
        "Your filter cuts off the token with which the sum reaches p.",
        "With a small p nothing would be left. " + SHARE,
    ),
    Mistake(
        "generate.top-p-not-sorted-back",
        "generate",
        DROPPED,
        "dropped = before >= top_p",
        "Your filter cuts off tokens by their rank, as if the vocabulary were sorted.",
        "After sorting, the first place belongs to the best token, not to token 0. Sorting also gives the places from "
        "which the tokens came.",
    ),
    Mistake(
        "generate.top-p-sorted-again",
        "generate",
        DROPPED,
        "dropped = (before >= top_p).gather(-1, order)",
        "Your filter brings what it marks in the sorted tokens to other places than those from which the tokens came.",
        "What stands at a place of the sorted tokens belongs to the token that the order has there. Reading by the "
        "order sorts once more; what undoes the sorting writes there, or reads in the inverse order.",
    ),
    Mistake(
        "generate.top-p-ascending",
        "generate",
        ORDERED,
        "ordered, order = logits.sort(dim=-1)",
        "Your filter keeps the least likely tokens whose probabilities reach p.",
        "Sorting begins with the smallest unless it is told otherwise. " + SHARE,
    ),
    Mistake(
        "generate.top-p-as-threshold",
        "generate",
        DROPPED,
        "dropped = torch.softmax(logits, dim=-1) < top_p",
        "Your filter compares the probability of each token with p, not their sum.",
        SHARE,
    ),
    Mistake(
        "generate.top-p-before-temperature",
        "generate",
        "probabilities = torch.softmax(ordered, dim=-1)",
        "probabilities = torch.softmax(ordered * temperature, dim=-1)",
        "Your filter takes the probabilities for top-p from before the temperature.",
        ORDER,
    ),
    Mistake(
        "generate.top-p-before-top-k",
        "generate",
        f"        {CUT}\n    if top_p is not None and top_p < 1:\n        {ORDERED}",
        f"        full, {CUT.replace('= ', '= logits, ')}\n    else:\n        full = logits\n"
        "    if top_p is not None and top_p < 1:\n        ordered, order = full.sort(dim=-1, descending=True)",
        "Your filter takes the probabilities for top-p from before top-k, when they belonged to all tokens.",
        "After top-k the probabilities of what is left add up to 1 again. " + ORDER,
    ),
    Mistake(
        "generate.top-p-of-what-was-given",
        "generate",
        FILTER,
        FILTER.replace(TEMPERATURE, f"given, {TEMPERATURE.replace('= ', '= logits, ')}").replace(
            "ordered, order = logits", "ordered, order = given"
        ),
        "Your filter takes the probabilities for top-p from the logits as they were given, before the first two steps.",
        ORDER,
    ),
    Mistake(
        "generate.filter-in-place",
        "generate",
        TEMPERATURE,
        "logits = logits.div_(temperature)",
        "Your result is right, but the logits that were passed in are changed by the call.",
        "Operators such as /= and methods whose names end in an underscore write into their tensor, which belongs to "
        "the caller.",
        seen_by="hidden",
    ),
    Mistake(
        "generate.beyond-the-model",
        "generate",
        STEPS,
        "for _ in range(max_new_tokens):",
        "Your loop goes on when the text is as long as the model allows.",
        "The docstring says how many tokens the result has at most.",
    ),
    Mistake(
        "generate.one-token-less",
        "generate",
        STEPS,
        STEPS.replace("model.max_len - prompt.size(1)", "model.max_len - prompt.size(1) - 1"),
        "Your text ends one token before the longest possible length.",
        "The docstring says how many tokens the result has at most.",
    ),
    Mistake(
        "generate.one-token-more",
        "generate",
        STEPS,
        STEPS.replace("model.max_len - prompt.size(1)", "model.max_len - prompt.size(1) + 1"),
        "Your text has one token more than the model has positions.",
        "The last token could be predicted without being read, but the docstring says how many there are at most.",
    ),
    Mistake(
        "generate.reads-everything-again",
        "generate",
        READ,
        "logits, cache = forward_cached(model, tokens, cache)",
        "Your loop reads the whole text again in every step, behind a cache that holds it already.",
        "With a cache, only what has not been read yet is passed on: first the prompt, then one token at a time.",
    ),
    Mistake(
        "generate.first-logits",
        "generate",
        LAST,
        "last = logits[:, 0]",
        "Your next token is predicted from the first new position instead of the last.",
        "The position that has seen the whole text is the last one.",
    ),
    Mistake(
        "generate.worst-token",
        "generate",
        GREEDY,
        "unread = last.argmin(dim=-1, keepdim=True)",
        "Your greedy loop takes the token with the lowest score.",
        "Greedy decoding takes the best token.",
    ),
    Mistake(
        "generate.new-tokens-only",
        "generate",
        RETURN,
        "return tokens[:, prompt.size(1) :]\n    ### END SOLUTION",
        "You return the new tokens without the prompt.",
        "See under Returns in the docstring.",
    ),
    Mistake(
        "generate.always-greedy",
        "generate",
        DRAWN,
        "unread = probabilities.argmax(dim=-1, keepdim=True)",
        "With a generator your text is the greedy one, as if nothing were drawn, or the temperature did not count.",
        "With a generator each token is drawn: one with a probability of 0.3 comes in 3 of 10 cases.",
    ),
    Mistake(
        "generate.generator-restarted",
        "generate",
        DRAWN,
        "unread = torch.multinomial(probabilities, 1, generator=generator.manual_seed(0))",
        "All seeds give the same text, as if the generator were set back before each token.",
        "The generator belongs to the caller, who has given it a seed.",
    ),
    Mistake(
        "generate.generator-ignored",
        "generate",
        DRAWN,
        "unread = torch.multinomial(probabilities, 1)",
        "The same seed gives another text each time: your loop draws from torch's own generator.",
        "Functions that draw numbers take the generator as an argument.",
        random=True,
    ),
    Mistake(
        "generate.always-sampled",
        "generate",
        "if generator is None:\n            unread = last.argmax(dim=-1, keepdim=True)  # (B, 1)\n        else:",
        "if True:",
        "Your loop draws tokens even if it is given no generator.",
        "Without a generator the best token is taken. See the docstring.",
        random=True,
    ),
    Mistake(
        "generate.draws-without-filter",
        "generate",
        FILTERED,
        "probabilities = torch.softmax(last, dim=-1)",
        "Your loop draws tokens outside the top k, as if it did not use the filter, or not all of its arguments.",
        "The docstring says from which distribution a token is drawn.",
    ),
    # The visible tests warn of it.
    Mistake(
        "generate.draws-without-top-p",
        "generate",
        FILTERED,
        FILTERED.replace("top_k, top_p)", "top_k)"),
        "Your loop does not hand top_p to the filter.",
        "The docstring says from which distribution a token is drawn.",
        seen_by="hidden",
    ),
    Mistake(
        "generate.draws-evenly",
        "generate",
        FILTERED,
        f"{FILTERED}\n            probabilities = (probabilities > 0).double()",
        "Your loop draws all tokens that the filter keeps with the same probability.",
        "The filter decides which tokens can be drawn, and its softmax how often each of them is.",
        seen_by="hidden",
    ),
    Mistake(
        "generate.draws-squared",
        "generate",
        FILTERED,
        f"{FILTERED}.square()",
        "Likely tokens come too often in your samples.",
        "The probability of a token is the softmax of the filtered logits, and nothing else.",
        seen_by="hidden",
    ),
)

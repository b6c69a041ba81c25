"""Known mistakes of stage 1: the masks."""

from autograder.diagnosis.mistakes import Mistake

# Lines of the reference.
FILL = "lowest = torch.finfo(scores.dtype).min"
PADDING = "scores.masked_fill(key_padding_mask[:, None, None, :] != 0, lowest)"
ATTENTION = "scores.masked_fill(attention_mask[:, None, :, :] != 0, lowest)"
BOTH = f"""{PADDING}
        if attention_mask is not None:
            # (1 or B, T_q, T_k) -> (1 or B, 1, T_q, T_k): the same mask for all heads
            scores = {ATTENTION}"""
SCORES = "query @ key.transpose(-2, -1) / math.sqrt(self.d_k)"
OUTPUT = "torch.softmax(scores, dim=-1) @ value"

# Both masks, from the first line of the reference that uses one on.
ADDED = f"""if key_padding_mask is not None:
            # (B, T_k) -> (B, 1, 1, T_k): the same keys for all heads and queries
            scores = {PADDING}
        if attention_mask is not None:
            # (1 or B, T_q, T_k) -> (1 or B, 1, T_q, T_k): the same mask for all heads
            scores = {ATTENTION}"""
SUM = """total = torch.zeros(1, 1, 1, 1, dtype=torch.long, device=scores.device)
        if key_padding_mask is not None:
            total = total + key_padding_mask.long()[:, None, None, :]
        if attention_mask is not None:
            total = total + attention_mask.long()[:, None, :, :]
        scores = scores.masked_fill(total != 0, lowest)"""
MEET = """closed = None
        if key_padding_mask is not None:
            closed = key_padding_mask[:, None, None, :] != 0
        if attention_mask is not None:
            other = attention_mask[:, None, :, :] != 0
            closed = other if closed is None else closed & other
        if closed is not None:
            scores = scores.masked_fill(closed, lowest)"""
MASKING = "The docstring says which entries of a mask forbid a key."

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        id="mha.padding-mask-inverted",
        module="mha",
        old=PADDING,
        new=PADDING.replace("!= 0", "== 0"),
        looks_like="Your result equals attention that looks at the padding only: the key padding mask is read the "
        "other way round.",
        read_again="In many libraries a true entry means that a key may be used. Here it is the opposite. " + MASKING,
    ),
    Mistake(
        id="mha.attention-mask-inverted",
        module="mha",
        old=ATTENTION,
        new=ATTENTION.replace("!= 0", "== 0"),
        looks_like="Your result equals attention that looks only where the attention mask forbids it: the attention "
        "mask is read the other way round.",
        read_again="In the example of a causal mask in the docstring the first row has a single zero, and the first "
        "position may look only at itself. " + MASKING,
    ),
    Mistake(
        id="mha.padding-mask-ignored",
        module="mha",
        old="scores = " + PADDING,
        new=PADDING,  # the result is thrown away
        looks_like="Your result equals attention without the key padding mask: padded keys are attended to.",
        read_again="Either the mask is never used, or the masked scores are thrown away: methods whose names do not "
        "end in an underscore leave their tensor as it is and return a new one.",
    ),
    Mistake(
        id="mha.attention-mask-ignored",
        module="mha",
        old="scores = " + ATTENTION,
        new=ATTENTION,  # the result is thrown away
        looks_like="Your result equals attention without the attention mask: forbidden keys are attended to.",
        read_again="Either the mask is not used, perhaps only when there is a key padding mask too, or the masked "
        "scores are thrown away: methods whose names do not end in an underscore return a new tensor.",
    ),
    Mistake(
        id="mha.one-mask-only",
        module="mha",
        old="        if attention_mask is not None:",
        new="        elif attention_mask is not None:",
        looks_like="Your result equals attention that forgets the attention mask as soon as a key padding mask is "
        "given too.",
        read_again="The two masks are independent of each other. The docstring says what holds if both are given.",
    ),
    Mistake(
        id="mha.masks-where-both-forbid",
        module="mha",
        old=ADDED,
        new=MEET,
        looks_like="Your result equals attention in which, of two masks, a key is forbidden only where both forbid it.",
        read_again="The two masks are independent of each other. The docstring says what holds if both are given.",
    ),
    Mistake(
        id="mha.masks-added",
        module="mha",
        old=ADDED,
        new=SUM,
        looks_like="Your result equals attention whose masks are added up as numbers, so that entries of the two may "
        "cancel out.",
        read_again="An entry of 1 in one mask and one of -1 in the other forbid a key twice. Each mask says by itself "
        "which keys are forbidden. " + MASKING,
    ),
    Mistake(
        id="mha.masks-added-above-zero",
        module="mha",
        old=ADDED,
        new=SUM.replace("total != 0", "total > 0"),
        looks_like="Your result equals attention whose masks are added up as numbers, and only a sum above 0 forbids.",
        read_again="A negative entry forbids a key as well, in either mask. " + MASKING,
    ),
    Mistake(
        id="mha.fill-zero",
        module="mha",
        old=FILL,
        new="lowest = 0.0",
        looks_like="Your result equals attention in which a forbidden key gets the score 0 instead of a very low one.",
        read_again="The softmax of a score of 0 is not 0. Think of the score that becomes 0 in the softmax; a tiny "
        "positive number, such as 1e-9, is not it either.",
    ),
    Mistake(
        id="mha.mask-after-softmax",
        module="mha",
        old=OUTPUT,
        new=f"torch.softmax({SCORES}, dim=-1).masked_fill(scores == lowest, 0.0) @ value",
        looks_like="Your result equals attention in which the forbidden weights are set to 0 after the softmax, so "
        "that the weights of a query no longer add up to 1.",
        read_again="Forbidden keys must not take part in the softmax at all. In figure 2 (left) of the paper, look at "
        "the order of the boxes.",
    ),
    Mistake(
        id="mha.padding-mask-added",
        module="mha",
        old=PADDING,
        new="scores + key_padding_mask[:, None, None, :]",
        looks_like="Your result equals attention in which the key padding mask is added to the scores as it is.",
        read_again="Adding the mask itself makes a padded key a little more attractive. " + MASKING,
    ),
    Mistake(
        id="mha.attention-mask-added",
        module="mha",
        old=ATTENTION,
        new="scores + attention_mask[:, None, :, :]",
        looks_like="Your result equals attention in which the attention mask is added to the scores as it is.",
        read_again="Adding the mask itself makes a forbidden key a little more attractive. " + MASKING,
    ),
    Mistake(
        id="mha.padding-mask-multiplied",
        module="mha",
        old=PADDING,
        new="scores * (key_padding_mask[:, None, None, :] == 0)",
        looks_like="Your result equals attention in which the scores of padded keys are multiplied by 0.",
        read_again="A score of 0 is an ordinary score: the softmax gives it a weight like any other. Think of the "
        "score that becomes 0 in the softmax.",
    ),
    Mistake(
        id="mha.padding-mask-one",
        module="mha",
        old=PADDING,
        new=PADDING.replace("!= 0", "== 1"),
        looks_like="Your result equals attention in which only the number 1 in the key padding mask marks padding.",
        read_again="Other numbers count as well, negative ones too. " + MASKING,
    ),
    Mistake(
        id="mha.attention-mask-one",
        module="mha",
        old=ATTENTION,
        new=ATTENTION.replace("!= 0", "== 1"),
        looks_like="Your result equals attention in which only the number 1 in the attention mask forbids a key.",
        read_again="Other numbers count as well, negative ones too. " + MASKING,
    ),
    Mistake(
        id="mha.masks-one",
        module="mha",
        old=BOTH,
        new=BOTH.replace("!= 0", "== 1"),
        looks_like="Your result equals attention in which only the number 1 in the masks forbids a key.",
        read_again="Other numbers count as well, negative ones too. " + MASKING,
    ),
    # Right for masks of 0 and 1.
    Mistake(
        id="mha.masks-times-low-number",
        module="mha",
        old=BOTH,
        new=BOTH.replace(PADDING, "scores + key_padding_mask[:, None, None, :] * -1e9").replace(
            ATTENTION, "scores + attention_mask[:, None, :, :] * -1e9"
        ),
        looks_like="Your result equals attention in which the masks, times a very low number, are added to the scores: "
        "a negative entry raises the score of its key.",
        read_again="Any entry but 0 forbids a key, and each in the same way: whether it is 1, 7 or -1 must not matter. "
        + MASKING,
    ),
    Mistake(
        id="mha.padding-mask-not-unsqueezed",
        module="mha",
        old=PADDING,
        new="scores.masked_fill(key_padding_mask != 0, lowest)",
        looks_like="The key padding mask, (B, T_k), does not fit the scores, (B, H, T_q, T_k), as it stands.",
        read_again="Broadcasting aligns axes from the right, so the batch axis of the mask meets the queries. Write "
        "both shapes below each other; the mask needs axes of size 1 where it has none.",
    ),
    Mistake(
        id="mha.padding-mask-batch-meets-heads",
        module="mha",
        old=PADDING,
        new="scores.masked_fill(key_padding_mask[:, None, :] != 0, lowest)",
        looks_like="In every sentence, head 0 uses the key padding mask of sentence 0, head 1 that of sentence 1, and "
        "so on.",
        read_again="That happens where the batch axis of the mask meets the head axis of the scores, or, with heads "
        "folded into the batch, where copies of the masks lie in another order than the heads. Write the axes of both "
        "below each other.",
    ),
    Mistake(
        id="mha.attention-mask-not-unsqueezed",
        module="mha",
        old=ATTENTION,
        new="scores.masked_fill(attention_mask != 0, lowest)",
        looks_like="In every sentence, head 0 uses the attention mask of sentence 0, head 1 that of sentence 1, and so "
        "on.",
        read_again="That happens where the batch axis of the mask meets the head axis of the scores, or, with heads "
        "folded into the batch, where copies of the masks lie in another order than the heads. Write the axes of both "
        "below each other. One mask for all sentences hides it.",
    ),
    Mistake(
        id="mha.padding-mask-on-queries",
        module="mha",
        old=PADDING,
        new=PADDING.replace("[:, None, None, :]", "[:, None, :, None]"),
        looks_like="Your result equals attention in which the key padding mask switches off queries instead of keys.",
        read_again="What padded positions compute does not matter; what matters is that nobody looks at them. The name "
        "of the mask and the docstring say which axis of the scores it belongs to.",
    ),
    Mistake(
        id="mha.attention-mask-transposed",
        module="mha",
        old=ATTENTION,
        new="scores.masked_fill(attention_mask.transpose(-2, -1)[:, None, :, :] != 0, lowest)",
        looks_like="Your result equals attention with the rows and columns of the attention mask exchanged.",
        read_again="The docstring says which index of the mask is the query and which is the key.",
    ),
    Mistake(
        id="mha.attention-mask-of-first-sentence",
        module="mha",
        old=ATTENTION,
        new=ATTENTION.replace("[:, None, :, :]", "[:1, None, :, :]"),
        looks_like="Your result equals attention that uses the attention mask of the first sentence for all sentences.",
        read_again="The attention mask may have a batch axis of size 1 or of size B; both must work.",
    ),
    Mistake(
        id="mha.fill-minus-10",
        module="mha",
        old=FILL,
        new="lowest = -10.0",
        looks_like="Your result equals attention in which forbidden keys get the score -10, which is not low enough.",
        read_again="Scores may be much larger or much lower than you expect, and a forbidden key must get no weight in "
        "any case. Think of the lowest number that the type of the scores can hold.",
    ),
    # On the stored inputs it deviates less than correct code may.
    Mistake(
        id="mha.fill-minus-20",
        module="mha",
        old=FILL,
        new="lowest = -20.0",
        looks_like="Your result equals attention in which forbidden keys get the score -20, which is not low enough.",
        read_again="Scores may be much larger or much lower than you expect, and a forbidden key must get no weight in "
        "any case. Think of the lowest number that the type of the scores can hold.",
        seen_by="hidden",
    ),
    Mistake(
        id="mha.fill-largest",
        module="mha",
        old=FILL,
        new="lowest = torch.finfo(scores.dtype).max",
        looks_like="Your result equals attention that gives all its weight to the forbidden keys.",
        read_again="The softmax turns the largest score into the largest weight. A forbidden key must get no weight.",
    ),
    # The visible tests warn of it.
    Mistake(
        id="mha.zeros-forbidden",
        module="mha",
        old=PADDING,
        new="scores * (key_padding_mask[:, None, None, :] == 0)\n            "
        "scores = scores.masked_fill(scores == 0, lowest)",
        looks_like="In your result keys that are allowed, but have a score of exactly 0, count as forbidden.",
        read_again="Whether a key is forbidden follows from the masks, never from its score: 0 is a score like any "
        "other. " + MASKING,
        seen_by="hidden",
    ),
)

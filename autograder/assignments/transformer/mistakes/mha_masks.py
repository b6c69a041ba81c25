"""Known mistakes in stage 1: the masks."""

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

# Both masks, starting at the first line of the reference that uses one.
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
        looks_like="Your result is that of attention that attends only to the padding: the key padding mask is "
        "inverted.",
        read_again="In many libraries a true entry means that a key may be used. Here it means the opposite. "
        + MASKING,
    ),
    Mistake(
        id="mha.attention-mask-inverted",
        module="mha",
        old=ATTENTION,
        new=ATTENTION.replace("!= 0", "== 0"),
        looks_like="Your result is that of attention that attends only to forbidden keys: the attention mask is "
        "inverted.",
        read_again="In the docstring's example of a causal mask, the first row has a single zero, and the first "
        "position may attend only to itself. " + MASKING,
    ),
    Mistake(
        id="mha.padding-mask-ignored",
        module="mha",
        old="scores = " + PADDING,
        new=PADDING,  # the result is thrown away
        looks_like="Your result is that of attention without the key padding mask: it attends to padded keys.",
        read_again="Either you never use the mask, or you discard the masked scores: methods whose names do not end "
        "in an underscore return a new tensor.",
    ),
    Mistake(
        id="mha.attention-mask-ignored",
        module="mha",
        old="scores = " + ATTENTION,
        new=ATTENTION,  # the result is thrown away
        looks_like="Your result is that of attention without the attention mask: it attends to forbidden keys.",
        read_again="Either you do not use the mask, perhaps only if there is a key padding mask too, or you discard "
        "the masked scores. Methods whose names do not end in an underscore return a new tensor.",
    ),
    Mistake(
        id="mha.one-mask-only",
        module="mha",
        old="        if attention_mask is not None:",
        new="        elif attention_mask is not None:",
        looks_like="Your result is that of attention that ignores the attention mask if there is also a key padding "
        "mask.",
        read_again="The two masks are independent of each other. The docstring says what applies if both "
        "masks are passed.",
    ),
    Mistake(
        id="mha.masks-where-both-forbid",
        module="mha",
        old=ADDED,
        new=MEET,
        looks_like="Your result is that of attention that, given two masks, masks a key only if both masks forbid it.",
        read_again="The two masks are independent of each other. The docstring says what applies if both "
        "masks are passed.",
    ),
    Mistake(
        id="mha.masks-added",
        module="mha",
        old=ADDED,
        new=SUM,
        looks_like="Your result is that of attention that adds the two masks as numbers, so that their entries can "
        "cancel out.",
        read_again="With 1 in one mask and -1 in the other, both masks forbid the key. Each mask alone can forbid a "
        "key. " + MASKING,
    ),
    Mistake(
        id="mha.masks-added-above-zero",
        module="mha",
        old=ADDED,
        new=SUM.replace("total != 0", "total > 0"),
        looks_like="Your result is that of attention that adds the two masks as numbers and masks a key only if the "
        "sum is above 0.",
        read_again="A negative entry also forbids a key, in either mask. " + MASKING,
    ),
    Mistake(
        id="mha.fill-zero",
        module="mha",
        old=FILL,
        new="lowest = 0.0",
        looks_like="Your result is that of attention in which a masked key gets the score 0 instead of a very low "
        "score.",
        read_again="The softmax of a score of 0 is not 0. Which score becomes 0 in the softmax? A tiny positive "
        "number, such as 1e-9, does not.",
    ),
    Mistake(
        id="mha.mask-after-softmax",
        module="mha",
        old=OUTPUT,
        new=f"torch.softmax({SCORES}, dim=-1).masked_fill(scores == lowest, 0.0) @ value",
        looks_like="Your result is that of attention that masks keys after the softmax, so the weights of a query no "
        "longer add up to 1.",
        read_again="Masked keys must not take part in the softmax at all. Look at the order of the boxes in figure 2 "
        "(left) of the paper.",
    ),
    Mistake(
        id="mha.padding-mask-added",
        module="mha",
        old=PADDING,
        new="scores + key_padding_mask[:, None, None, :]",
        looks_like="Your result is that of attention that adds the key padding mask itself to the scores.",
        read_again="Adding the mask itself raises the scores of padded keys a little. " + MASKING,
    ),
    Mistake(
        id="mha.attention-mask-added",
        module="mha",
        old=ATTENTION,
        new="scores + attention_mask[:, None, :, :]",
        looks_like="Your result is that of attention that adds the attention mask itself to the scores.",
        read_again="Adding the mask itself raises the scores of forbidden keys a little. " + MASKING,
    ),
    Mistake(
        id="mha.padding-mask-multiplied",
        module="mha",
        old=PADDING,
        new="scores * (key_padding_mask[:, None, None, :] == 0)",
        looks_like="Your result is that of attention in which the scores of padded keys are multiplied by 0.",
        read_again="A score of 0 is an ordinary score: the softmax turns it into a weight like any other. Which "
        "score becomes 0 in the softmax?",
    ),
    Mistake(
        id="mha.padding-mask-one",
        module="mha",
        old=PADDING,
        new=PADDING.replace("!= 0", "== 1"),
        looks_like="Your result is that of attention that treats a key as padding only where the key padding "
        "mask is exactly 1.",
        read_again="Other numbers mark padding too, even negative ones. " + MASKING,
    ),
    Mistake(
        id="mha.attention-mask-one",
        module="mha",
        old=ATTENTION,
        new=ATTENTION.replace("!= 0", "== 1"),
        looks_like="Your result is that of attention that forbids a key only where the attention mask is exactly 1.",
        read_again="Other numbers forbid a key too, even negative ones. " + MASKING,
    ),
    Mistake(
        id="mha.masks-one",
        module="mha",
        old=BOTH,
        new=BOTH.replace("!= 0", "== 1"),
        looks_like="Your result is that of attention that forbids a key only where a mask is exactly 1.",
        read_again="Other numbers forbid a key too, even negative ones. " + MASKING,
    ),
    # Correct for masks of 0 and 1.
    Mistake(
        id="mha.masks-times-low-number",
        module="mha",
        old=BOTH,
        new=BOTH.replace(PADDING, "scores + key_padding_mask[:, None, None, :] * -1e9").replace(
            ATTENTION, "scores + attention_mask[:, None, :, :] * -1e9"
        ),
        looks_like="Your result is that of attention that adds the masks, times a very low number, to the scores. A "
        "negative entry then raises the score of its key.",
        read_again="Any entry other than 0 forbids a key: 1, 7 and -1 must all have the same effect. " + MASKING,
    ),
    Mistake(
        id="mha.padding-mask-not-unsqueezed",
        module="mha",
        old=PADDING,
        new="scores.masked_fill(key_padding_mask != 0, lowest)",
        looks_like="The shape of the key padding mask, (B, T_k), does not fit the scores, (B, H, T_q, T_k).",
        read_again="Broadcasting aligns axes from the right, so the batch axis of the mask lines up with the query "
        "axis. Write the two shapes one below the other; the mask needs an axis of size 1 wherever it lacks an axis.",
    ),
    Mistake(
        id="mha.padding-mask-batch-meets-heads",
        module="mha",
        old=PADDING,
        new="scores.masked_fill(key_padding_mask[:, None, :] != 0, lowest)",
        looks_like="The batch axis of your key padding mask lines up with the head axis of the scores.",
        read_again="Write the axes of the mask below the axes of the scores. If you fold heads into the batch, the "
        "copies of the masks may be in a different order from the heads.",
    ),
    Mistake(
        id="mha.attention-mask-not-unsqueezed",
        module="mha",
        old=ATTENTION,
        new="scores.masked_fill(attention_mask != 0, lowest)",
        looks_like="The batch axis of your attention mask lines up with the head axis of the scores.",
        read_again="Write the axes of the mask below the axes of the scores. If you fold heads into the batch, the "
        "copies of the masks may be in a different order from the heads. With one mask for all sentences, the mistake "
        "does not show.",
    ),
    Mistake(
        id="mha.padding-mask-on-queries",
        module="mha",
        old=PADDING,
        new=PADDING.replace("[:, None, None, :]", "[:, None, :, None]"),
        looks_like="Your result is that of attention in which the key padding mask masks queries instead of keys.",
        read_again="The results at padded positions do not matter; what matters is that no query attends to them. "
        "The name of the mask and the docstring say which axis of the scores the mask belongs to.",
    ),
    Mistake(
        id="mha.attention-mask-transposed",
        module="mha",
        old=ATTENTION,
        new="scores.masked_fill(attention_mask.transpose(-2, -1)[:, None, :, :] != 0, lowest)",
        looks_like="Your result is that of attention with the rows and columns of the attention mask swapped.",
        read_again="The docstring says which index of the mask is the query and which is the key.",
    ),
    Mistake(
        id="mha.attention-mask-of-first-sentence",
        module="mha",
        old=ATTENTION,
        new=ATTENTION.replace("[:, None, :, :]", "[:1, None, :, :]"),
        looks_like="Your result is that of attention that uses the attention mask of the first sentence for all "
        "sentences.",
        read_again="The attention mask may have a batch axis of size 1 or of size B; both must work.",
    ),
    Mistake(
        id="mha.fill-minus-10",
        module="mha",
        old=FILL,
        new="lowest = -10.0",
        looks_like="Your result is that of attention in which masked keys get the score -10, which is not low enough.",
        read_again="Scores may be much higher or lower than you expect, but a masked key must never get any weight. "
        "What is the lowest number that the dtype of the scores can hold?",
    ),
    # On the stored inputs, the error is within the tolerance.
    Mistake(
        id="mha.fill-minus-20",
        module="mha",
        old=FILL,
        new="lowest = -20.0",
        looks_like="Your result is that of attention in which masked keys get the score -20, which is not low enough.",
        read_again="Scores may be much higher or lower than you expect, but a masked key must never get any weight. "
        "What is the lowest number that the dtype of the scores can hold?",
        seen_by="hidden",
    ),
    Mistake(
        id="mha.fill-largest",
        module="mha",
        old=FILL,
        new="lowest = torch.finfo(scores.dtype).max",
        looks_like="Your result is that of attention that gives all its weight to the masked keys.",
        read_again="The softmax turns the largest score into the largest weight, but a masked key must get no weight.",
    ),
    # The visible tests warn of this.
    Mistake(
        id="mha.zeros-forbidden",
        module="mha",
        old=PADDING,
        new="scores * (key_padding_mask[:, None, None, :] == 0)\n            "
        "scores = scores.masked_fill(scores == 0, lowest)",
        looks_like="Allowed keys with a score of exactly 0 are treated as if they were masked.",
        read_again="Whether a key is masked depends on the masks, never on its score: 0 is a score like any other. "
        + MASKING,
        seen_by="hidden",
    ),
)

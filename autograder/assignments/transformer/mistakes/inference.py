"""Known mistakes in stage 5: one decoding step with a cache, and greedy decoding."""

from autograder.assignments.transformer.mistakes import inference_loop
from autograder.diagnosis.mistakes import Mistake

# Lines of the reference: the layer.
LAST = "last = x if cache is None else x[:, -1:]"
CUT_MASK = "last_mask = self_attn_mask[:, -1:]"
ATTEND = "attended = self.self_attn(last, x, x, self_attn_padding_mask, last_mask)"
NORM = "last = self.self_attn_layer_norm(last + self.dropout(attended))"
ATTEND_ENCODER = "attended = self.encoder_attn(last, encoder_out, encoder_out, key_padding_mask=encoder_padding_mask)"
CROSS = f"{ATTEND_ENCODER}\n            last = self.encoder_attn_layer_norm(last + self.dropout(attended))"
HIDDEN = "hidden = self.activation_fn(self.fc1(last))"
RECOMPUTE = """y = self.forward(x, encoder_out, encoder_padding_mask, self_attn_padding_mask, self_attn_mask)
        return y if cache is None else torch.cat((cache, y[:, -1:, :]), dim=1)"""
GROW = "return last if cache is None else torch.cat([cache, last], dim=1)"
# Lines of the reference: the stack.
NEW_CACHE = "new_cache = []"
CALL_LAYER = "x = layer.forward_one_step_ec(\n                x,"
LAYER_CACHE = "cache=None if cache is None else cache[index],"
KEEP = "new_cache.append(x)"
OUTPUT = "y = x[:, -1:]"

SEE_LAYER = "The docstring of the layer's step says which tensors have one position and which have T_d."
SEE_CACHE = "The docstring gives the shapes of the old and the new cache."

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        id="inference.mask-not-cut",
        module="decoder",
        old=CUT_MASK,
        new="last_mask = self_attn_mask",
        looks_like="The attention mask has a row for each position, but there is only one query.",
        read_again="Rows of the mask belong to queries, columns to keys. " + SEE_LAYER,
    ),
    Mistake(
        id="inference.all-positions-again",
        module="decoder",
        old=LAST,
        new=f"{RECOMPUTE}\n        {LAST}",
        looks_like="Your step computes all positions again, and uses only the last one.",
        read_again="The result is right, but the cache saves no work. " + SEE_LAYER,
    ),
    Mistake(
        id="inference.cache-not-grown",
        module="decoder",
        old=GROW,
        new="return last if cache is None else cache",
        looks_like="The second layer gets too few positions: something is missing from the result of the first layer.",
        read_again="A layer returns the cached positions followed by the new position, and the next layer receives "
        "them all. " + SEE_CACHE,
    ),
    Mistake(
        id="inference.new-position-only",
        module="decoder",
        old=GROW,
        new="return last",
        looks_like="Your layer returns only the new position, without the earlier ones.",
        read_again="The next layer attends to all positions, so it needs the cached ones too. " + SEE_CACHE,
    ),
    Mistake(
        id="inference.first-cache-missing",
        module="decoder",
        old=GROW,
        new="return torch.cat([cache, last], dim=1)",
        looks_like="Your layer fails at the first step, when there is no cache yet.",
        read_again="In the first step the cache is None. The docstring says what to compute then.",
    ),
    Mistake(
        id="inference.attends-to-last-only",
        module="decoder",
        old=ATTEND,
        new="attended = self.self_attn(last, last, last)",
        looks_like="Your result is that of a decoder whose last position attends only to itself.",
        read_again="Only the query is one position long: the keys and values still come from all positions. "
        + SEE_LAYER,
    ),
    Mistake(
        id="inference.attends-to-cache",
        module="decoder",
        old=ATTEND,
        new="outputs = last if cache is None else torch.cat([cache, last], dim=1)\n"
        "        attended = self.self_attn(last, outputs, outputs, self_attn_padding_mask, last_mask)",
        looks_like="Your result is that of a decoder whose self-attention takes its keys and values from the cache "
        "instead of x.",
        read_again="Unlike the usual KV cache, this cache holds the outputs of the layer. The keys and values are "
        "computed from the inputs to the layer.",
    ),
    Mistake(
        id="inference.first-position",
        module="decoder",
        old=LAST,
        new=LAST.replace("-1:", ":1"),
        looks_like="Your result is that of a decoder whose query is the first position instead of the last.",
        read_again="The new token is at the end, and its output predicts the next token. " + SEE_LAYER,
    ),
    Mistake(
        id="inference.all-positions-appended",
        module="decoder",
        old=LAST,
        new="last = x",
        looks_like="Your layer computes all positions and appends them all to the cache, which grows too fast.",
        read_again="The cache already has the earlier positions. Only the new one is computed and appended. "
        + SEE_CACHE,
    ),
    Mistake(
        id="inference.residual-of-all-positions",
        module="decoder",
        old=NORM,
        new=NORM.replace("last + ", "x + "),
        looks_like="Your residual connection adds all positions of x to the single position that attention returned.",
        read_again="Broadcasting expands one position to T_d positions without an error. The residual connection adds "
        "the query. " + SEE_LAYER,
    ),
    *inference_loop.MISTAKES,
    Mistake(
        id="inference.same-cache-for-all-layers",
        module="decoder",
        old=LAYER_CACHE,
        new=LAYER_CACHE.replace("[index]", "[0]"),
        looks_like="Your result is that of a decoder in which every layer gets the cache of the first layer.",
        read_again="Each layer has its own outputs. " + SEE_CACHE,
    ),
    Mistake(
        id="inference.layers-side-by-side",
        module="decoder",
        old=CALL_LAYER,
        new="embedded = x if index == 0 else embedded\n"
        "            x = layer.forward_one_step_ec(\n                embedded,",
        looks_like="Your result is that of a decoder in which every layer gets the embeddings, not the output of the "
        "previous layer.",
        read_again="The layers are stacked. The docstring says which tensor is the input to the next layer.",
    ),
    Mistake(
        id="inference.last-position-to-next-layer",
        module="decoder",
        old=KEEP,
        new=f"{KEEP}\n            x = x[:, -1:]",
        looks_like="All layers after the first get only the last position, without the earlier ones.",
        read_again="Every layer attends to all positions of its input. The docstring says which tensor is the input "
        "of the next layer.",
    ),
    Mistake(
        id="inference.all-positions-returned",
        module="decoder",
        old=OUTPUT,
        new="y = x",
        looks_like="Your decoder returns scores for all positions instead of the last one.",
        read_again="You only need to predict the token after the last position. See the shape of y in the docstring.",
    ),
    Mistake(
        id="inference.first-position-returned",
        module="decoder",
        old=OUTPUT,
        new="y = x[:, :1]",
        looks_like="Your decoder returns the scores of the first position instead of the last, so it repeats the "
        "same token.",
        read_again="The newest position predicts the next token. See what the docstring says about y.",
    ),
    Mistake(
        id="inference.position-axis-lost",
        module="decoder",
        old=OUTPUT,
        new="y = x[:, -1]",
        looks_like="The scores that your decoder returns lack the position axis.",
        read_again="Indexing with a single number removes an axis; a slice keeps it. See the shape of y in the "
        "docstring.",
    ),
    Mistake(
        id="inference.new-cache-continues-old",
        module="decoder",
        old=NEW_CACHE,
        new="new_cache = [] if cache is None else cache",
        looks_like="Your list of caches gets longer with each step, and its first entries are never replaced.",
        read_again="The new cache is a new list with one entry per layer. " + SEE_CACHE,
    ),
    Mistake(
        id="inference.layer-inputs-cached",
        module="decoder",
        old=f"{CALL_LAYER}\n",
        new=f"{KEEP}\n            {CALL_LAYER}\n",
        looks_like="Your list of caches holds the inputs to the layers instead of their outputs.",
        read_again="Each layer adds one entry to the list, after it has been called. " + SEE_CACHE,
    ),
    Mistake(
        id="inference.cache-prepended",
        module="decoder",
        old=GROW,
        new=GROW.replace("[cache, last]", "[last, cache]"),
        looks_like="Your cache has the newest position at its start.",
        read_again="Positions stay in sentence order. " + SEE_CACHE,
    ),
    Mistake(
        id="inference.no-cross-attention",
        module="decoder",
        old=CROSS,
        new="pass",
        looks_like="Your result is that of a decoder whose step does not attend to the source in this call.",
        read_again="A step has the same three sub-layers as forward. The last position attends to the encoder's "
        "output too, even without a padding mask.",
    ),
    Mistake(
        id="inference.cross-attention-needs-mask",
        module="decoder",
        old="last = self.encoder_attn_layer_norm(last + self.dropout(attended))",
        new="masked = encoder_padding_mask is not None\n            "
        "last = self.encoder_attn_layer_norm(last + self.dropout(attended)) if masked else last",
        looks_like="Your result is that of a decoder whose step attends to the source only if the source has "
        "a padding mask.",
        read_again="A mask of None means that nothing is padded, for example when a single sentence is decoded; "
        "the source is still there.",
    ),
    Mistake(
        id="inference.cross-attention-first-query",
        module="decoder",
        old=ATTEND_ENCODER,
        new=ATTEND_ENCODER.replace("(last, ", "(x[:, -1:], "),
        looks_like="Your result is that of a decoder whose cross-attention takes its query from the layer's input "
        "instead of the output of self-attention.",
        read_again="The output of each sub-layer is the input to the next sub-layer. See figure 1 of the paper.",
    ),
    Mistake(
        id="inference.relu-missing",
        module="decoder",
        old=HIDDEN,
        new="hidden = self.fc1(last)",
        looks_like="Your result is that of a decoder whose step has no ReLU in the feed-forward network.",
        read_again="A step has the same three sub-layers as forward. Compare the two methods line by line.",
    ),
    Mistake(
        id="inference.residual-missing",
        module="decoder",
        old=NORM,
        new="last = self.self_attn_layer_norm(self.dropout(attended))",
        looks_like="Your result is that of a decoder whose step has no residual connection around self-attention.",
        read_again="A step has the same three sub-layers as forward. Compare the two methods line by line.",
    ),
    Mistake(
        id="inference.mask-first-row",
        module="decoder",
        old=CUT_MASK,
        new=CUT_MASK.replace("-1:", ":1"),
        looks_like="Your result is that of a decoder whose last position may see only what the first position may see.",
        read_again="The row of the mask must belong to the query. " + SEE_LAYER,
    ),
    Mistake(
        id="inference.mask-last-column",
        module="decoder",
        old=CUT_MASK,
        new="last_mask = self_attn_mask[:, :, -1:]",
        looks_like="You cut the attention mask down to one key instead of one query.",
        read_again="Rows of the mask belong to queries, columns to keys. " + SEE_LAYER,
    ),
    # The visible tests decode sentences one by one: no padding, one token at the first step, and a causal mask
    # whose last row forbids nothing.
    Mistake(
        id="inference.padding-mask-ignored",
        module="decoder",
        old=ATTEND,
        new="attended = self.self_attn(last, x, x, attention_mask=last_mask)",
        looks_like="Your result is that of a step whose self-attention ignores the target padding mask, or uses only "
        "its last position.",
        read_again="A single sentence has no padding, but the layer must also work with padding. See the arguments "
        "in the docstring.",
    ),
    Mistake(
        id="inference.padding-mask-cut",
        module="decoder",
        old=ATTEND,
        new="padding_mask = None if self_attn_padding_mask is None else self_attn_padding_mask[:, -1:]\n"
        "        attended = self.self_attn(last, x, x, padding_mask, last_mask)",
        looks_like="Your result is that of a layer that keeps only the last position of the padding mask.",
        read_again="The padding mask marks keys, and the keys are all T_d positions. " + SEE_LAYER,
        same_as=("inference.padding-mask-ignored",),
    ),
    Mistake(
        id="inference.attention-mask-ignored",
        module="decoder",
        old=ATTEND,
        new="attended = self.self_attn(last, x, x, self_attn_padding_mask)",
        looks_like="Your result is that of a step whose self-attention ignores the attention mask.",
        read_again="The last row of a causal mask forbids nothing, but other masks may forbid keys there. The first "
        "step may also have several positions. See the arguments in the docstring.",
    ),
    Mistake(
        id="inference.source-mask-ignored",
        module="decoder",
        old=ATTEND_ENCODER,
        new="attended = self.encoder_attn(last, encoder_out, encoder_out)",
        looks_like="Your result is that of a step whose cross-attention also attends to the padding of the source.",
        read_again="A single sentence has no padding, but the layer must also work with padding. See the arguments "
        "in the docstring.",
    ),
    Mistake(
        id="inference.first-step-one-position",
        module="decoder",
        old=LAST,
        new="last = x[:, -1:]",
        looks_like="Your layer computes only the last position, even when there is no cache yet.",
        read_again="The docstring says what to compute when the cache is None. The first step may process "
        "several positions.",
    ),
    Mistake(
        id="inference.cache-not-used",
        module="decoder",
        old=LAYER_CACHE,
        new="cache=None,",
        looks_like="Your tokens are right, but the cache is never used: every step computes all positions again.",
        read_again="The earlier positions do not change from step to step, so they are cached. " + SEE_CACHE,
        seen_by="hidden",
    ),
    Mistake(
        id="inference.cache-changed-in-place",
        module="decoder",
        old=KEEP,
        new=f"{KEEP}\n            if cache is not None:\n                cache[index] = x",
        looks_like="Your result is right, but the call changes the list of caches that was passed in.",
        read_again="The old cache belongs to the caller, who may continue from it more than once. The docstring "
        "promises a new list.",
        seen_by="hidden",
    ),
)

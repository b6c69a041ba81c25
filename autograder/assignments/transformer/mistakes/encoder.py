"""Known mistakes in stage 3: the encoder."""

from autograder.assignments.transformer.mistakes.sublayers import POST_NORM, Sublayer
from autograder.diagnosis.mistakes import Mistake

ATTENTION = Sublayer("encoder", "self-attention", "self_attn_layer_norm", "attended")
FEED_FORWARD = Sublayer("encoder", "feed-forward", "final_layer_norm", "self.fc2(hidden)")

# Lines of the reference.
ATTEND = "attended = self.self_attn(x, x, x, key_padding_mask=self_attn_padding_mask)"
HIDDEN = "hidden = self.activation_fn(self.fc1(x))  # (B, T, d_model) -> (B, T, d_ff)"
BETWEEN = """        ### END SOLUTION

        # Feed-forward network, dropout, residual connection, layer norm.
        ### BEGIN SOLUTION
"""
LAYER = f"{ATTEND}\n        {ATTENTION.text}\n{BETWEEN}        {HIDDEN}\n        {FEED_FORWARD.text}"
MASK = "src_padding_mask = length_to_padding_mask(src_lengths, device=src.device)"
ENCODE = "enc_output = self.encoder(src_embedded, encoder_padding_mask=src_padding_mask)"

FFN = "See the formula of the feed-forward network in section 3.3 of the paper and in the docstring of the class."

MISTAKES: tuple[Mistake, ...] = (
    ATTENTION.no_residual(),
    FEED_FORWARD.no_residual(),
    Mistake(
        id="encoder.mask-not-passed",
        module="transformer",
        old=ENCODE,
        new="enc_output = self.encoder(src_embedded)",
        looks_like="Your result is that of an encoder without a padding mask: real positions attend to padding.",
        read_again="The mask gets lost somewhere. Follow it: it is computed from the sentence lengths, passed to the "
        "encoder, and used by the self-attention of each layer.",
    ),
    Mistake(
        id="encoder.padding-mask-ignored",
        module="encoder",
        old=ATTEND,
        new="attended = self.self_attn(x, x, x)",
        looks_like="Your result is that of a layer whose self-attention also attends to padded keys.",
        read_again="Without a mask, the result for a sentence depends on the amount of padding after it. See the "
        "arguments of forward in the docstring.",
    ),
    Mistake(
        id="encoder.pre-norm",
        module="encoder",
        old=LAYER,
        new=f"""normed = self.self_attn_layer_norm(x)
        x = x + self.dropout(self.self_attn(normed, normed, normed, key_padding_mask=self_attn_padding_mask))
{BETWEEN}        hidden = self.activation_fn(self.fc1(self.final_layer_norm(x)))
        x = x + self.dropout(self.fc2(hidden))""",
        looks_like="Your result is that of a pre-norm layer: each layer norm comes before its sub-layer.",
        read_again="Many newer models do this, but the 2017 paper puts the layer norm after the sum. " + POST_NORM,
    ),
    ATTENTION.no_norm(),
    FEED_FORWARD.no_norm(),
    Mistake(
        id="encoder.norms-exchanged",
        module="encoder",
        old=f"{ATTENTION.text}\n{BETWEEN}        {HIDDEN}\n        {FEED_FORWARD.text}",
        new=f"{ATTENTION.text.replace(ATTENTION.norm, FEED_FORWARD.norm)}\n{BETWEEN}        {HIDDEN}\n"
        f"        {FEED_FORWARD.text.replace(FEED_FORWARD.norm, ATTENTION.norm)}",
        looks_like="Your result is that of a layer with its two layer norms swapped.",
        read_again="Each layer norm has its own weights, trained for its place in the layer. The comments in the "
        "constructor say which norm belongs to which sub-layer.",
    ),
    Mistake(
        id="encoder.first-norm-twice",
        module="encoder",
        old=FEED_FORWARD.text,
        new=FEED_FORWARD.text.replace(FEED_FORWARD.norm, ATTENTION.norm),
        looks_like="Your result is that of a layer that uses the layer norm of self-attention for both sub-layers.",
        read_again="Each sub-layer has its own layer norm. The comments in the constructor say which norm belongs to "
        "the feed-forward network.",
    ),
    Mistake(
        id="encoder.last-norm-twice",
        module="encoder",
        old=ATTENTION.text,
        new=ATTENTION.text.replace(ATTENTION.norm, FEED_FORWARD.norm),
        looks_like="Your result is that of a layer that uses the layer norm of the feed-forward network for both "
        "sub-layers.",
        read_again="Each sub-layer has its own layer norm. Look for the other norm in the constructor.",
    ),
    Mistake(
        id="encoder.relu-missing",
        module="encoder",
        old=HIDDEN,
        new="hidden = self.fc1(x)",
        looks_like="Your result is that of a layer whose feed-forward network has no ReLU.",
        read_again="Two linear maps with nothing between them are just one linear map. " + FFN,
    ),
    Mistake(
        id="encoder.relu-on-output",
        module="encoder",
        old=f"{HIDDEN}\n        {FEED_FORWARD.text}",
        new="hidden = self.fc1(x)\n"
        "        x = self.final_layer_norm(x + self.dropout(self.activation_fn(self.fc2(hidden))))",
        looks_like="Your result is that of a layer whose ReLU comes after the second linear map instead of the first.",
        read_again="The max in the formula applies only to the first linear map. " + FFN,
    ),
    Mistake(
        id="encoder.relu-twice",
        module="encoder",
        old=FEED_FORWARD.text,
        new="x = self.final_layer_norm(x + self.dropout(self.activation_fn(self.fc2(hidden))))",
        looks_like="Your result is that of a layer with a second ReLU after the second linear map.",
        read_again="The feed-forward network must be able to lower a feature as well as raise it. " + FFN,
    ),
    Mistake(
        id="encoder.linear-maps-exchanged",
        module="encoder",
        old=f"{HIDDEN}\n        {FEED_FORWARD.text}",
        new="hidden = self.activation_fn(self.fc2(x))\n"
        "        x = self.final_layer_norm(x + self.dropout(self.fc1(hidden)))",
        looks_like="The shapes in the feed-forward network do not fit, as if its two linear maps were swapped.",
        read_again="The network first widens the features, then narrows them again. The comments in the constructor "
        "say which map is which.",
    ),
    Mistake(
        id="encoder.padding-mask-inverted",
        module="encoder",
        old=ATTEND,
        new=ATTEND.replace("=self_attn_padding_mask", "=self_attn_padding_mask == 0"),
        looks_like="Your result is that of an encoder that attends only to the padding: its mask is inverted.",
        read_again="As in all masks in this course, a non-zero entry marks padding. See the docstrings of "
        "length_to_padding_mask and of the layer.",
    ),
    Mistake(
        id="encoder.mask-inverted",
        module="transformer",
        old=MASK,
        new="src_padding_mask = 1 - length_to_padding_mask(src_lengths, device=src.device)",
        looks_like="Your padding mask marks the real tokens instead of the padding.",
        read_again="The example in the docstring of length_to_padding_mask shows what the numbers mean. All masks in "
        "this course follow this convention.",
    ),
    Mistake(
        id="encoder.mask-of-full-length",
        module="transformer",
        old=MASK,
        new="src_padding_mask = length_to_padding_mask(torch.full_like(src_lengths, src.size(1)), device=src.device)",
        looks_like="Your padding mask marks nothing as padding, although most sentences end early.",
        read_again="Each sentence has its own length. The mask depends only on src_lengths, not on the width of the "
        "batch or on the tokens.",
    ),
    Mistake(
        id="encoder.returned-mask-inverted",
        module="transformer",
        old=ENCODE,
        new=ENCODE + "\n        src_padding_mask = 1 - src_padding_mask",
        looks_like="The mask that you return marks the real tokens instead of the padding.",
        read_again="The Returns section of the docstring says what the numbers in the returned mask mean.",
        same_as=("encoder.mask-inverted",),
    ),
    Mistake(
        id="encoder.returned-mask-none",
        module="transformer",
        old=ENCODE,
        new=ENCODE + "\n        src_padding_mask = None",
        looks_like="You return None instead of the mask.",
        read_again="The decoder needs the mask too, for its cross-attention. See the Returns section of the docstring.",
    ),
    Mistake(
        id="encoder.mask-as-attention-mask",
        module="encoder",
        old=ATTEND,
        new="attended = self.self_attn(x, x, x, None, self_attn_padding_mask)",
        looks_like="You pass the padding mask as the attention mask, which has a different shape.",
        read_again="Multi-head attention takes two masks of different shapes. Look up their order, or pass them by "
        "name.",
    ),
    Mistake(
        id="encoder.embeddings-scaled",
        module="transformer",
        old=ENCODE,
        new=ENCODE.replace("src_embedded,", "src_embedded * src_embedded.size(-1) ** 0.5,"),
        looks_like="Your result is that of an encoder whose input is multiplied by sqrt(d_model).",
        read_again="The paper scales the embeddings (section 3.4), but this course does not: see the docstring of "
        "the class. The line above your code already prepares the input.",
    ),
    Mistake(
        id="encoder.positions-added-twice",
        module="transformer",
        old=ENCODE,
        new=ENCODE.replace("src_embedded,", "self.positional_encoding(src_embedded),"),
        looks_like="Your result is that of an encoder that adds the positional encoding twice.",
        read_again="The line above your code already adds it.",
    ),
    ATTENTION.norm_before_residual(),
    FEED_FORWARD.norm_before_residual(),
    Mistake(
        id="encoder.residual-from-layer-input",
        module="encoder",
        old=LAYER,
        new=f"residual = x\n        {ATTEND}\n        {ATTENTION.text}\n{BETWEEN}        {HIDDEN}\n"
        "        x = self.final_layer_norm(residual + self.dropout(self.fc2(hidden)))",
        looks_like="Your result is that of a layer whose second residual connection starts at the input of the layer.",
        read_again="A residual connection goes around one sub-layer, not around both. Follow the arrows in figure 1 of "
        "the paper.",
    ),
    Mistake(
        id="encoder.feed-forward-on-attention",
        module="encoder",
        old=HIDDEN,
        new="hidden = self.activation_fn(self.fc1(attended))",
        looks_like="Your result is that of a layer whose feed-forward network reads the attention result before the "
        "sum and the layer norm.",
        read_again="The input to the second sub-layer is the output of the first, including sum and layer norm. "
        "Follow the arrows in figure 1 of the paper.",
    ),
    Mistake(
        id="encoder.feed-forward-twice",
        module="encoder",
        old=FEED_FORWARD.text,
        new=f"{FEED_FORWARD.text}\n        {HIDDEN}\n        {FEED_FORWARD.text}",
        looks_like="Your result is that of a layer that applies the feed-forward sub-layer twice.",
        read_again="A layer has two sub-layers, each used once. See figure 1 of the paper.",
    ),
    ATTENTION.no_dropout(),
    FEED_FORWARD.no_dropout(),
    ATTENTION.dropout_after_norm(),
    FEED_FORWARD.dropout_after_norm(),
    ATTENTION.dropout_on_sum(),
    FEED_FORWARD.dropout_on_sum(),
    Mistake(
        id="encoder.dropout-on-hidden",
        module="encoder",
        old=HIDDEN,
        new="hidden = self.dropout(self.activation_fn(self.fc1(x)))",
        looks_like="Your result is that of a layer with extra dropout inside the feed-forward network.",
        read_again="Many implementations have it, but the paper does not: section 5.4 lists where dropout is applied.",
    ),
    ATTENTION.residual_in_place(),
)

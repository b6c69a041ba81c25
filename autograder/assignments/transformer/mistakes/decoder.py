"""Known mistakes in stage 4: the decoder."""

from autograder.assignments.transformer.mistakes import decoder_masks
from autograder.assignments.transformer.mistakes.decoder_masks import ATTEND, ATTEND_ENCODER, DECODE, PADDING_MASK
from autograder.assignments.transformer.mistakes.sublayers import POST_NORM, Sublayer
from autograder.diagnosis.mistakes import Mistake

SELF = Sublayer("decoder", "self-attention", "self_attn_layer_norm", "attended")
CROSS = Sublayer("decoder", "cross-attention", "encoder_attn_layer_norm", "attended")
FEED_FORWARD = Sublayer("decoder", "feed-forward", "final_layer_norm", "self.fc2(hidden)")

# Lines of the reference.
HIDDEN = "hidden = self.activation_fn(self.fc1(x))"
HIDDEN_LINE = HIDDEN + "  # (B, T_d, d_model) -> (B, T_d, d_ff)"
BEFORE_CROSS = """        ### END SOLUTION

        # Cross-attention to the encoder's output, dropout, residual connection, layer norm.
        if self.encoder_attn is not None and self.encoder_attn_layer_norm is not None:
            ### BEGIN SOLUTION
"""
BEFORE_FEED_FORWARD = """            ### END SOLUTION

        # Feed-forward network, dropout, residual connection, layer norm.
        ### BEGIN SOLUTION
"""
ATTENTIONS = f"""{ATTEND}
        {SELF.text}
{BEFORE_CROSS}            {ATTEND_ENCODER}
            {CROSS.text}"""

SEE_CROSS = "Section 3.2.3 of the paper says where the queries, keys and values of this attention come from."
SEE_FFN = "See the formula of the feed-forward network in section 3.3 of the paper."

MISTAKES: tuple[Mistake, ...] = (
    *decoder_masks.MISTAKES,
    Mistake(
        id="decoder.cross-attention-to-itself",
        module="decoder",
        old=ATTEND_ENCODER,
        new="attended = self.encoder_attn(x, x, x, key_padding_mask=self_attn_padding_mask)",
        looks_like="Your result is that of a layer whose cross-attention attends to the target instead of the source.",
        read_again="Without the source there is nothing to translate. " + SEE_CROSS,
    ),
    SELF.no_residual(),
    CROSS.no_residual(),
    FEED_FORWARD.no_residual(),
    Mistake(
        id="decoder.values-from-decoder",
        module="decoder",
        old=ATTEND_ENCODER,
        new="attended = self.encoder_attn(x, encoder_out, x, key_padding_mask=encoder_padding_mask)",
        looks_like="The keys and values of your cross-attention do not match: the values come from the decoder.",
        read_again="Each value belongs to a key, so both come from the same tensor. " + SEE_CROSS,
    ),
    Mistake(
        id="decoder.queries-from-encoder",
        module="decoder",
        old=ATTEND_ENCODER,
        new="attended = self.encoder_attn(encoder_out, x, x, key_padding_mask=self_attn_padding_mask)",
        looks_like="Your cross-attention returns one vector per source position instead of one per target position: "
        "its queries come from the encoder.",
        read_again="Each query gets one result, which is added to the decoder's vectors. " + SEE_CROSS,
    ),
    Mistake(
        id="decoder.arguments-in-wrong-order",
        module="transformer",
        old=DECODE,
        new="dec_output = self.decoder(tgt_embedded, enc_output, src_padding_mask, tgt_padding_mask, causal_mask)",
        looks_like="You pass the arguments of the decoder in the wrong order.",
        read_again="The layer and the stack of layers take their arguments in different orders; the docstring of the "
        "stack warns about this. Pass the arguments by name.",
    ),
    Mistake(
        id="decoder.cross-attention-first",
        module="decoder",
        old=ATTENTIONS,
        new=f"""if self.encoder_attn is not None and self.encoder_attn_layer_norm is not None:
            {ATTEND_ENCODER}
            {CROSS.text}
{BEFORE_CROSS}            {ATTEND}
            {SELF.text}""",
        looks_like="Your result is that of a layer with cross-attention before masked self-attention.",
        read_again="A position first attends to the target so far, then to the source. See figure 1 of the paper.",
    ),
    SELF.no_norm(),
    CROSS.no_norm(),
    FEED_FORWARD.no_norm(),
    Mistake(
        id="decoder.norms-exchanged",
        module="decoder",
        old=ATTENTIONS,
        new=f"""{ATTEND}
        {SELF.text.replace(SELF.norm, CROSS.norm)}
{BEFORE_CROSS}            {ATTEND_ENCODER}
            {CROSS.text.replace(CROSS.norm, SELF.norm)}""",
        looks_like="Your result is that of a layer with the layer norms of its two attention sub-layers swapped.",
        read_again="Each layer norm has its own weights, trained for its place in the layer. The names of the norms "
        "say where they belong.",
    ),
    Mistake(
        id="decoder.first-norm-for-cross-attention",
        module="decoder",
        old=CROSS.text,
        new=CROSS.text.replace(CROSS.norm, SELF.norm),
        looks_like="Your result is that of a layer that uses the layer norm of self-attention for cross-attention too.",
        read_again="Each of the three sub-layers has its own layer norm. Look for the other norms in the constructor.",
    ),
    Mistake(
        id="decoder.cross-norm-for-feed-forward",
        module="decoder",
        old=FEED_FORWARD.text,
        new=FEED_FORWARD.text.replace(FEED_FORWARD.norm, CROSS.norm),
        looks_like="Your result is that of a layer that uses the layer norm of cross-attention for the feed-forward "
        "network too.",
        read_again="Each of the three sub-layers has its own layer norm. Look for the other norms in the constructor.",
    ),
    Mistake(
        id="decoder.relu-missing",
        module="decoder",
        old=HIDDEN,
        new="hidden = self.fc1(x)",
        looks_like="Your result is that of a layer whose feed-forward network has no ReLU.",
        read_again="Two linear maps with nothing between them are just one linear map. " + SEE_FFN,
    ),
    Mistake(
        id="decoder.softmax-returned",
        module="transformer",
        old=DECODE,
        new=DECODE + "\n        dec_output = torch.softmax(dec_output, dim=-1)",
        looks_like="Your scores are probabilities: you applied a softmax to them.",
        read_again="The softmax does not change which token is most probable, but it changes the scores. See the "
        "Returns section of the docstring.",
    ),
    Mistake(
        id="decoder.log-softmax-returned",
        module="transformer",
        old=DECODE,
        new=DECODE + "\n        dec_output = torch.log_softmax(dec_output, dim=-1)",
        looks_like="Your scores are log-probabilities: you applied a log-softmax to them.",
        read_again="The loss function applies the log-softmax itself. See the Returns section of the docstring.",
    ),
    Mistake(
        id="decoder.target-shifted",
        module="transformer",
        old=DECODE,
        new=DECODE.replace(
            "tgt_embedded,",
            "torch.cat([torch.zeros_like(tgt_embedded[:, :1]), tgt_embedded[:, :-1]], dim=1),",
        ),
        looks_like="Your result is that of a decoder whose target is shifted one position too far.",
        read_again="The target already starts with the start token, so it needs no further shift. See what the "
        "docstring says about position t.",
    ),
    Mistake(
        id="decoder.target-shifted-again",
        module="transformer",
        old=PADDING_MASK,
        new="tgt = torch.cat([torch.full_like(tgt[:, :1], self.sos_idx), tgt[:, :-1]], dim=1)\n"
        "        tgt_embedded = self.dropout(self.positional_encoding(self.decoder_embedding(tgt)))\n        "
        + PADDING_MASK,
        looks_like="Your decoder adds a start token to a target that already has one, and drops the last token.",
        read_again="The target already starts with the start token: the caller has split it into inputs and labels. "
        "See what the docstring says about position t.",
    ),
    Mistake(
        id="decoder.last-position-dropped",
        module="transformer",
        old=DECODE,
        new=DECODE + "\n        dec_output = dec_output[:, :-1]",
        looks_like="Your scores are missing the last position.",
        read_again="The last token of the target has already been removed, so every position has a token to predict. "
        "See the Returns section of the docstring.",
    ),
    Mistake(
        id="decoder.embeddings-scaled",
        module="transformer",
        old=DECODE,
        new=DECODE.replace("tgt_embedded,", "tgt_embedded * tgt_embedded.size(-1) ** 0.5,"),
        looks_like="Your result is that of a decoder whose input is multiplied by sqrt(d_model).",
        read_again="The paper scales the embeddings (section 3.4), but this course does not: see the docstring of "
        "the class. The line above your code already prepares the input.",
    ),
    Mistake(
        id="decoder.pre-norm",
        module="decoder",
        old=f"{ATTENTIONS}\n{BEFORE_FEED_FORWARD}        {HIDDEN_LINE}\n        {FEED_FORWARD.text}",
        new=f"""normed = self.self_attn_layer_norm(x)
        x = x + self.dropout(self.self_attn(normed, normed, normed, self_attn_padding_mask, self_attn_mask))
{BEFORE_CROSS}            normed = self.encoder_attn_layer_norm(x)
            attended = self.encoder_attn(normed, encoder_out, encoder_out, key_padding_mask=encoder_padding_mask)
            x = x + self.dropout(attended)
{BEFORE_FEED_FORWARD}        hidden = self.activation_fn(self.fc1(self.final_layer_norm(x)))
        x = x + self.dropout(self.fc2(hidden))""",
        looks_like="Your result is that of a pre-norm layer: each layer norm comes before its sub-layer.",
        read_again="Many newer models do this, but the 2017 paper puts the layer norm after the sum. " + POST_NORM,
    ),
    SELF.norm_before_residual(),
    CROSS.norm_before_residual(),
    FEED_FORWARD.norm_before_residual(),
    SELF.no_dropout(),
    CROSS.no_dropout(),
    FEED_FORWARD.no_dropout(),
    SELF.dropout_after_norm(),
    CROSS.dropout_after_norm(),
    FEED_FORWARD.dropout_after_norm(),
    SELF.dropout_on_sum(),
    CROSS.dropout_on_sum(),
    FEED_FORWARD.dropout_on_sum(),
    SELF.residual_in_place(),
)

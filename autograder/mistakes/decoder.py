"""Known mistakes of stage 4: the decoder."""

from autograder.mistakes import Mistake
from autograder.mistakes.sublayers import POST_NORM, Sublayer

SELF = Sublayer("decoder", "self-attention", "self_attn_layer_norm", "attended")
CROSS = Sublayer("decoder", "cross-attention", "encoder_attn_layer_norm", "attended")
FEED_FORWARD = Sublayer("decoder", "feed-forward", "final_layer_norm", "self.fc2(hidden)")

# Lines of the reference: the layer.
ATTEND = "attended = self.self_attn(x, x, x, self_attn_padding_mask, self_attn_mask)"
ATTEND_ENCODER = "attended = self.encoder_attn(x, encoder_out, encoder_out, key_padding_mask=encoder_padding_mask)"
HIDDEN = "hidden = self.activation_fn(self.fc1(x))"
BEFORE_CROSS = """        ### END SOLUTION

        # Cross-attention to the encoder's output, dropout, residual connection, layer norm.
        if self.encoder_attn is not None and self.encoder_attn_layer_norm is not None:
            ### BEGIN SOLUTION
"""
ATTENTIONS = f"""{ATTEND}
        {SELF.text}
{BEFORE_CROSS}            {ATTEND_ENCODER}
            {CROSS.text}"""
# Lines of the reference: forward_decoder.
PADDING_MASK = "tgt_padding_mask = length_to_padding_mask(tgt_lengths, device=tgt.device)"
CAUSAL_MASK = "causal_mask = subsequent_mask(tgt.size(1), device=tgt.device).unsqueeze(0)  # (T_d, T_d) -> (1, T_d, T_d)"
DECODE = """dec_output = self.decoder(
            tgt_embedded,
            decoder_padding_mask=tgt_padding_mask,
            decoder_attention_mask=causal_mask,
            encoder_out=enc_output,
            encoder_padding_mask=src_padding_mask,
        )"""

SEE_CAUSAL = "The example in the docstring of subsequent_mask shows the mask; rows are queries, columns are keys."
SEE_CROSS = "Section 3.2.3 of the paper says where the queries, the keys and the values of this attention come from."
SEE_FFN = "See the formula of the feed-forward network in section 3.3 of the paper."

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        id="decoder.causal-mask-ignored",
        module="decoder",
        old=ATTEND,
        new="attended = self.self_attn(x, x, x, self_attn_padding_mask)",
        looks_like="Your result equals a decoder without a causal mask: every position sees the tokens that it shall "
        "predict.",
        read_again="With teacher forcing the whole target is in the input, so only the mask hides the answer. See the "
        "arguments of forward, and section 3.2.3 of the paper.",
    ),
    Mistake(
        id="decoder.causal-mask-not-passed",
        module="transformer",
        old=DECODE,
        new=DECODE.replace("            decoder_attention_mask=causal_mask,\n", ""),
        looks_like="Your result equals a decoder that is given no causal mask: every position sees the tokens that it "
        "shall predict.",
        read_again="With teacher forcing the whole target is in the input, so only the mask hides the answer. Look up "
        "the arguments of the decoder's forward.",
        same_as=("decoder.causal-mask-ignored",),
    ),
    Mistake(
        id="decoder.causal-mask-in-training-only",
        module="transformer",
        old=DECODE,
        new=DECODE.replace("=causal_mask", "=causal_mask if self.training else None"),
        looks_like="Your result equals a decoder without a causal mask as soon as the model is in evaluation mode.",
        read_again="In evaluation too the whole target is in the input, and a position that sees the answer makes "
        "every score meaningless. The mask does not depend on the mode.",
        same_as=("decoder.causal-mask-ignored", "decoder.causal-mask-not-passed"),
    ),
    Mistake(
        id="decoder.source-mask-ignored",
        module="decoder",
        old=ATTEND_ENCODER,
        new="attended = self.encoder_attn(x, encoder_out, encoder_out)",
        looks_like="Your result equals a layer whose cross-attention also looks at the padding of the source.",
        read_again="The encoder's output has vectors at padded positions too, and they mean nothing. See the arguments "
        "of forward for the mask that belongs to them.",
    ),
    Mistake(
        id="decoder.source-mask-not-passed",
        module="transformer",
        old=DECODE,
        new=DECODE.replace("            encoder_padding_mask=src_padding_mask,\n", ""),
        looks_like="Your result equals a decoder that is not told where the source is padding.",
        read_again="The mask that the encoder returned is needed once more, for cross-attention. Look up the arguments "
        "of the decoder's forward.",
        same_as=("decoder.source-mask-ignored",),
    ),
    Mistake(
        id="decoder.cross-attention-to-itself",
        module="decoder",
        old=ATTEND_ENCODER,
        new="attended = self.encoder_attn(x, x, x, key_padding_mask=self_attn_padding_mask)",
        looks_like="Your result equals a layer whose cross-attention looks at the target instead of the source.",
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
        looks_like="The keys and the values of your cross-attention do not fit together: the values come from the "
        "decoder.",
        read_again="Each value belongs to a key, so both come from the same place. " + SEE_CROSS,
    ),
    Mistake(
        id="decoder.queries-from-encoder",
        module="decoder",
        old=ATTEND_ENCODER,
        new="attended = self.encoder_attn(encoder_out, x, x, key_padding_mask=self_attn_padding_mask)",
        looks_like="Your cross-attention gives a vector for each source position instead of each target position: its "
        "queries come from the encoder.",
        read_again="There is one result for each query, and it is added to the decoder's vectors. " + SEE_CROSS,
    ),
    Mistake(
        id="decoder.mask-not-unsqueezed",
        module="transformer",
        old=CAUSAL_MASK,
        new="causal_mask = subsequent_mask(tgt.size(1), device=tgt.device)",
        looks_like="The causal mask has two axes where attention expects three.",
        read_again="An attention mask has a batch axis, of size 1 if all sentences share the mask. See the arguments of "
        "the decoder's forward.",
    ),
    Mistake(
        id="decoder.causal-mask-of-source-length",
        module="transformer",
        old=CAUSAL_MASK,
        new="causal_mask = subsequent_mask(enc_output.size(1), device=tgt.device).unsqueeze(0)",
        looks_like="The causal mask has the size of the source, but it is used in the self-attention of the target.",
        read_again="Queries and keys of masked self-attention are both target positions. " + SEE_CAUSAL,
    ),
    Mistake(
        id="decoder.arguments-in-wrong-order",
        module="transformer",
        old=DECODE,
        new="dec_output = self.decoder(tgt_embedded, enc_output, src_padding_mask, tgt_padding_mask, causal_mask)",
        looks_like="The decoder gets its arguments in the wrong order.",
        read_again="The layer and the stack of layers take theirs in different orders, as the docstring of the stack "
        "warns. Pass them by name.",
    ),
    Mistake(
        id="decoder.causal-mask-sees-next",
        module="transformer",
        old=CAUSAL_MASK,
        new=CAUSAL_MASK.replace(".unsqueeze(0)", ".triu(2).unsqueeze(0)"),
        looks_like="Your result equals a decoder in which each position also sees the next one, which holds the token "
        "that it shall predict.",
        read_again="Your causal mask is off by one: the first position may look at itself only. " + SEE_CAUSAL,
    ),
    Mistake(
        id="decoder.causal-mask-hides-itself",
        module="transformer",
        old=CAUSAL_MASK,
        new="causal_mask = torch.ones_like(subsequent_mask(tgt.size(1), device=tgt.device)).triu(0).unsqueeze(0)",
        looks_like="Your result equals a decoder in which a position does not see itself.",
        read_again="Your causal mask is off by one: the token at a position is known, what shall be predicted is the "
        "one after it. " + SEE_CAUSAL,
    ),
    Mistake(
        id="decoder.causal-mask-transposed",
        module="transformer",
        old=CAUSAL_MASK,
        new=CAUSAL_MASK.replace(".unsqueeze(0)", ".T.unsqueeze(0)"),
        looks_like="Your result equals a decoder in which each position sees itself and the later positions, but not "
        "the earlier ones.",
        read_again="Your causal mask lies on the wrong side of the diagonal. " + SEE_CAUSAL,
    ),
    Mistake(
        id="decoder.causal-mask-inverted",
        module="transformer",
        old=CAUSAL_MASK,
        new="causal_mask = 1 - subsequent_mask(tgt.size(1), device=tgt.device).unsqueeze(0)",
        looks_like="Your result equals a decoder in which each position sees the later positions only.",
        read_again="A non-zero entry forbids, here as in all masks of the course. " + SEE_CAUSAL,
    ),
    # The padding stands behind the sentence, where the causal mask hides it from every real position. It shows in a
    # layer that gets a padding mask and no causal mask.
    Mistake(
        id="decoder.padding-mask-ignored",
        module="decoder",
        old=ATTEND,
        new="attended = self.self_attn(x, x, x, attention_mask=self_attn_mask)",
        looks_like="Your result equals a layer whose self-attention does not use the padding mask of the target.",
        read_again="With a causal mask you cannot see the difference in real positions, but the layer must also work "
        "without one. See the arguments of forward.",
        seen_by="hidden",
    ),
    # Here it shows in padded positions only, or in what arrives at the decoder.
    Mistake(
        id="decoder.padding-mask-not-passed",
        module="transformer",
        old=DECODE,
        new=DECODE.replace("            decoder_padding_mask=tgt_padding_mask,\n", ""),
        looks_like="Your result equals a decoder that is not told where the target is padding.",
        read_again="The causal mask hides the padding from real positions only, so padded positions differ. Look up the "
        "arguments of the decoder's forward.",
        same_as=("decoder.padding-mask-ignored",),
        seen_by="hidden",
    ),
    Mistake(
        id="decoder.padding-mask-inverted",
        module="transformer",
        old=PADDING_MASK,
        new="tgt_padding_mask = 1 - length_to_padding_mask(tgt_lengths, device=tgt.device)",
        looks_like="Your result equals a decoder whose target padding mask marks the real tokens.",
        read_again="The example in the docstring of length_to_padding_mask shows what the numbers mean, and the decoder "
        "reads them in the same way.",
    ),
    Mistake(
        id="decoder.source-mask-for-target",
        module="transformer",
        old=DECODE,
        new=DECODE.replace("decoder_padding_mask=tgt_padding_mask", "decoder_padding_mask=src_padding_mask"),
        looks_like="The padding mask of the source is used for the target, which has another length.",
        read_again="A padding mask speaks about the keys. In self-attention these are target positions, in "
        "cross-attention they are source positions.",
    ),
    Mistake(
        id="decoder.target-mask-for-source",
        module="transformer",
        old=DECODE,
        new=DECODE.replace("encoder_padding_mask=src_padding_mask", "encoder_padding_mask=tgt_padding_mask"),
        looks_like="The padding mask of the target is used for the source, which has another length.",
        read_again="A padding mask speaks about the keys. In self-attention these are target positions, in "
        "cross-attention they are source positions.",
        same_as=("decoder.source-mask-for-target",),
    ),
    Mistake(
        id="decoder.source-mask-in-self-attention",
        module="decoder",
        old=ATTEND,
        new=ATTEND.replace("self_attn_padding_mask", "encoder_padding_mask"),
        looks_like="The self-attention gets the padding mask of the source.",
        read_again="A padding mask speaks about the keys, and the keys of the self-attention are target positions.",
        same_as=("decoder.source-mask-for-target", "decoder.target-mask-for-source"),
    ),
    Mistake(
        id="decoder.target-mask-in-cross-attention",
        module="decoder",
        old=ATTEND_ENCODER,
        new=ATTEND_ENCODER.replace("encoder_padding_mask", "self_attn_padding_mask"),
        looks_like="The cross-attention gets the padding mask of the target.",
        read_again="A padding mask speaks about the keys, and the keys of the cross-attention are source positions.",
    ),
    Mistake(
        id="decoder.causal-mask-in-cross-attention",
        module="decoder",
        old=ATTEND_ENCODER,
        new=ATTEND_ENCODER.replace("=encoder_padding_mask", "=encoder_padding_mask, attention_mask=self_attn_mask"),
        looks_like="The causal mask is used in the cross-attention too, where the keys are source positions.",
        read_again="The whole source is known from the start, so every target position may look at all of it. Section "
        "3.2.3 of the paper says which attention is masked.",
    ),
    Mistake(
        id="decoder.cross-attention-first",
        module="decoder",
        old=ATTENTIONS,
        new=f"""attended = x
        if self.encoder_attn is not None and self.encoder_attn_layer_norm is not None:
            {ATTEND_ENCODER}
            {CROSS.text}
{BEFORE_CROSS}            {ATTEND}
            {SELF.text}""",
        looks_like="Your result equals a layer with the cross-attention in front of the masked self-attention.",
        read_again="A position first collects what the target says up to now, and then asks the source. See figure 1 "
        "of the paper.",
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
        looks_like="Your result equals a layer in which the layer norms of the two attentions have changed places.",
        read_again="Each of them has weights of its own, learnt at its own place. Their names say where they belong.",
    ),
    Mistake(
        id="decoder.first-norm-for-cross-attention",
        module="decoder",
        old=CROSS.text,
        new=CROSS.text.replace(CROSS.norm, SELF.norm),
        looks_like="Your result equals a layer that uses the layer norm of the self-attention for the cross-attention "
        "as well.",
        read_again="Three sub-layers have three layer norms. Look for the other ones in the constructor.",
    ),
    Mistake(
        id="decoder.cross-norm-for-feed-forward",
        module="decoder",
        old=FEED_FORWARD.text,
        new=FEED_FORWARD.text.replace(FEED_FORWARD.norm, CROSS.norm),
        looks_like="Your result equals a layer that uses the layer norm of the cross-attention for the feed-forward "
        "network as well.",
        read_again="Three sub-layers have three layer norms. Look for the other ones in the constructor.",
    ),
    Mistake(
        id="decoder.relu-missing",
        module="decoder",
        old=HIDDEN,
        new="hidden = self.fc1(x)",
        looks_like="Your result equals a layer whose feed-forward network has no ReLU.",
        read_again="Two linear maps without anything between them are one linear map. " + SEE_FFN,
    ),
    Mistake(
        id="decoder.softmax-returned",
        module="transformer",
        old=DECODE,
        new=DECODE + "\n        dec_output = torch.softmax(dec_output, dim=-1)",
        looks_like="Your scores are probabilities: a softmax has been applied to them.",
        read_again="The most probable token stays the same, the scores do not. See under Returns in the docstring.",
    ),
    Mistake(
        id="decoder.log-softmax-returned",
        module="transformer",
        old=DECODE,
        new=DECODE + "\n        dec_output = torch.log_softmax(dec_output, dim=-1)",
        looks_like="Your scores are logarithms of probabilities: a log-softmax has been applied to them.",
        read_again="The loss function does that by itself. See under Returns in the docstring.",
    ),
    Mistake(
        id="decoder.target-shifted",
        module="transformer",
        old=DECODE,
        new=DECODE.replace(
            "tgt_embedded,",
            "torch.cat([torch.zeros_like(tgt_embedded[:, :1]), tgt_embedded[:, :-1]], dim=1),",
        ),
        looks_like="Your result equals a decoder whose target is shifted by one more position.",
        read_again="The target that you get starts with the start token already, so it needs no further shift. See "
        "what the docstring says about position t.",
    ),
    Mistake(
        id="decoder.last-position-dropped",
        module="transformer",
        old=DECODE,
        new=DECODE + "\n        dec_output = dec_output[:, :-1]",
        looks_like="Your scores lack the last position.",
        read_again="The target that you get has lost its last token already, so that each position has one to predict. "
        "See under Returns in the docstring.",
    ),
    Mistake(
        id="decoder.embeddings-scaled",
        module="transformer",
        old=DECODE,
        new=DECODE.replace("tgt_embedded,", "tgt_embedded * tgt_embedded.size(-1) ** 0.5,"),
        looks_like="Your result equals a decoder whose input is multiplied by sqrt(d_model).",
        read_again="The paper scales embeddings in section 3.4, but not this course: the docstring of the class says "
        "how the checkpoint was trained. The input is given to you ready for use.",
    ),
    Mistake(
        id="decoder.pre-norm",
        module="decoder",
        old=SELF.text,
        new="normed = self.self_attn_layer_norm(x)\n"
        "        x = x + self.dropout(self.self_attn(normed, normed, normed, self_attn_padding_mask, self_attn_mask))",
        looks_like="Your result equals a layer whose self-attention is pre-norm: the layer norm stands in front of it.",
        read_again="Many newer models do that, but the paper of 2017 puts the layer norm after the sum. " + POST_NORM,
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

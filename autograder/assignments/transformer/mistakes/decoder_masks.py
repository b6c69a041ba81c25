"""Known mistakes of stage 4: the masks."""

from autograder.diagnosis.mistakes import Mistake

# Lines of the reference.
ATTEND = "attended = self.self_attn(x, x, x, self_attn_padding_mask, self_attn_mask)"
ATTEND_ENCODER = "attended = self.encoder_attn(x, encoder_out, encoder_out, key_padding_mask=encoder_padding_mask)"
PADDING_MASK = "tgt_padding_mask = length_to_padding_mask(tgt_lengths, device=tgt.device)"
CAUSAL_MASK = (
    "causal_mask = subsequent_mask(tgt.size(1), device=tgt.device).unsqueeze(0)  # (T_d, T_d) -> (1, T_d, T_d)"
)
DECODE = """dec_output = self.decoder(
            tgt_embedded,
            decoder_padding_mask=tgt_padding_mask,
            decoder_attention_mask=causal_mask,
            encoder_out=enc_output,
            encoder_padding_mask=src_padding_mask,
        )"""

SEE_CAUSAL = "The example in the docstring of subsequent_mask shows the mask; rows are queries, columns are keys."

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        id="decoder.causal-mask-ignored",
        module="decoder",
        old=ATTEND,
        new="attended = self.self_attn(x, x, x, self_attn_padding_mask)",
        looks_like="Your result equals a decoder without a causal mask: every position sees the tokens that it shall "
        "predict.",
        read_again="With teacher forcing the whole target is in the input, so only the mask hides the answer. Follow "
        "it on its way: it is made for the target, given to the decoder, and used by the self-attention of each layer.",
    ),
    Mistake(
        id="decoder.causal-mask-not-passed",
        module="transformer",
        old=DECODE,
        new=DECODE.replace("            decoder_attention_mask=causal_mask,\n", ""),
        looks_like="Your result equals a decoder without a causal mask: it is given none, or one that does not keep a "
        "position from seeing the tokens that it shall predict.",
        read_again="With teacher forcing the whole target is in the input, so only the mask hides the answer. Look up "
        "the arguments of the decoder's forward.",
    ),
    Mistake(
        id="decoder.causal-mask-in-training-only",
        module="transformer",
        old=DECODE,
        new=DECODE.replace("=causal_mask", "=causal_mask if self.training else None"),
        looks_like="Your result equals a decoder without a causal mask as soon as the model is in evaluation mode.",
        read_again="In evaluation too the whole target is in the input, and a position that sees the answer makes "
        "every score meaningless. The mask does not depend on the mode.",
        same_as=("decoder.causal-mask-not-passed",),
    ),
    Mistake(
        id="decoder.source-mask-ignored",
        module="decoder",
        old=ATTEND_ENCODER,
        new="attended = self.encoder_attn(x, encoder_out, encoder_out)",
        looks_like="Your result equals a layer whose cross-attention also looks at the padding of the source.",
        read_again="The encoder's output has vectors at padded positions too, and they mean nothing. Follow their mask "
        "on its way: the encoder returns it, the decoder gets it, and the cross-attention of each layer uses it.",
    ),
    Mistake(
        id="decoder.source-mask-not-passed",
        module="transformer",
        old=DECODE,
        new=DECODE.replace("            encoder_padding_mask=src_padding_mask,\n", ""),
        looks_like="Your result equals a decoder that is not told where the source is padding.",
        read_again="The mask that the encoder returned is needed once more, for cross-attention. Look up the arguments "
        "of the decoder's forward.",
    ),
    Mistake(
        id="decoder.mask-not-unsqueezed",
        module="transformer",
        old=CAUSAL_MASK,
        new="causal_mask = subsequent_mask(tgt.size(1), device=tgt.device)",
        looks_like="The causal mask has two axes where attention expects three.",
        read_again="An attention mask is (1, T_d, T_d) if all sentences share it, or (B, T_d, T_d). See the arguments "
        "of the decoder's forward.",
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
    Mistake(
        id="decoder.padding-mask-ignored",
        module="decoder",
        old=ATTEND,
        new="attended = self.self_attn(x, x, x, attention_mask=self_attn_mask)",
        looks_like="Your result equals a layer whose self-attention looks at padded keys of the target, too.",
        read_again="With a causal mask you cannot see the difference in real positions, but the layer must also work "
        "without one. See the arguments of forward.",
    ),
    Mistake(
        id="decoder.padding-mask-inverted",
        module="transformer",
        old=PADDING_MASK,
        new="tgt_padding_mask = 1 - length_to_padding_mask(tgt_lengths, device=tgt.device)",
        looks_like="Your result equals a decoder whose target padding mask marks the real tokens.",
        read_again="The example in the docstring of length_to_padding_mask shows what the numbers mean, and the "
        "decoder reads them in the same way.",
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
    ),
    Mistake(
        id="decoder.source-mask-in-self-attention",
        module="decoder",
        old=ATTEND,
        new=ATTEND.replace("self_attn_padding_mask", "encoder_padding_mask"),
        looks_like="The self-attention gets the padding mask of the source.",
        read_again="A padding mask speaks about the keys, and the keys of the self-attention are target positions.",
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
)

"""Known mistakes in stage 4: the masks."""

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
        looks_like="Your result is that of a decoder without a causal mask: every position sees the tokens that it "
        "must predict.",
        read_again="With teacher forcing the whole target is in the input, so only the mask hides the answer. Follow "
        "the mask from where it is created, through the decoder, to the self-attention of each layer.",
    ),
    Mistake(
        id="decoder.causal-mask-not-passed",
        module="transformer",
        old=DECODE,
        new=DECODE.replace("            decoder_attention_mask=causal_mask,\n", ""),
        looks_like="Your result is that of a decoder without a causal mask. It gets no mask, or a mask that lets "
        "positions see the tokens they must predict.",
        read_again="With teacher forcing the whole target is in the input, so only the mask hides the answer. Look "
        "up the arguments of the decoder's forward.",
    ),
    Mistake(
        id="decoder.causal-mask-in-training-only",
        module="transformer",
        old=DECODE,
        new=DECODE.replace("=causal_mask", "=causal_mask if self.training else None"),
        looks_like="In evaluation mode, your result is that of a decoder without a causal mask.",
        read_again="The whole target is in the input in evaluation mode too. The scores at a position that sees the "
        "answer are meaningless. The mask does not depend on the mode.",
        same_as=("decoder.causal-mask-not-passed",),
    ),
    Mistake(
        id="decoder.source-mask-ignored",
        module="decoder",
        old=ATTEND_ENCODER,
        new="attended = self.encoder_attn(x, encoder_out, encoder_out)",
        looks_like="Your result is that of a layer whose cross-attention also attends to the padding of the source.",
        read_again="The encoder also outputs vectors at padded positions, but they mean nothing. Follow the mask: "
        "the encoder returns it, the decoder receives it, and the cross-attention of each layer uses it.",
    ),
    Mistake(
        id="decoder.source-mask-not-passed",
        module="transformer",
        old=DECODE,
        new=DECODE.replace("            encoder_padding_mask=src_padding_mask,\n", ""),
        looks_like="Your result is that of a decoder that does not know where the source is padded.",
        read_again="Cross-attention needs the mask that the encoder returned. Look up the arguments of the decoder's "
        "forward.",
    ),
    Mistake(
        id="decoder.mask-not-unsqueezed",
        module="transformer",
        old=CAUSAL_MASK,
        new="causal_mask = subsequent_mask(tgt.size(1), device=tgt.device)",
        looks_like="The causal mask has two axes, but attention expects three.",
        read_again="An attention mask has shape (1, T_d, T_d) if all sentences share it, otherwise (B, T_d, T_d). See "
        "the arguments of the decoder's forward.",
    ),
    Mistake(
        id="decoder.causal-mask-of-source-length",
        module="transformer",
        old=CAUSAL_MASK,
        new="causal_mask = subsequent_mask(enc_output.size(1), device=tgt.device).unsqueeze(0)",
        looks_like="The causal mask has the length of the source, but it is used in the self-attention of the target.",
        read_again="The queries and the keys of masked self-attention are both target positions. " + SEE_CAUSAL,
    ),
    Mistake(
        id="decoder.causal-mask-sees-next",
        module="transformer",
        old=CAUSAL_MASK,
        new=CAUSAL_MASK.replace(".unsqueeze(0)", ".triu(2).unsqueeze(0)"),
        looks_like="Your result is that of a decoder in which each position also sees the next position, which holds "
        "the token that it must predict.",
        read_again="Your causal mask is off by one: the first position may only attend to itself. " + SEE_CAUSAL,
    ),
    Mistake(
        id="decoder.causal-mask-hides-itself",
        module="transformer",
        old=CAUSAL_MASK,
        new="causal_mask = torch.ones_like(subsequent_mask(tgt.size(1), device=tgt.device)).triu(0).unsqueeze(0)",
        looks_like="Your result is that of a decoder in which a position does not see itself.",
        read_again="Your causal mask is off by one: each position knows its own token and predicts the next one. "
        + SEE_CAUSAL,
    ),
    Mistake(
        id="decoder.causal-mask-transposed",
        module="transformer",
        old=CAUSAL_MASK,
        new=CAUSAL_MASK.replace(".unsqueeze(0)", ".T.unsqueeze(0)"),
        looks_like="Your result is that of a decoder in which each position sees itself and the later positions, but "
        "not the earlier ones.",
        read_again="Your causal mask is on the wrong side of the diagonal. " + SEE_CAUSAL,
    ),
    Mistake(
        id="decoder.causal-mask-inverted",
        module="transformer",
        old=CAUSAL_MASK,
        new="causal_mask = 1 - subsequent_mask(tgt.size(1), device=tgt.device).unsqueeze(0)",
        looks_like="Your result is that of a decoder in which each position sees only the later positions.",
        read_again="A non-zero entry forbids a key, as in all masks in this course. " + SEE_CAUSAL,
    ),
    Mistake(
        id="decoder.padding-mask-ignored",
        module="decoder",
        old=ATTEND,
        new="attended = self.self_attn(x, x, x, attention_mask=self_attn_mask)",
        looks_like="Your result is that of a layer whose self-attention also attends to padded target positions.",
        read_again="With a causal mask, the difference does not show at real positions, but the layer must also work "
        "without that mask. See the arguments of forward.",
    ),
    Mistake(
        id="decoder.padding-mask-inverted",
        module="transformer",
        old=PADDING_MASK,
        new="tgt_padding_mask = 1 - length_to_padding_mask(tgt_lengths, device=tgt.device)",
        looks_like="Your result is that of a decoder whose target padding mask marks the real tokens.",
        read_again="The example in the docstring of length_to_padding_mask shows what the numbers mean. The decoder "
        "reads them the same way.",
    ),
    Mistake(
        id="decoder.source-mask-for-target",
        module="transformer",
        old=DECODE,
        new=DECODE.replace("decoder_padding_mask=tgt_padding_mask", "decoder_padding_mask=src_padding_mask"),
        looks_like="You use the padding mask of the source for the target, which has a different length.",
        read_again="A padding mask marks keys. In self-attention the keys are target positions; in cross-attention "
        "they are source positions.",
    ),
    Mistake(
        id="decoder.target-mask-for-source",
        module="transformer",
        old=DECODE,
        new=DECODE.replace("encoder_padding_mask=src_padding_mask", "encoder_padding_mask=tgt_padding_mask"),
        looks_like="You use the padding mask of the target for the source, which has a different length.",
        read_again="A padding mask marks keys. In self-attention the keys are target positions; in cross-attention "
        "they are source positions.",
    ),
    Mistake(
        id="decoder.source-mask-in-self-attention",
        module="decoder",
        old=ATTEND,
        new=ATTEND.replace("self_attn_padding_mask", "encoder_padding_mask"),
        looks_like="Your self-attention uses the padding mask of the source.",
        read_again="A padding mask marks keys, and the keys of self-attention are target positions.",
        same_as=("decoder.padding-mask-ignored",),
    ),
    Mistake(
        id="decoder.target-mask-in-cross-attention",
        module="decoder",
        old=ATTEND_ENCODER,
        new=ATTEND_ENCODER.replace("encoder_padding_mask", "self_attn_padding_mask"),
        looks_like="Your cross-attention uses the padding mask of the target.",
        read_again="A padding mask marks keys, and the keys of cross-attention are source positions.",
    ),
    Mistake(
        id="decoder.causal-mask-in-cross-attention",
        module="decoder",
        old=ATTEND_ENCODER,
        new=ATTEND_ENCODER.replace("=encoder_padding_mask", "=encoder_padding_mask, attention_mask=self_attn_mask"),
        looks_like="You also use the causal mask in cross-attention, where the keys are source positions.",
        read_again="The whole source is known from the start, so every target position may attend to all of it. "
        "Section 3.2.3 of the paper says which attention is masked.",
    ),
)

"""Known mistakes of stage 3: teacher forcing, and the whole model."""

from autograder.assignments.attention.mistakes import step
from autograder.diagnosis.mistakes import Mistake

# Lines of the reference.
LOOP = "for token in tgt.unbind(dim=1):  # T_d times (B,)"
CALL = "logits, state, weights = self.step(token, state, enc_outputs, src_lengths)\n            steps.append"
STACKED = "return torch.stack(all_logits, dim=1), torch.stack(all_weights, dim=1)"
ENCODED = "enc_outputs, state = self.encoder(src, src_lengths)\n        logits, _ = "
DECODED = "logits, _ = self.decoder(tgt, state, enc_outputs, src_lengths)"
PADDING = "padding = positions >= tgt_lengths[:, None]  # (T_d,) and (B, 1) -> (B, T_d)"
MASKED = "return logits.masked_fill(padding[:, :, None], 0.0)"

FORCING = "The docstring says which token a step reads. Write down the steps for a target of three tokens."
AXES = "See under Returns in the docstring for the axes of both results, and which of them a new step adds to."
BEYOND = "The docstring says where the scores shall be 0."

MISTAKES: tuple[Mistake, ...] = (
    *step.MISTAKES,
    Mistake(
        id="bahdanau.reads-own-predictions",
        module="seq2seq",
        old=LOOP,
        new="token = tgt[:, 0]\n        for t in range(tgt.size(1)):\n"
        "            token = logits.argmax(dim=-1) if t else token",
        looks_like="From the second step on, your decoder reads its own predictions instead of the target.",
        read_again="That is how it translates later. In training it reads what it should have said. " + FORCING,
    ),
    Mistake(
        id="bahdanau.state-not-carried-on",
        module="seq2seq",
        old=CALL,
        new=CALL.replace("logits, state, weights", "logits, _, weights"),
        looks_like="Every step of yours starts from the first state.",
        read_again="The state is the memory of the decoder: each step goes on from the one before it.",
    ),
    Mistake(
        id="bahdanau.first-token-in-all-steps",
        module="seq2seq",
        old=CALL,
        new=CALL.replace("step(token", "step(tgt[:, 0]"),
        looks_like="Every step of yours reads the first token.",
        read_again=FORCING,
    ),
    Mistake(
        id="bahdanau.one-token-late",
        module="seq2seq",
        old=LOOP,
        new="for token in torch.cat([tgt[:, :1], tgt[:, :-1]], dim=1).unbind(dim=1):",
        looks_like="From the second step on, your decoder reads the token before the right one.",
        read_again="The target is shifted already: it begins with the start token. " + FORCING,
    ),
    Mistake(
        id="bahdanau.one-token-early",
        module="seq2seq",
        old=LOOP,
        new="for token in torch.cat([tgt[:, 1:], tgt[:, -1:]], dim=1).unbind(dim=1):",
        looks_like="Your decoder reads the token that it has to predict.",
        read_again="Position t reads the token at t and predicts the one behind it. " + FORCING,
    ),
    Mistake(
        id="bahdanau.backwards",
        module="seq2seq",
        old=LOOP,
        new="for token in tgt.flip(1).unbind(dim=1):",
        looks_like="Your decoder reads the target from its end.",
        read_again=FORCING,
    ),
    Mistake(
        id="bahdanau.steps-over-the-batch",
        module="seq2seq",
        old=LOOP,
        new="for token in tgt:",
        looks_like="Your steps run over the sentences of the batch instead of their positions.",
        read_again="A loop over a tensor runs along its first axis, which is the batch. " + FORCING,
    ),
    Mistake(
        id="bahdanau.stacked-in-front",
        module="seq2seq",
        old=STACKED,
        new=STACKED.replace("dim=1", "dim=0"),
        looks_like="In your logits the axis of the steps stands in front of the batch.",
        read_again=AXES,
    ),
    Mistake(
        id="bahdanau.reshaped-instead-of-transposed",
        module="seq2seq",
        old=STACKED,
        new="return tuple(torch.stack(each).reshape(*tgt.shape, -1) for each in (all_logits, all_weights))",
        looks_like="Your logits have the right shape, but steps and sentences are mixed, as by a view or a reshape.",
        read_again="A view or a reshape keeps the order of the numbers in memory. " + AXES,
    ),
    Mistake(
        id="bahdanau.last-step-only",
        module="seq2seq",
        old=STACKED,
        new="return all_logits[-1], all_weights[-1]",
        looks_like="Your decoder returns the logits of its last step only.",
        read_again="Every position is trained, so every step counts. " + AXES,
    ),
    Mistake(
        id="bahdanau.weights-not-returned",
        module="seq2seq",
        old=STACKED,
        new="return torch.stack(all_logits, dim=1)",
        looks_like="Your decoder returns the logits only.",
        read_again="The heatmaps need the weights. " + AXES,
    ),
    Mistake(
        id="bahdanau.weights-of-the-last-step",
        module="seq2seq",
        old=STACKED,
        new="return torch.stack(all_logits, dim=1), torch.stack([weights for _ in steps], dim=1)",
        looks_like="Your weights are those of the last step, in every step.",
        read_again="Attention keeps the weights of its last call only, so each step's have to be collected. " + AXES,
    ),
    Mistake(
        id="bahdanau.padding-kept",
        module="seq2seq",
        old=MASKED,
        new="return logits",
        looks_like="Your model gives scores for the padding of the target too.",
        read_again=BEYOND,
    ),
    Mistake(
        id="bahdanau.padding-inverted",
        module="seq2seq",
        old=PADDING,
        new=PADDING.replace(">=", "<"),
        looks_like="Your scores are 0 inside the target, as if the mask of its padding were read the other way round.",
        read_again=BEYOND,
    ),
    Mistake(
        id="bahdanau.padding-one-late",
        module="seq2seq",
        old=PADDING,
        new=PADDING.replace(">=", ">"),
        looks_like="Your model gives scores for one position of padding.",
        read_again="Positions are counted from 0. " + BEYOND,
    ),
    Mistake(
        id="bahdanau.padding-by-source-lengths",
        module="seq2seq",
        old=PADDING,
        new=PADDING.replace("tgt_lengths", "src_lengths"),
        looks_like="Your scores are 0 from the lengths of the source on, instead of those of the target.",
        read_again="Both sides have lengths of their own. " + BEYOND,
    ),
    Mistake(
        id="bahdanau.padding-by-token",
        module="seq2seq",
        old=PADDING,
        new="padding = tgt == self.pad_idx",
        looks_like="Your scores are 0 where the padding token stands, even inside a sentence.",
        read_again="What stands behind the end of a sentence may be anything; the lengths alone say where it is.",
    ),
    Mistake(
        id="bahdanau.lengths-exchanged",
        module="seq2seq",
        old=DECODED,
        new=DECODED.replace("src_lengths", "tgt_lengths"),
        looks_like="Your decoder gets the lengths of the target for those of the source.",
        read_again="Attention looks at the source, so it needs to know where each source ends.",
    ),
    Mistake(
        id="bahdanau.starts-from-zeros",
        module="seq2seq",
        old=DECODED,
        new=DECODED.replace("tgt, state", "tgt, 0 * state"),
        looks_like="Your decoder starts from a state of zeros.",
        read_again="The encoder returns two things; the second is the first state of the decoder.",
    ),
    Mistake(
        id="bahdanau.probabilities",
        module="seq2seq",
        old=MASKED,
        new=MASKED.replace("logits.", "logits.softmax(dim=-1)."),
        looks_like="Your model returns probabilities instead of scores.",
        read_again="The loss takes the softmax itself. See under Returns in the docstring.",
    ),
    Mistake(
        id="bahdanau.weights-returned-too",
        module="seq2seq",
        old=MASKED,
        new=MASKED.replace(", 0.0)", ", 0.0), _"),
        looks_like="Your model returns more than the scores, as with the weights of attention.",
        read_again="The whole model returns the scores alone, as the Transformer does. See under Returns.",
    ),
    # The visible tests only warn of it.
    Mistake(
        id="bahdanau.encoder-detached",
        module="seq2seq",
        old=ENCODED,
        new=ENCODED.replace("\n", "\n        enc_outputs = enc_outputs.detach()\n", 1),
        looks_like="Your scores are right, but no gradient reaches the encoder through attention.",
        read_again="Somewhere the computation leaves the graph of autograd: by detaching, or by the attribute data.",
        seen_by="hidden",
    ),
)

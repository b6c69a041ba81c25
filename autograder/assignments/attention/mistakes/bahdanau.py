"""Known mistakes in stage 3: teacher forcing, and the whole model."""

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

FORCING = "The docstring says which token each step reads. Write down the steps for a target of three tokens."
AXES = "The docstring lists the axes of both results under Returns. Which axis has one entry per step?"
BEYOND = "The docstring says where the scores must be 0."

MISTAKES: tuple[Mistake, ...] = (
    *step.MISTAKES,
    Mistake(
        id="bahdanau.reads-own-predictions",
        module="seq2seq",
        old=LOOP,
        new="token = tgt[:, 0]\n        for t in range(tgt.size(1)):\n"
        "            token = logits.argmax(dim=-1) if t else token",
        looks_like="From the second step on, your decoder reads its own predictions instead of the target.",
        read_again="The decoder does that later, when it translates. During training, it reads the correct tokens. "
        + FORCING,
    ),
    Mistake(
        id="bahdanau.state-not-carried-on",
        module="seq2seq",
        old=CALL,
        new=CALL.replace("logits, state, weights", "logits, _, weights"),
        looks_like="Every step of your decoder starts from the initial state.",
        read_again="The state is the decoder's memory: each step continues from the state of the previous step.",
    ),
    Mistake(
        id="bahdanau.first-token-in-all-steps",
        module="seq2seq",
        old=CALL,
        new=CALL.replace("step(token", "step(tgt[:, 0]"),
        looks_like="Every step of your decoder reads the first token.",
        read_again=FORCING,
    ),
    Mistake(
        id="bahdanau.one-token-late",
        module="seq2seq",
        old=LOOP,
        new="for token in torch.cat([tgt[:, :1], tgt[:, :-1]], dim=1).unbind(dim=1):",
        looks_like="From the second step on, your decoder lags one token behind the target.",
        read_again="The target is already shifted: it begins with the start token. " + FORCING,
    ),
    Mistake(
        id="bahdanau.one-token-early",
        module="seq2seq",
        old=LOOP,
        new="for token in torch.cat([tgt[:, 1:], tgt[:, -1:]], dim=1).unbind(dim=1):",
        looks_like="Your decoder reads the token that it has to predict.",
        read_again="Position t reads the token at t and predicts the token at t + 1. " + FORCING,
    ),
    Mistake(
        id="bahdanau.backwards",
        module="seq2seq",
        old=LOOP,
        new="for token in tgt.flip(1).unbind(dim=1):",
        looks_like="Your decoder reads the target backwards.",
        read_again=FORCING,
    ),
    Mistake(
        id="bahdanau.steps-over-the-batch",
        module="seq2seq",
        old=LOOP,
        new="for token in tgt:",
        looks_like="Your steps run over the sentences of the batch instead of over their positions.",
        read_again="A loop over a tensor runs along its first axis, which is the batch here. " + FORCING,
    ),
    Mistake(
        id="bahdanau.stacked-in-front",
        module="seq2seq",
        old=STACKED,
        new=STACKED.replace("dim=1", "dim=0"),
        looks_like="In your logits, the step axis comes before the batch axis.",
        read_again=AXES,
    ),
    Mistake(
        id="bahdanau.reshaped-instead-of-transposed",
        module="seq2seq",
        old=STACKED,
        new="return tuple(torch.stack(each).reshape(*tgt.shape, -1) for each in (all_logits, all_weights))",
        looks_like="Your logits have the right shape, but steps and sentences are mixed up, as if by a view or a "
        "reshape.",
        read_again="A view or a reshape keeps the order of the numbers in memory. " + AXES,
    ),
    Mistake(
        id="bahdanau.last-step-only",
        module="seq2seq",
        old=STACKED,
        new="return all_logits[-1], all_weights[-1]",
        looks_like="Your decoder returns only the logits of its last step.",
        read_again="Training needs the logits of every position. " + AXES,
    ),
    Mistake(
        id="bahdanau.weights-not-returned",
        module="seq2seq",
        old=STACKED,
        new="return torch.stack(all_logits, dim=1)",
        looks_like="Your decoder returns only the logits.",
        read_again="The heatmaps need the weights. " + AXES,
    ),
    Mistake(
        id="bahdanau.weights-of-the-last-step",
        module="seq2seq",
        old=STACKED,
        new="return torch.stack(all_logits, dim=1), torch.stack([weights for _ in steps], dim=1)",
        looks_like="Your weights are those of the last step, repeated for every step.",
        read_again="Attention stores only the weights of its last call, so you have to collect them at each step. "
        + AXES,
    ),
    Mistake(
        id="bahdanau.padding-kept",
        module="seq2seq",
        old=MASKED,
        new="return logits",
        looks_like="Your model also returns scores for the padding of the target.",
        read_again=BEYOND,
    ),
    Mistake(
        id="bahdanau.padding-inverted",
        module="seq2seq",
        old=PADDING,
        new=PADDING.replace(">=", "<"),
        looks_like="Your scores are 0 inside the target, as if its padding mask were inverted.",
        read_again=BEYOND,
    ),
    Mistake(
        id="bahdanau.padding-one-late",
        module="seq2seq",
        old=PADDING,
        new=PADDING.replace(">=", ">"),
        looks_like="Your model still returns scores for the first padding position.",
        read_again="Positions are counted from 0. " + BEYOND,
    ),
    Mistake(
        id="bahdanau.padding-by-source-lengths",
        module="seq2seq",
        old=PADDING,
        new=PADDING.replace("tgt_lengths", "src_lengths"),
        looks_like="Your scores become 0 where the source ends instead of where the target ends.",
        read_again="The source and the target have separate lengths. " + BEYOND,
    ),
    Mistake(
        id="bahdanau.padding-by-token",
        module="seq2seq",
        old=PADDING,
        new="padding = tgt == self.pad_idx",
        looks_like="Your scores are 0 wherever the padding token occurs, even inside a sentence.",
        read_again="Any token may follow the end of a sentence; only the lengths say where the end is.",
    ),
    Mistake(
        id="bahdanau.lengths-exchanged",
        module="seq2seq",
        old=DECODED,
        new=DECODED.replace("src_lengths", "tgt_lengths"),
        looks_like="Your decoder receives the lengths of the target instead of the lengths of the source.",
        read_again="Attention looks at the source, so it needs to know where each source sentence ends.",
    ),
    Mistake(
        id="bahdanau.starts-from-zeros",
        module="seq2seq",
        old=DECODED,
        new=DECODED.replace("tgt, state", "tgt, 0 * state"),
        looks_like="Your decoder starts from a state of zeros.",
        read_again="The encoder returns two results; the second is the initial state of the decoder.",
    ),
    Mistake(
        id="bahdanau.probabilities",
        module="seq2seq",
        old=MASKED,
        new=MASKED.replace("logits.", "logits.softmax(dim=-1)."),
        looks_like="Your model returns probabilities instead of scores.",
        read_again="The loss applies the softmax itself. See the Returns section of the docstring.",
    ),
    Mistake(
        id="bahdanau.weights-returned-too",
        module="seq2seq",
        old=MASKED,
        new=MASKED.replace(", 0.0)", ", 0.0), _"),
        looks_like="Your model returns more than the scores, for example the attention weights.",
        read_again="The whole model returns only the scores, as the Transformer does. See the Returns section.",
    ),
    # The visible tests only warn of this.
    Mistake(
        id="bahdanau.encoder-detached",
        module="seq2seq",
        old=ENCODED,
        new=ENCODED.replace("\n", "\n        enc_outputs = enc_outputs.detach()\n", 1),
        looks_like="Your scores are right, but no gradient reaches the encoder through attention.",
        read_again="Somewhere the computation leaves the autograd graph: through detach or the data attribute.",
        seen_by="hidden",
    ),
)

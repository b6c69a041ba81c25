"""Known mistakes of stage 5: the loop of greedy decoding."""

from autograder.diagnosis.mistakes import Mistake

# Lines of the reference.
START = "tgt = torch.full((1, 1), self.sos_idx, dtype=torch.long, device=src.device)"
APPEND = "tgt = torch.cat([tgt, next_token], dim=1)"
STOP = "if next_token.item() == self.eos_idx:"

SEE_LOOP = "Follow the pseudo-code in the docstring of inference with a pencil, for a translation of two words."

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        id="inference.eos-ignored",
        module="transformer",
        old=f"{STOP}\n                    break",
        new="pass",
        looks_like="Your translations go on after the end token, up to the largest length.",
        read_again="Something must leave the loop as soon as the new token is the end token. " + SEE_LOOP,
    ),
    Mistake(
        id="inference.stops-at-sos",
        module="transformer",
        old=STOP,
        new=STOP.replace("eos", "sos"),
        looks_like="Your translations go on after the end token, as if the loop waited for the start token.",
        read_again="A sentence starts with sos and ends with eos. " + SEE_LOOP,
        same_as=("inference.eos-ignored",),
    ),
    Mistake(
        id="inference.stop-looks-at-first-token",
        module="transformer",
        old=STOP,
        new="if tgt[0, 0].item() == self.eos_idx:",
        looks_like="Your translations go on after the end token, as if the loop looked at the first token only.",
        read_again="New tokens are at the end. " + SEE_LOOP,
        same_as=("inference.eos-ignored", "inference.stops-at-sos"),
    ),
    Mistake(
        id="inference.eos-not-appended",
        module="transformer",
        old=APPEND,
        new=f"{STOP}\n                    break\n                {APPEND}",
        looks_like="Your translations lack the end token that the model produces.",
        read_again="The end token is part of the translation, if the model produced it: it is appended before the loop "
        "ends. See under Returns in the docstring.",
    ),
    Mistake(
        id="inference.starts-with-eos",
        module="transformer",
        old=START,
        new=START.replace("sos", "eos"),
        looks_like="Your translations start with the end token.",
        read_again="The decoder was trained on targets that start with sos. " + SEE_LOOP,
    ),
    Mistake(
        id="inference.start-once",
        module="transformer",
        old=START,
        new=f"{START} if not decoded_list else decoded_list[-1].unsqueeze(0)",
        looks_like="Only your first translation starts with the start token; each of the others goes on behind the one "
        "before.",
        read_again="Sentences have nothing to do with each other: what is made for one begins anew for the next. "
        + SEE_LOOP,
    ),
    Mistake(
        id="inference.starts-with-zero",
        module="transformer",
        old=START,
        new="tgt = torch.zeros((1, 1), dtype=torch.long, device=src.device)",
        looks_like="Your translations start with the token of index 0.",
        read_again="The decoder was trained on targets that start with sos; the model knows its index. " + SEE_LOOP,
    ),
    Mistake(
        id="inference.starts-empty",
        module="transformer",
        old=START,
        new="tgt = torch.zeros((1, 0), dtype=torch.long, device=src.device)",
        looks_like="Your translations start without a token, so there is no position to predict the first word from.",
        read_again="The decoder was trained on targets that start with sos. " + SEE_LOOP,
    ),
    Mistake(
        id="inference.prediction-replaces",
        module="transformer",
        old=APPEND,
        new="tgt = next_token",
        looks_like="Your translations consist of the newest token only: it replaces the tokens before it.",
        read_again="The decoder needs all tokens so far, and they are the result in the end. " + SEE_LOOP,
    ),
    Mistake(
        id="inference.prediction-dropped",
        module="transformer",
        old=APPEND,
        new="torch.cat([tgt, next_token], dim=1)",  # the result is thrown away
        looks_like="Your translations never grow: the new token is not kept.",
        read_again="Functions of torch return a new tensor and leave their inputs as they are. " + SEE_LOOP,
    ),
    Mistake(
        id="inference.prediction-prepended",
        module="transformer",
        old=APPEND,
        new="tgt = torch.cat([next_token, tgt], dim=1)",
        looks_like="Your translations run backwards: each new token is put in front of the others.",
        read_again="Text grows at its end, and the decoder predicts from the last position. " + SEE_LOOP,
    ),
    Mistake(
        id="inference.prediction-on-batch-axis",
        module="transformer",
        old=APPEND,
        new="tgt = torch.cat([tgt, next_token], dim=0)",
        looks_like="Your tokens are lined up on the axis of the batch instead of the positions.",
        read_again="The comment in the loop gives the shape of tgt, with the axis that grows.",
    ),
)

"""Known mistakes in stage 5: the greedy decoding loop."""

from autograder.diagnosis.mistakes import Mistake

# Lines of the reference.
START = "tgt = torch.full((1, 1), self.sos_idx, dtype=torch.long, device=src.device)"
APPEND = "tgt = torch.cat([tgt, next_token], dim=1)"
STOP = "if next_token.item() == self.eos_idx:"

SEE_LOOP = "On paper, follow the pseudocode in the docstring of inference for a translation of two words."

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        id="inference.eos-ignored",
        module="transformer",
        old=f"{STOP}\n                    break",
        new="pass",
        looks_like="Your translations continue after the end token, up to the maximum length.",
        read_again="The loop must end as soon as the new token is the end token. " + SEE_LOOP,
    ),
    Mistake(
        id="inference.stops-at-sos",
        module="transformer",
        old=STOP,
        new=STOP.replace("eos", "sos"),
        looks_like="Your translations continue after the end token, as if the loop waited for the start token.",
        read_again="A sentence starts with sos and ends with eos. " + SEE_LOOP,
        same_as=("inference.eos-ignored",),
    ),
    Mistake(
        id="inference.stop-looks-at-first-token",
        module="transformer",
        old=STOP,
        new="if tgt[0, 0].item() == self.eos_idx:",
        looks_like="Your translations continue after the end token, as if the loop checked only the first token.",
        read_again="New tokens are added at the end. " + SEE_LOOP,
        same_as=("inference.eos-ignored", "inference.stops-at-sos"),
    ),
    Mistake(
        id="inference.eos-not-appended",
        module="transformer",
        old=APPEND,
        new=f"{STOP}\n                    break\n                {APPEND}",
        looks_like="Your translations lack the end token that the model produces.",
        read_again="If the model produces the end token, it is part of the translation: append it before the loop "
        "ends. See the Returns section of the docstring.",
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
        looks_like="Only your first translation begins with the start token; each of the others continues the "
        "previous translation.",
        read_again="Sentences are independent of each other: start anew for each sentence. " + SEE_LOOP,
    ),
    Mistake(
        id="inference.starts-with-zero",
        module="transformer",
        old=START,
        new="tgt = torch.zeros((1, 1), dtype=torch.long, device=src.device)",
        looks_like="Your translations start with token 0.",
        read_again="The decoder was trained on targets that start with sos; the model knows its index. " + SEE_LOOP,
    ),
    Mistake(
        id="inference.starts-empty",
        module="transformer",
        old=START,
        new="tgt = torch.zeros((1, 0), dtype=torch.long, device=src.device)",
        looks_like="Your translations start without a token, so no position can predict the first word.",
        read_again="The decoder was trained on targets that start with sos. " + SEE_LOOP,
    ),
    Mistake(
        id="inference.prediction-replaces",
        module="transformer",
        old=APPEND,
        new="tgt = next_token",
        looks_like="Your translations consist of only the newest token: it replaces the tokens before it.",
        read_again="The decoder needs all tokens so far, and at the end they are the result. " + SEE_LOOP,
    ),
    Mistake(
        id="inference.prediction-dropped",
        module="transformer",
        old=APPEND,
        new="torch.cat([tgt, next_token], dim=1)",  # the result is thrown away
        looks_like="Your translations never grow: the new token is not stored.",
        read_again="PyTorch functions return a new tensor and leave their inputs unchanged. " + SEE_LOOP,
    ),
    Mistake(
        id="inference.prediction-prepended",
        module="transformer",
        old=APPEND,
        new="tgt = torch.cat([next_token, tgt], dim=1)",
        looks_like="Your translations run backwards: each new token is put before the others.",
        read_again="Text grows at its end, and the decoder predicts from the last position. " + SEE_LOOP,
    ),
    Mistake(
        id="inference.prediction-on-batch-axis",
        module="transformer",
        old=APPEND,
        new="tgt = torch.cat([tgt, next_token], dim=0)",
        looks_like="Your tokens are concatenated along the batch axis instead of the position axis.",
        read_again="The comment in the loop gives the shape of tgt, including the axis that grows.",
    ),
)

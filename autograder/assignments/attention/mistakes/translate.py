"""Known mistakes in stage 4: greedy decoding of a batch."""

from autograder.assignments.attention.mistakes import bleu
from autograder.diagnosis.mistakes import Mistake

# Lines of the reference.
START = "token = torch.full_like(src[:, 0], self.sos_idx)  # (B,)"
WHILE = "while len(tokens) <= max_output_length and not finished.all():"
STEP = "logits, state, _ = self.decoder.step(token, state, enc_outputs, src_lengths)\n            token = logits"
BEST = "token = logits.argmax(dim=-1).masked_fill(finished, self.pad_idx)"
FINISHED = "finished = finished | (token == self.eos_idx)"
STACKED = "return torch.stack(tokens, dim=1)  # T times (B,) -> (B, T)"

SEE_LOOP = "On paper, follow the pseudocode in the docstring for two sentences, one of which ends earlier."
BEHIND = "The docstring says which tokens follow the end of a sentence."

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        id="translate.goes-on-after-the-end",
        module="seq2seq",
        old=BEST,
        new="token = logits.argmax(dim=-1)",
        looks_like="Your finished sentences continue after their end token.",
        read_again="The loop runs until the last sentence ends; meanwhile the others must be padded. " + BEHIND,
    ),
    Mistake(
        id="translate.start-never-again",
        module="seq2seq",
        old=BEST,
        new=f"logits[:, [self.sos_idx, self.pad_idx]] = -torch.inf\n            {BEST}",
        looks_like="Your translation never contains the start token a second time, though the model may choose it.",
        read_again="The next token is the one with the highest score, whichever it is.",
        seen_by="hidden",
    ),
    Mistake(
        id="translate.padding-ends",
        module="seq2seq",
        old=FINISHED,
        new=f"{FINISHED} | (token == self.pad_idx)",
        looks_like="Your sentences also end at a padding token, which the model may choose like any other token.",
        read_again="The docstring says which token ends a sentence.",
        seen_by="hidden",
    ),
    Mistake(
        id="translate.eos-ignored",
        module="seq2seq",
        old=FINISHED,
        new="pass",
        looks_like="Your translations continue after the end token, up to the maximum length.",
        read_again="The end token must end a sentence. " + SEE_LOOP,
    ),
    Mistake(
        id="translate.end-forgotten",
        module="seq2seq",
        old=FINISHED,
        new=FINISHED.replace("finished | ", ""),
        looks_like="Your finished sentences continue after one padding token, as if they had never ended.",
        read_again="A padding token is not an end token, but a finished sentence must stay finished. " + SEE_LOOP,
    ),
    Mistake(
        id="translate.ends-at-sos",
        module="seq2seq",
        old=FINISHED,
        new=FINISHED.replace("eos", "sos"),
        looks_like="Your translations continue after the end token, as if the loop waited for the start token.",
        read_again="A sentence starts with sos and ends with eos. " + SEE_LOOP,
        same_as=("translate.eos-ignored",),
    ),
    Mistake(
        id="translate.ends-with-the-first",
        module="seq2seq",
        old=WHILE,
        new=WHILE.replace("finished.all()", "finished.any()"),
        looks_like="All your translations end when the first of them ends.",
        read_again="Sentences have different lengths; the loop ends when all of them are finished. " + SEE_LOOP,
    ),
    Mistake(
        id="translate.columns-of-padding",
        module="seq2seq",
        old=WHILE,
        new="while len(tokens) <= max_output_length:",
        looks_like="After the end of your longest translation there are columns that contain only padding.",
        read_again="The docstring says how many columns the result has, and when the loop ends.",
    ),
    Mistake(
        id="translate.one-token-short",
        module="seq2seq",
        old=WHILE,
        new=WHILE.replace("<=", "<"),
        looks_like="Your translations have one token fewer than the limit allows.",
        read_again="The limit counts predicted tokens; the start token is not one of them.",
    ),
    Mistake(
        id="translate.one-token-long",
        module="seq2seq",
        old=WHILE,
        new=WHILE.replace("<= max_output_length", "<= max_output_length + 1"),
        looks_like="Your translations may have one more token than the limit allows.",
        read_again="The limit counts predicted tokens; the start token is not one of them.",
    ),
    Mistake(
        id="translate.eos-lost",
        module="seq2seq",
        old=f"{BEST}\n            {FINISHED}",
        new=f"token = logits.argmax(dim=-1)\n            {FINISHED}\n"
        "            token = token.masked_fill(finished, self.pad_idx)",
        looks_like="Your translations lack the end token: padding takes its place.",
        read_again="The end token is part of the translation; padding starts after it. " + SEE_LOOP,
    ),
    Mistake(
        id="translate.padded-with-eos",
        module="seq2seq",
        old=BEST,
        new=BEST.replace("pad", "eos"),
        looks_like="Your finished sentences are padded with end tokens.",
        read_again=BEHIND,
    ),
    Mistake(
        id="translate.padded-with-zero",
        module="seq2seq",
        old=BEST,
        new=BEST.replace("self.pad_idx", "0"),
        looks_like="Your finished sentences are padded with token 0.",
        read_again="The model knows the index of the padding token. " + BEHIND,
    ),
    Mistake(
        id="translate.starts-with-eos",
        module="seq2seq",
        old=START,
        new=START.replace("sos", "eos"),
        looks_like="Your translations start with the end token.",
        read_again="The decoder was trained on targets that start with sos. " + SEE_LOOP,
    ),
    Mistake(
        id="translate.starts-with-zero",
        module="seq2seq",
        old=START,
        new=START.replace("self.sos_idx", "0"),
        looks_like="Your translations start with token 0.",
        read_again="The decoder was trained on targets that start with sos; the model knows its index. " + SEE_LOOP,
    ),
    Mistake(
        id="translate.starts-with-the-source",
        module="seq2seq",
        old=START,
        new="token = src[:, 1]",
        looks_like="Your translations start with a token of the source.",
        read_again="The source and the target have separate vocabularies with unrelated indices. " + SEE_LOOP,
    ),
    Mistake(
        id="translate.without-start",
        module="seq2seq",
        old=STACKED,
        new=STACKED.replace("tokens,", "tokens[1:],"),
        looks_like="Your rows lack the start token.",
        read_again="See the Returns section of the docstring for the first token of a row.",
    ),
    Mistake(
        id="translate.state-not-carried-on",
        module="seq2seq",
        old=STEP,
        new=STEP.replace("logits, state, _", "logits, _, _"),
        looks_like="Every step of your decoder starts from the initial state.",
        read_again="The state is the decoder's memory: each step continues from the state of the previous step.",
    ),
    Mistake(
        id="translate.reads-the-start-again",
        module="seq2seq",
        old=STEP,
        new=STEP.replace("step(token", "step(tokens[0]"),
        looks_like="Every step of your decoder reads the start token.",
        read_again="Each step reads the token that the previous step predicted. " + SEE_LOOP,
    ),
    Mistake(
        id="translate.lengths-forgotten",
        module="seq2seq",
        old=STEP,
        new=STEP.replace("src_lengths", "torch.full_like(src_lengths, src.size(1))"),
        looks_like="Your decoder attends to the padding of the source.",
        read_again="Each step needs the actual lengths of the source sentences.",
    ),
    Mistake(
        id="translate.least-likely-token",
        module="seq2seq",
        old=BEST,
        new=BEST.replace("argmax", "argmin"),
        looks_like="Your decoder takes the token with the lowest score.",
        read_again="Greedy decoding takes the token with the highest score at each step.",
    ),
    Mistake(
        id="translate.stacked-in-front",
        module="seq2seq",
        old=STACKED,
        new=STACKED.replace("dim=1", "dim=0"),
        looks_like="Your result has a column for each sentence instead of a row.",
        read_again="See the Returns section of the docstring for the two axes of the result.",
    ),
    Mistake(
        id="translate.sampled",
        module="seq2seq",
        old=BEST,
        new=BEST.replace("logits.argmax(dim=-1)", "torch.multinomial(logits.softmax(dim=-1), 1).squeeze(1)"),
        looks_like="Your translations are random: tokens are sampled, not chosen by their score.",
        read_again="Greedy decoding takes the token with the highest score at each step.",
        random=True,
    ),
    *bleu.MISTAKES,
)

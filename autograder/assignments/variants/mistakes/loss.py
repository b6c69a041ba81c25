"""Known mistakes of stage 3: the loss of the language model."""

from autograder.diagnosis.mistakes import Mistake

READ = "logits = self(tokens[:, :-1])"
TARGETS = "targets = tokens[:, 1:]"
LOSS = "return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=self.padding_idx)"
SHIFT = "The output at position t is a prediction of the token at t + 1: compare it with that one."

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        "lm.loss-not-shifted",
        "language_model",
        f"{READ}  # (B, T - 1, V)\n        {TARGETS}",
        "logits = self(tokens[:, :-1])\n        targets = tokens[:, :-1]",
        "Your loss compares the output at each position with the token that the model reads there.",
        "A model that copies its input would have a loss near 0. " + SHIFT,
    ),
    Mistake(
        "lm.loss-shifted-backwards",
        "language_model",
        f"{READ}  # (B, T - 1, V)\n        {TARGETS}",
        "logits = self(tokens[:, 1:])\n        targets = tokens[:, :-1]",
        "Your loss compares the output at each position with the token before it.",
        SHIFT,
    ),
    Mistake(
        "lm.loss-with-padding",
        "language_model",
        LOSS,
        "return F.cross_entropy(logits.flatten(0, 1), targets.flatten())",
        "Your loss counts the padding.",
        "The model would be trained to write padding, and short sequences would pull the mean down.",
    ),
    Mistake(
        "lm.loss-divided-by-all",
        "language_model",
        LOSS,
        "return F.cross_entropy(\n            logits.flatten(0, 1), targets.flatten(), "
        'ignore_index=self.padding_idx, reduction="sum"\n        ) / targets.numel()',
        "Your loss leaves padding out of the sum, but divides by the number of all targets.",
        "A mean divides by the number of what it adds up.",
    ),
    Mistake(
        "lm.loss-mean-of-sequences",
        "language_model",
        LOSS,
        "each = F.cross_entropy(logits.transpose(1, 2), targets, "
        'ignore_index=self.padding_idx, reduction="none")\n'
        "        counted = targets != self.padding_idx\n"
        "        return (each.sum(dim=1) / counted.sum(dim=1)).mean()",
        "Your loss is the mean of the means of the sequences, so that the tokens of short ones count more.",
        "The docstring says over what the mean is taken.",
    ),
    Mistake(
        "lm.loss-sum",
        "language_model",
        LOSS,
        LOSS.replace("self.padding_idx)", 'self.padding_idx, reduction="sum")'),
        "Your loss is a sum instead of a mean.",
        "A sum grows with the batch, and with it the steps of training. See the docstring.",
    ),
    Mistake(
        "lm.loss-of-probabilities",
        "language_model",
        LOSS,
        LOSS.replace("logits.flatten(0, 1)", "logits.softmax(dim=-1).flatten(0, 1)"),
        "Your loss takes a softmax of the logits before a function that takes one itself.",
        "Look up what torch's cross-entropy expects as its first argument.",
    ),
    Mistake(
        "lm.loss-in-bits",
        "language_model",
        LOSS,
        f"{LOSS} / 0.6931471805599453",
        "Your loss is in bits instead of nats.",
        "Nats belong to the natural logarithm. See the first line of the docstring.",
    ),
    Mistake(
        "lm.loss-reads-the-last-token",
        "language_model",
        READ,
        "logits = self(tokens)[:, :-1]",
        "Your loss lets the model read the last token, which is not needed, so a sequence of max_len + 1 tokens is "
        "refused.",
        "Nothing comes after the last token that could be predicted from it. See under Args in the docstring.",
    ),
    Mistake(
        "lm.loss-padding-hard-coded",
        "language_model",
        LOSS,
        LOSS.replace("self.padding_idx", "1"),
        "Your loss leaves out token 1, whatever the padding token is.",
        "The constructor is told which token fills up shorter sequences.",
        seen_by="hidden",
    ),
)

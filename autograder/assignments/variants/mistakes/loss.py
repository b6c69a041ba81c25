"""Known mistakes in stage 3: the loss of the language model."""

from autograder.diagnosis.mistakes import Mistake

READ = "logits = self(tokens[:, :-1])"
TARGETS = "targets = tokens[:, 1:]"
LOSS = "return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=self.padding_idx)"
SHIFT = "The output at position t predicts the token at t + 1: compare it with that token."

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        "lm.loss-not-shifted",
        "language_model",
        f"{READ}  # (B, T - 1, V)\n        {TARGETS}",
        "logits = self(tokens[:, :-1])\n        targets = tokens[:, :-1]",
        "Your loss compares the output at each position with the input token at that position.",
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
        "Your loss includes the padding.",
        "The model would learn to write padding, and short sequences would lower the mean.",
    ),
    Mistake(
        "lm.loss-divided-by-all",
        "language_model",
        LOSS,
        "return F.cross_entropy(\n            logits.flatten(0, 1), targets.flatten(), "
        'ignore_index=self.padding_idx, reduction="sum"\n        ) / targets.numel()',
        "Your loss leaves padding out of the sum but divides by the total number of targets.",
        "A mean divides by the number of terms in the sum.",
    ),
    Mistake(
        "lm.loss-mean-of-sequences",
        "language_model",
        LOSS,
        "each = F.cross_entropy(logits.transpose(1, 2), targets, "
        'ignore_index=self.padding_idx, reduction="none")\n'
        "        counted = targets != self.padding_idx\n"
        "        return (each.sum(dim=1) / counted.sum(dim=1)).mean()",
        "Your loss averages per sequence first, so the tokens of short sequences count more.",
        "The docstring says what the mean is taken over.",
    ),
    Mistake(
        "lm.loss-sum",
        "language_model",
        LOSS,
        LOSS.replace("self.padding_idx)", 'self.padding_idx, reduction="sum")'),
        "Your loss is a sum instead of a mean.",
        "A sum grows with the batch size, and so does the size of the training steps. See the docstring.",
    ),
    Mistake(
        "lm.loss-of-probabilities",
        "language_model",
        LOSS,
        LOSS.replace("logits.flatten(0, 1)", "logits.softmax(dim=-1).flatten(0, 1)"),
        "Your loss applies a softmax to the logits, then calls a function that applies its own.",
        "Look up what PyTorch's cross-entropy expects as its first argument.",
    ),
    Mistake(
        "lm.loss-in-bits",
        "language_model",
        LOSS,
        f"{LOSS} / 0.6931471805599453",
        "Your loss is in bits instead of nats.",
        "Nats are the unit of the natural logarithm. See the first line of the docstring.",
    ),
    Mistake(
        "lm.loss-reads-the-last-token",
        "language_model",
        READ,
        "logits = self(tokens)[:, :-1]",
        "Your loss also passes the last token to the model, so a sequence of max_len + 1 tokens is refused.",
        "No token follows the last one, so there is nothing to predict from it. See the Args section of the docstring.",
    ),
    Mistake(
        "lm.loss-padding-hard-coded",
        "language_model",
        LOSS,
        LOSS.replace("self.padding_idx", "1"),
        "Your loss leaves out token 1, whatever the padding token is.",
        "The constructor receives the index of the padding token.",
        seen_by="hidden",
    ),
)

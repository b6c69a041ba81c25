"""Known mistakes in stage 3: the layer and the language model."""

from autograder.assignments.variants.mistakes import loss
from autograder.diagnosis.mistakes import Mistake

# Lines of the reference.
FIRST = "x = x + self.attention(self.norm1(x), mask)"
SECOND = "return x + self.feed_forward(self.norm2(x))"
BOTH = f"{FIRST}\n        {SECOND}"
CHECK = "if T > self.max_len:"
RAISE = 'raise ValueError(f"the input has {T} tokens, but the model has only {self.max_len} positions")'
EMBEDDED = "x = self.dropout(self.token_embedding(tokens) + self.position_embedding(positions))"
MASK = "mask = torch.ones(T, T, dtype=torch.bool, device=tokens.device).triu(diagonal=1).unsqueeze(0)"
LAYERS = "x = block(x, mask)"
LOGITS = "return F.linear(self.norm(x), self.token_embedding.weight)"

ORDER = "The docstring of the class gives the order in one line: norm, sub-layer, residual connection."
STEPS = "The docstring lists the steps of the model in order."
CAUSAL = "Position t predicts the token at t + 1, so it may see all tokens up to and including t, but no later token."

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        "lm.post-norm",
        "language_model",
        BOTH,
        "x = self.norm1(x + self.attention(x, mask))\n        return self.norm2(x + self.feed_forward(x))",
        "Your layer has its norms after the sub-layers, as in the 2017 Transformer.",
        "GPT-2 moved them before the sub-layers, which makes deep models easier to train. " + ORDER,
    ),
    Mistake(
        "lm.residual-from-norm",
        "language_model",
        BOTH,
        "x = self.norm1(x)\n        x = x + self.attention(x, mask)\n        x = self.norm2(x)\n"
        "        return x + self.feed_forward(x)",
        "The residual connection in your layer adds the output of the norm, not its input.",
        "A residual connection also goes around the norm, so that x itself reaches the end of the model. " + ORDER,
    ),
    Mistake(
        "lm.layer-without-mask",
        "language_model",
        FIRST,
        "x = x + self.attention(self.norm1(x))",
        "Your layer does not pass the mask on to its attention.",
        "Without a mask, every position sees all others, including the future and the padding.",
    ),
    Mistake(
        "lm.norms-exchanged",
        "language_model",
        BOTH,
        "x = x + self.attention(self.norm2(x), mask)\n        return x + self.feed_forward(self.norm1(x))",
        "Your layer swaps its two norms.",
        "Before training, both norms are the same; with trained weights they are not. The docstring says which is "
        "which.",
    ),
    Mistake(
        "lm.one-norm-for-both",
        "language_model",
        SECOND,
        "return x + self.feed_forward(self.norm1(x))",
        "Your layer uses the first norm for both sub-layers.",
        "Each sub-layer has its own norm. The docstring says which is which.",
    ),
    Mistake(
        "lm.attention-residual-missing",
        "language_model",
        FIRST,
        "x = self.attention(self.norm1(x), mask)",
        "Your layer has no residual connection around attention.",
        ORDER,
    ),
    Mistake(
        "lm.network-residual-missing",
        "language_model",
        SECOND,
        "return self.feed_forward(self.norm2(x))",
        "Your layer has no residual connection around the feed-forward network.",
        ORDER,
    ),
    Mistake(
        "lm.first-norm-missing",
        "language_model",
        FIRST,
        "x = x + self.attention(x, mask)",
        "Your layer has no norm before attention.",
        ORDER,
    ),
    Mistake(
        "lm.second-norm-missing",
        "language_model",
        SECOND,
        "return x + self.feed_forward(x)",
        "Your layer has no norm before the feed-forward network.",
        ORDER,
    ),
    Mistake(
        "lm.sub-layers-side-by-side",
        "language_model",
        BOTH,
        "return x + self.attention(self.norm1(x), mask) + self.feed_forward(self.norm2(x))",
        "In your layer, both sub-layers read the same input, in parallel.",
        "Some models do that to save time. Here the feed-forward network reads the result of the attention sub-layer.",
    ),
    Mistake(
        "lm.sub-layers-exchanged",
        "language_model",
        BOTH,
        "x = x + self.feed_forward(self.norm2(x))\n        return x + self.attention(self.norm1(x), mask)",
        "Your layer begins with the feed-forward network.",
        "Attention comes first. " + ORDER,
    ),
    Mistake(
        "lm.layer-detached",
        "language_model",
        FIRST,
        "x = x + self.attention(self.norm1(x.detach()), mask)",
        "Your result is right, but not all gradients flow back through the layer.",
        "Somewhere the computation leaves the autograd graph.",
        seen_by="hidden",
    ),
    Mistake(
        "lm.no-causal-mask",
        "language_model",
        LAYERS,
        "x = block(x)",
        "Your model has no causal mask: every position sees the future.",
        "Such a model learns to copy the next token instead of predicting it. " + CAUSAL,
    ),
    Mistake(
        "lm.mask-hides-own-position",
        "language_model",
        MASK,
        MASK.replace("triu(diagonal=1)", "triu(diagonal=0)"),
        "In your model, no position sees itself.",
        CAUSAL,
    ),
    Mistake(
        "lm.mask-one-late",
        "language_model",
        MASK,
        MASK.replace("triu(diagonal=1)", "triu(diagonal=2)"),
        "In your model, every position sees the token that it must predict.",
        CAUSAL,
    ),
    Mistake(
        "lm.mask-of-the-past",
        "language_model",
        MASK,
        MASK.replace("triu(diagonal=1)", "tril(diagonal=-1)"),
        "In your model, every position sees itself and the future, but not the past.",
        "In a mask, True means that a key is masked. " + CAUSAL,
    ),
    Mistake(
        "lm.mask-in-training-only",
        "language_model",
        LAYERS,
        "x = block(x, mask if self.training else None)",
        "Your model uses the causal mask only in training mode.",
        "In evaluation mode the loss would be far too low, since the model sees what it must predict. The mask does "
        "not depend on the mode.",
        same_as=("lm.no-causal-mask",),
    ),
    Mistake(
        "lm.mask-in-evaluation-only",
        "language_model",
        LAYERS,
        "x = block(x, None if self.training else mask)",
        "Your model uses the causal mask only in evaluation mode.",
        "During training, the model would learn to copy the next token. The mask does not depend on the mode.",
    ),
    Mistake(
        "lm.mask-for-padding-too",
        "language_model",
        MASK,
        MASK + "\n        mask = mask | (tokens == self.padding_idx).unsqueeze(1)",
        "Your model masks padding tokens for all positions.",
        "Padding comes at the end, where the causal mask already hides it. A separate mask can leave a position with "
        "no key to attend to. The docstring says so.",
        seen_by="hidden",  # the visible tests warn of it
    ),
    Mistake(
        "lm.positions-missing",
        "language_model",
        EMBEDDED,
        "x = self.dropout(self.token_embedding(tokens))",
        "Your model does not add the position embeddings.",
        STEPS,
    ),
    Mistake(
        "lm.positions-from-one",
        "language_model",
        "positions = torch.arange(T, device=tokens.device)",
        "positions = torch.arange(1, T + 1, device=tokens.device)",
        "Your model counts positions from 1.",
        "The last position then has no embedding. " + STEPS,
    ),
    Mistake(
        "lm.positions-by-token",
        "language_model",
        EMBEDDED,
        EMBEDDED.replace("(positions)", "(tokens % self.max_len)"),
        "Your model uses the token, not the position, to look up the position embedding.",
        "Every token has two embeddings: one for what it is and one for where it is.",
    ),
    Mistake(
        "lm.embeddings-scaled",
        "language_model",
        EMBEDDED,
        EMBEDDED.replace(
            "self.token_embedding(tokens)",
            "self.token_embedding(tokens) * self.token_embedding.embedding_dim**0.5",
        ),
        "Your model multiplies the embeddings by the square root of d_model, as in the 2017 Transformer.",
        "GPT-2 does not do this, and the docstring does not call for it.",
    ),
    Mistake(
        "lm.first-layer-only",
        "language_model",
        "for block in self.blocks:",
        "for block in self.blocks[:1]:",
        "Your model skips layers, as if it used only the first one.",
        STEPS,
    ),
    Mistake(
        "lm.layers-read-the-input",
        "language_model",
        f"for block in self.blocks:\n            {LAYERS}",
        "embedded = x\n        for block in self.blocks:\n            x = block(embedded, mask)",
        "In your model only the last layer has an effect, as if every layer read the embedded tokens.",
        "The input of each layer is the output of the previous one.",
    ),
    Mistake(
        "lm.last-norm-missing",
        "language_model",
        LOGITS,
        "return F.linear(x, self.token_embedding.weight)",
        "Your model has no norm before the logits.",
        "In a pre-norm model the residual sum is never normalised, so a final norm comes at the end. " + STEPS,
    ),
    Mistake(
        "lm.probabilities",
        "language_model",
        LOGITS,
        f"{LOGITS}.softmax(dim=-1)",
        "Your model returns probabilities instead of logits.",
        "Both the loss and the sampling apply their own softmax. See the Returns section of the docstring.",
    ),
    Mistake(
        "lm.too-long-not-refused",
        "language_model",
        CHECK,
        "if False:",
        "Your model does not check for input that is too long; PyTorch raises an exception later.",
        "The message should say how long the input is and how long it may be. See the Raises section.",
    ),
    Mistake(
        "lm.too-long-one-early",
        "language_model",
        CHECK,
        "if T >= self.max_len:",
        "Your model refuses input of exactly the maximum length.",
        "Positions are counted from 0, so the last position is one less than the number of positions.",
    ),
    Mistake(
        "lm.too-long-without-numbers",
        "language_model",
        RAISE,
        'raise ValueError("the input is too long")',
        "Your message does not say how long the input is or how long it may be.",
        "A good message says what was found and what was expected. See the Raises section of the docstring.",
    ),
    Mistake(
        "lm.input-dropout-missing",
        "language_model",
        EMBEDDED,
        "x = self.token_embedding(tokens) + self.position_embedding(positions)",
        "During training, your model applies no dropout to the embedded input.",
        STEPS,
    ),
    *loss.MISTAKES,
)

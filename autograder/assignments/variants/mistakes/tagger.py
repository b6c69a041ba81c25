"""Known mistakes in stage 5: the tagger."""

from autograder.diagnosis.mistakes import Mistake

# Lines of the reference.
CHECK = "if T > self.max_len:"
RAISE = 'raise ValueError(f"the input has {T} tokens, but the model has only {self.max_len} positions")'
EMBEDDED = "x = self.dropout(self.token_embedding(tokens) + self.position_embedding(positions))"
MASK = "mask = positions >= lengths[:, None, None]"
LOOP = "for block in self.blocks:"
LAYERS = "x = block(x, mask)"
RETURN = "return self.output_layer(self.norm(x))"

STEPS = "The docstring lists the steps of the model in order."
PADDING = "Positions are counted from 0, so a sequence of 3 tokens has the positions 0, 1 and 2."
ZEROS = "A key of zeros still gets weight: its score is 0, not -inf. Only a mask removes the weight."
NO_CAUSE = "A tagger reads the whole sentence at once, and the words to the right of a word say a lot about it."

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        "tagger.causal-mask",
        "tagger",
        MASK,
        "mask = torch.ones(T, T, dtype=torch.bool, device=tokens.device).triu(diagonal=1).unsqueeze(0)",
        "Your tagger has the causal mask of a language model.",
        NO_CAUSE,
    ),
    Mistake(
        "tagger.causal-mask-too",
        "tagger",
        MASK,
        f"{MASK}\n        mask = mask | torch.ones(T, T, dtype=torch.bool, device=tokens.device).triu(diagonal=1)",
        "Your tagger uses a causal mask in addition to the padding mask.",
        NO_CAUSE,
        same_as=("tagger.causal-mask",),
    ),
    Mistake(
        "tagger.mask-missing",
        "tagger",
        LAYERS,
        "x = block(x)",
        "Your tagger attends to the padding.",
        "Shorter sequences are padded, and the padding must have no effect. See the docstring.",
    ),
    Mistake(
        "tagger.padding-set-to-zero",
        "tagger",
        f"{LOOP}\n            {LAYERS}",
        f"x = x.masked_fill(mask.transpose(1, 2), 0.0)\n        {LOOP}\n            x = block(x)",
        "Your tagger sets the padding to 0 and passes no mask to its layers.",
        ZEROS,
    ),
    Mistake(
        "tagger.padding-set-to-zero-in-each-layer",
        "tagger",
        LAYERS,
        "x = block(x.masked_fill(mask.transpose(1, 2), 0.0))",
        "Your tagger sets the padding to 0 before each layer and passes no mask to its layers.",
        ZEROS,
    ),
    Mistake(
        "tagger.mask-inverted",
        "tagger",
        MASK,
        "mask = positions < lengths[:, None, None]",
        "Your tagger attends only to the padding: the mask is inverted.",
        "In a mask, True means that a key is masked.",
    ),
    Mistake(
        "tagger.mask-one-late",
        "tagger",
        MASK,
        "mask = positions > lengths[:, None, None]",
        "Your tagger treats the first padding token of each sequence as a real token.",
        PADDING,
    ),
    Mistake(
        "tagger.mask-one-early",
        "tagger",
        MASK,
        "mask = positions >= lengths[:, None, None] - 1",
        "Your tagger treats the last token of each sequence as padding.",
        PADDING,
    ),
    Mistake(
        "tagger.mask-from-padding-token",
        "tagger",
        MASK,
        "mask = (tokens == self.padding_idx).unsqueeze(1)",
        "Your tagger treats all padding tokens, and only those, as padding.",
        "The lengths say where a sequence ends, whichever tokens are in it or after it. See the docstring.",
    ),
    Mistake(
        "tagger.mask-of-queries",
        "tagger",
        MASK,
        "mask = (positions >= lengths[:, None, None]).transpose(1, 2).expand(-1, -1, T)",
        "Your tagger masks padded queries instead of padded keys.",
        "A mask has a row for each query and a column for each key. It is the padded keys that must be hidden.",
        same_as=("tagger.mask-missing",),
    ),
    Mistake(
        "tagger.mask-of-first-sequence",
        "tagger",
        LAYERS,
        "x = block(x, mask[:1])",
        "Your tagger treats all sequences as if they were as long as the first, or the longest, of the batch.",
        "Each sequence has its own length, so the mask has a row for each sequence.",
    ),
    Mistake(
        "tagger.mask-without-query-axis",
        "tagger",
        MASK,
        "mask = positions >= lengths[:, None]",
        "Your padding mask has no query axis.",
        "The docstring gives the shape of the mask. The missing axis has size 1: the mask is the same for all queries.",
    ),
    Mistake(
        "tagger.mask-as-long-as-longest",
        "tagger",
        MASK,
        "mask = torch.arange(int(lengths.max()), device=tokens.device) >= lengths[:, None, None]",
        "Your padding mask is as long as the longest sequence, but the input may be longer.",
        "The docstring says that T may be larger than all lengths.",
    ),
    Mistake(
        "tagger.mask-in-evaluation-only",
        "tagger",
        LAYERS,
        "x = block(x, None if self.training else mask)",
        "Your tagger attends to the padding in training mode.",
        "The mask does not depend on the mode.",
    ),
    Mistake(
        "tagger.positions-missing",
        "tagger",
        EMBEDDED,
        "x = self.dropout(self.token_embedding(tokens))",
        "Your tagger does not add the position embeddings.",
        STEPS,
    ),
    Mistake(
        "tagger.embeddings-scaled",
        "tagger",
        EMBEDDED,
        EMBEDDED.replace(
            "self.token_embedding(tokens)",
            "self.token_embedding(tokens) * self.token_embedding.embedding_dim**0.5",
        ),
        "Your tagger multiplies the embeddings by the square root of d_model, as in the 2017 Transformer.",
        STEPS,
    ),
    Mistake(
        "tagger.first-layer-only",
        "tagger",
        "for block in self.blocks:",
        "for block in self.blocks[:1]:",
        "Your tagger skips layers, as if it used only the first one.",
        STEPS,
    ),
    Mistake(
        "tagger.last-norm-missing",
        "tagger",
        RETURN,
        "return self.output_layer(x)",
        "Your tagger has no norm before the output layer.",
        STEPS,
    ),
    Mistake(
        "tagger.probabilities",
        "tagger",
        RETURN,
        f"{RETURN}.softmax(dim=-1)",
        "Your tagger returns probabilities instead of logits.",
        "The loss applies its own softmax. See the Returns section of the docstring.",
    ),
    Mistake(
        "tagger.too-long-not-refused",
        "tagger",
        CHECK,
        "if False:",
        "Your tagger does not check for input that is too long; PyTorch raises an exception later.",
        "The message should say how long the input is and how long it may be. See the Raises section.",
    ),
    Mistake(
        "tagger.too-long-one-early",
        "tagger",
        CHECK,
        "if T >= self.max_len:",
        "Your tagger refuses input of exactly the maximum length.",
        "Positions are counted from 0, so the last position is one less than the number of positions.",
    ),
    Mistake(
        "tagger.too-long-without-numbers",
        "tagger",
        RAISE,
        'raise ValueError("the input is too long")',
        "Your message does not say how long the input is or how long it may be.",
        "A good message says what was found and what was expected. See the Raises section of the docstring.",
    ),
    Mistake(
        "tagger.input-dropout-missing",
        "tagger",
        EMBEDDED,
        "x = self.token_embedding(tokens) + self.position_embedding(positions)",
        "During training, your tagger applies no dropout to the embedded input.",
        STEPS,
    ),
)

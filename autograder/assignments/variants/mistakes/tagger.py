"""Known mistakes of stage 5: the tagger."""

from autograder.diagnosis.mistakes import Mistake

# Lines of the reference.
CHECK = "if T > self.max_len:"
RAISE = 'raise ValueError(f"the input has {T} tokens, but the model has only {self.max_len} positions")'
EMBEDDED = "x = self.dropout(self.token_embedding(tokens) + self.position_embedding(positions))"
MASK = "mask = positions >= lengths[:, None, None]"
LOOP = "for block in self.blocks:"
LAYERS = "x = block(x, mask)"
RETURN = "return self.output_layer(self.norm(x))"

STEPS = "The docstring lists the steps of the model in their order."
PADDING = "Positions are counted from 0, so a sequence of 3 tokens fills the positions 0, 1 and 2."
ZEROS = "A key of zeros still gets a weight: its score is 0, and not -inf. Only a mask takes the weight away."
NO_CAUSE = "A tagger knows the whole sentence before it begins, and words to the right say much about a word."

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
        "Your tagger has a causal mask beside the padding mask.",
        NO_CAUSE,
        same_as=("tagger.causal-mask",),
    ),
    Mistake(
        "tagger.mask-missing",
        "tagger",
        LAYERS,
        "x = block(x)",
        "Your tagger reads the padding.",
        "Sequences shorter than the longest are filled up; what stands there must not count. See the docstring.",
    ),
    Mistake(
        "tagger.padding-set-to-zero",
        "tagger",
        f"{LOOP}\n            {LAYERS}",
        f"x = x.masked_fill(mask.transpose(1, 2), 0.0)\n        {LOOP}\n            x = block(x)",
        "Your tagger sets the padding to 0 and gives its layers no mask.",
        ZEROS,
    ),
    Mistake(
        "tagger.padding-set-to-zero-in-each-layer",
        "tagger",
        LAYERS,
        "x = block(x.masked_fill(mask.transpose(1, 2), 0.0))",
        "Your tagger sets the padding to 0 before each layer and gives its layers no mask.",
        ZEROS,
    ),
    Mistake(
        "tagger.mask-inverted",
        "tagger",
        MASK,
        "mask = positions < lengths[:, None, None]",
        "Your tagger attends to the padding, and only to that.",
        "In a mask True means that a key may not be attended to.",
    ),
    Mistake(
        "tagger.mask-one-late",
        "tagger",
        MASK,
        "mask = positions > lengths[:, None, None]",
        "Your tagger takes the first padding token of each sequence for a part of it.",
        PADDING,
    ),
    Mistake(
        "tagger.mask-one-early",
        "tagger",
        MASK,
        "mask = positions >= lengths[:, None, None] - 1",
        "Your tagger takes the last token of each sequence for padding.",
        PADDING,
    ),
    Mistake(
        "tagger.mask-from-padding-token",
        "tagger",
        MASK,
        "mask = (tokens == self.padding_idx).unsqueeze(1)",
        "Your tagger takes every padding token for padding, and nothing else.",
        "The lengths say where a sequence ends, whatever stands there and behind. See the docstring.",
    ),
    Mistake(
        "tagger.mask-of-queries",
        "tagger",
        MASK,
        "mask = (positions >= lengths[:, None, None]).transpose(1, 2).expand(-1, -1, T)",
        "Your tagger forbids padded queries to look anywhere, and hides no padded key.",
        "A mask has a row for each query and a column for each key. What must not be seen are keys.",
        same_as=("tagger.mask-missing",),
    ),
    Mistake(
        "tagger.mask-of-first-sequence",
        "tagger",
        LAYERS,
        "x = block(x, mask[:1])",
        "Your tagger takes all sequences to be as long as the first, or the longest, of the batch.",
        "Each sequence has a length of its own, so the mask has a row for each of them.",
    ),
    Mistake(
        "tagger.mask-without-query-axis",
        "tagger",
        MASK,
        "mask = positions >= lengths[:, None]",
        "Your padding mask has no axis for the queries.",
        "The docstring says which shape it has. The missing axis has the size 1: the mask is the same for all queries.",
    ),
    Mistake(
        "tagger.mask-as-long-as-longest",
        "tagger",
        MASK,
        "mask = torch.arange(int(lengths.max()), device=tokens.device) >= lengths[:, None, None]",
        "Your padding mask is as long as the longest sequence, and the input may be longer.",
        "The docstring says that T may be larger than all lengths.",
    ),
    Mistake(
        "tagger.mask-in-evaluation-only",
        "tagger",
        LAYERS,
        "x = block(x, None if self.training else mask)",
        "Your tagger reads the padding in training mode.",
        "The mask belongs to the model, whatever its mode.",
    ),
    Mistake(
        "tagger.positions-missing",
        "tagger",
        EMBEDDED,
        "x = self.dropout(self.token_embedding(tokens))",
        "Your tagger does not add the embeddings of the positions.",
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
        "Your tagger multiplies the embeddings by the root of d_model, as the Transformer of 2017.",
        STEPS,
    ),
    Mistake(
        "tagger.first-layer-only",
        "tagger",
        "for block in self.blocks:",
        "for block in self.blocks[:1]:",
        "Your tagger leaves out layers, as if only the first one counted.",
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
        "The loss begins with a softmax of its own. See under Returns in the docstring.",
    ),
    Mistake(
        "tagger.too-long-not-refused",
        "tagger",
        CHECK,
        "if False:",
        "Your tagger does not refuse input that is too long by itself; an exception of torch comes later.",
        "Whoever reads the message should learn how long the input is and how long it may be. See under Raises.",
    ),
    Mistake(
        "tagger.too-long-one-early",
        "tagger",
        CHECK,
        "if T >= self.max_len:",
        "Your tagger refuses input that is as long as it may be.",
        "The positions are counted from 0, so the last one is one less than their number.",
    ),
    Mistake(
        "tagger.too-long-without-numbers",
        "tagger",
        RAISE,
        'raise ValueError("the input is too long")',
        "Your message does not say how long the input is and how long it may be.",
        "A good message says what was found and what was expected. See under Raises in the docstring.",
    ),
    Mistake(
        "tagger.input-dropout-missing",
        "tagger",
        EMBEDDED,
        "x = self.token_embedding(tokens) + self.position_embedding(positions)",
        "In training, no dropout shows on the embedded input of your tagger.",
        STEPS,
    ),
)

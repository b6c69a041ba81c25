"""How good a model is on sentences that it does not train on: the loss, and BLEU of greedy translations."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from course.config import PAD
from course.errors import UserError
from course.text import Tokenizer, batch_by_length
from course.training.data import TokenTable, encode_pairs

# The model, the sources, how many tokens at once, and whether to keep keys and values: the translations.
Translate = Callable[[Any, list[list[int]], int, bool], list[list[int]]]


@dataclass(frozen=True)
class Quality:
    """What one validation found."""

    loss: float  # per target token, without label smoothing
    bleu: float

    @property
    def figure(self) -> float:
        """What the curves show beside the loss."""
        return self.bleu


class Validation:
    """Sentence pairs with which a model is measured now and then."""

    figure = "bleu"

    def __init__(
        self,
        pairs: list[tuple[str, str]],
        source: Tokenizer,
        target: Tokenizer,
        longest: int,
        device: str,
        cache: bool = True,
        translate: Translate | None = None,
    ) -> None:
        """Encode the pairs.

        Args:
            pairs: German and English.
            source, target: the tokenizers of both sides.
            longest: the largest number of tokens of a sentence.
            device: where the model is.
            cache: translate with the course's KV cache; without, with the model's own `forward_decoder`.
            translate: how to translate; by default as a Transformer does.

        Raises:
            UserError: if there are none, or one has more than `longest` tokens on a side.
        """
        self.references = [english for _, english in pairs]
        self.target, self.batch_tokens, self.cache, self.translate = target, 4096, cache, translate
        self.pairs = encode_pairs(pairs, source, target, max_tokens=longest)
        if not self.pairs or len(self.pairs) < len(pairs):
            raise UserError(f"cannot validate: {len(self.pairs)} of {len(pairs)} pairs have at most {longest} tokens")
        self.tables = [TokenTable(side, device) for side in zip(*self.pairs, strict=True)]
        self.batches = batch_by_length(self.pairs, self.batch_tokens, seed=0)

    def measure(self, model: Any) -> Quality:
        """Translate all sentences."""
        import torch
        import torch.nn.functional as F
        from sacrebleu.metrics.bleu import BLEU

        model.eval()
        loss, tokens = torch.zeros((), device=self.tables[0].tokens.device), 0
        with torch.inference_mode():
            for batch in self.batches:
                (src, src_lengths), (tgt, tgt_lengths) = (table.batch(batch) for table in self.tables)
                logits = model(src=src, tgt=tgt[:, :-1], src_lengths=src_lengths, tgt_lengths=tgt_lengths - 1)
                wanted = tgt[:, 1:].flatten()
                loss += F.cross_entropy(logits.flatten(0, 1), wanted, ignore_index=PAD, reduction="sum")
                tokens += sum(self.tables[1].lengths[pair] - 1 for pair in batch)
        from course.translation.decoding import greedy_decode

        translate = self.translate or greedy_decode
        found = translate(model, [source for source, _ in self.pairs], self.batch_tokens, self.cache)
        bleu = BLEU().corpus_score([self.target.decode(result) for result in found], [self.references]).score
        return Quality(loss.item() / tokens, bleu)

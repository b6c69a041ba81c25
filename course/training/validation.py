"""Measure a model on held-out sentences: the loss, and the BLEU score of greedy translations."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from course.config import PAD
from course.errors import UserError
from course.text import Tokenizer, batch_by_length
from course.training.data import TokenTable, encode_pairs

# (model, sources, tokens per batch, whether to use a KV cache) -> translations
Translate = Callable[[Any, list[list[int]], int, bool], list[list[int]]]


@dataclass(frozen=True)
class Quality:
    """The result of a validation run."""

    loss: float  # per target token, without label smoothing
    bleu: float

    @property
    def figure(self) -> float:
        """The metric that the curves show in addition to the loss."""
        return self.bleu


class Validation:
    """Sentence pairs for measuring a model at regular intervals."""

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
            longest: the maximum number of tokens in a sentence.
            device: the device of the model.
            cache: translate with the course's KV cache; otherwise with the model's own `forward_decoder`.
            translate: the translation function; by default that of a Transformer.

        Raises:
            UserError: if there are no pairs, or a side has more than `longest` tokens.
        """
        self.references = [english for _, english in pairs]
        self.target, self.batch_tokens, self.cache, self.translate = target, 4096, cache, translate
        self.pairs = encode_pairs(pairs, source, target, max_tokens=longest)
        if not self.pairs or len(self.pairs) < len(pairs):
            raise UserError(f"cannot validate: {len(self.pairs)} of {len(pairs)} pairs have at most {longest} tokens")
        self.tables = [TokenTable(side, device) for side in zip(*self.pairs, strict=True)]
        self.batches = batch_by_length(self.pairs, self.batch_tokens, seed=0)

    def measure(self, model: Any) -> Quality:
        """Compute the loss and translate all sentences."""
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
        translations = translate(model, [source for source, _ in self.pairs], self.batch_tokens, self.cache)
        bleu = BLEU().corpus_score([self.target.decode(result) for result in translations], [self.references]).score
        return Quality(loss.item() / tokens, bleu)

"""The tagger `de-truecase`: it predicts which words in lower-case German sentences should be capitalised."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from course.config import PAD
from course.text import Tokenizer, batch_by_length
from course.training.data import TokenTable
from course.training.variants.task import Measured, Task
from course.translation.corpora import load_pairs
from course.variants.capitals import capital, score, units
from course.variants.trained import TOKENIZER

if TYPE_CHECKING:
    import torch

IGNORED = -100
MAX_LEN = 128


def encode_units(sentence: list[str], tokenizer: Tokenizer) -> tuple[list[int], list[int]]:
    """Return the tokens of a sentence in lower case, and the position of each unit's first token."""
    tokens = tokenizer.encode(" ".join(sentence).lower())
    starts = [place for place, piece in enumerate(tokenizer.pieces(tokens)) if piece.startswith("▁")]
    return tokens, starts


class Capitals(Task):
    """Sentences from tatoeba.train for training, and from tatoeba.val for evaluation."""

    model_class = "tagger.EncoderTransformer"
    figure = "f1"
    title = "F1 of capitals in % (tatoeba.val)"
    batch_tokens = 3000

    def __init__(self, state: Path, corpus_dir: Path | None, vocab_size: int = 3000) -> None:
        sentences = list(dict.fromkeys(german for german, _ in load_pairs("tatoeba.train", corpus_dir)))
        path = state / TOKENIZER
        text = (" ".join(units(sentence)).lower() for sentence in sentences)
        tokenizer = Tokenizer(path) if path.is_file() else Tokenizer.train(text, path, vocab_size)
        self.path = path
        self.prepare(sentences, [units(german) for german, _ in load_pairs("tatoeba.val", corpus_dir)], tokenizer)

    def prepare(self, sentences: list[str], held_out: list[list[str]], tokenizer: Tokenizer) -> None:
        """Set the training sentences, and the units of held-out sentences."""
        self.tokenizer, self.held_out = tokenizer, held_out
        self.pairs = [self.tagged(units(sentence)) for sentence in sentences]
        self.pairs = [pair for pair in self.pairs if 0 < len(pair[0]) <= MAX_LEN]
        self.tables = [TokenTable(side, "cpu") for side in zip(*self.pairs, strict=True)]
        self.epoch: tuple[int, list[list[int]]] = (-1, [])
        self.steps = len(self.batches(0, 1))

    def tagged(self, sentence: list[str]) -> tuple[list[int], list[int]]:
        """Return tokens and tags: for the first token of each word, 1 if the word is capitalised and 0 otherwise."""
        tokens, starts = encode_units(sentence, self.tokenizer)
        tags = [IGNORED] * len(tokens)
        if len(starts) != len(sentence):  # a character that the tokenizer splits into two words
            return [], []
        for place, unit in zip(starts, sentence, strict=True):
            large = capital(unit)
            tags[place] = IGNORED if large is None else int(large)
        return tokens, tags

    @property
    def sizes(self) -> dict[str, Any]:
        return {
            "vocab_size": self.tokenizer.vocab_size,
            "num_tags": 2,
            "d_model": 128,
            "num_heads": 4,
            "num_layers": 3,
            "d_ff": 512,
            "max_len": MAX_LEN,
            "dropout": 0.1,
            "padding_idx": PAD,
        }

    @property
    def steps_per_epoch(self) -> int:
        return self.steps

    def batches(self, epoch: int, seed: int) -> list[list[int]]:
        """Return the batches of an epoch."""
        if self.epoch[0] != epoch:
            self.epoch = epoch, batch_by_length(self.pairs, self.batch_tokens, seed=seed * 1000 + epoch)
        return self.epoch[1]

    def batch(self, step: int, seed: int) -> "tuple[tuple[torch.Tensor, ...], int]":
        import torch

        epoch, index = divmod(step, self.steps_per_epoch)
        batches = self.batches(epoch, seed)
        rows = batches[index % len(batches)]
        (tokens, lengths), (tags, _) = (table.batch(rows) for table in self.tables)
        tags = tags.masked_fill(torch.arange(tags.size(1)) >= lengths[:, None], IGNORED)
        return (tokens, lengths, tags), int((tags != IGNORED).sum())

    def measure(self, model: Any) -> Measured:
        from torch.nn.functional import cross_entropy

        predictions, loss, count = [], 0.0, 0
        for sentence, (logits, starts) in zip(self.held_out, tag(model, self.held_out, self.tokenizer), strict=True):
            predictions.append((logits[starts, 1] > logits[starts, 0]).tolist())
            asked = [(place, capital(unit)) for place, unit in zip(starts, sentence, strict=True)]
            known = [(place, int(large)) for place, large in asked if large is not None]
            if known:
                places, tags = zip(*known, strict=True)
                loss += cross_entropy(logits[list(places)], logits.new_tensor(tags).long(), reduction="sum").item()
                count += len(known)
        return Measured(loss / count, score(self.held_out, predictions).f1)

    @property
    def files(self) -> tuple[Path, ...]:
        return (self.path,)


def tag(model: Any, sentences: list[list[str]], tokenizer: Tokenizer) -> "list[tuple[torch.Tensor, list[int]]]":
    """Return the logits at all tokens, (T, 2), and the positions of the units' first tokens, for each sentence."""
    import torch

    from course.text import in_batches, pad

    encoded = [encode_units(sentence, tokenizer) for sentence in sentences]
    by_row: dict[int, tuple[torch.Tensor, list[int]]] = {}
    model.eval()
    with torch.inference_mode():
        for rows in in_batches([tokens for tokens, _ in encoded], 4096):
            tokens, lengths = pad([encoded[row][0] for row in rows])
            for row, logits in zip(rows, model(tokens, lengths), strict=True):
                by_row[row] = logits, encoded[row][1]
    return [by_row[row] for row in range(len(sentences))]


def predict(model: Any, sentences: list[list[str]], tokenizer: Tokenizer) -> list[list[bool]]:
    """Return whether each unit of each sentence begins with a capital letter."""
    return [(logits[starts, 1] > logits[starts, 0]).tolist() for logits, starts in tag(model, sentences, tokenizer)]

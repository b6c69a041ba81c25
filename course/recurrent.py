"""The recurrent translator of the assignment `attention`: configuration, loading and batch translation."""

from dataclasses import asdict, dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from course.config import BOS, CONFIG, EOS, PAD, SOURCE_TOKENIZER, TARGET_TOKENIZER, WEIGHTS, SavedConfig
from course.location import checkpoints
from course.modules import load_modules, reference_or_own
from course.text import Tokenizer, in_batches, pad

if TYPE_CHECKING:
    import torch

    from course.checkpoint import Checkpoint

DEFAULT = checkpoints() / "gru-de-en"
NAMES = ("pooling", "scoring", "seq2seq")


@dataclass(frozen=True)
class RecurrentConfig(SavedConfig):
    """Everything needed to build a `Seq2Seq` before its weights are loaded."""

    src_vocab_size: int
    tgt_vocab_size: int
    sos_idx: int = BOS
    eos_idx: int = EOS
    pad_idx: int = PAD
    embed_size: int = 256
    hidden_size: int = 320
    attention_size: int = 256
    dropout_prob: float = 0.2


def load_recurrent_modules(folder: Path | None = None) -> SimpleNamespace:
    """Import `pooling`, `scoring` and `seq2seq` from a folder; by default the reference modules, else the student's.

    Raises:
        UserError: if the folder or a module is missing.
    """
    return load_modules(folder or reference_or_own("attention"), NAMES)


def build_recurrent(config: RecurrentConfig, modules: SimpleNamespace) -> Any:
    """Build a `Seq2Seq` with fresh weights."""
    return modules.seq2seq.Seq2Seq(**asdict(config))


def load_recurrent(folder: Path = DEFAULT, modules: SimpleNamespace | None = None) -> "Checkpoint":
    """Load a checkpoint into the reference modules, or into other modules with the same interface.

    Raises:
        UserError: if a file is missing or damaged, or names or shapes of the weights do not fit the modules.
    """
    from course.checkpoint import Checkpoint, fill, load_weights

    config = RecurrentConfig.load(folder / CONFIG)
    model = build_recurrent(config, load_recurrent_modules() if modules is None else modules)
    fill(model, load_weights(folder / WEIGHTS), folder)
    model.eval()
    return Checkpoint(config, model, Tokenizer(folder / SOURCE_TOKENIZER), Tokenizer(folder / TARGET_TOKENIZER))


def translate_all(model: Any, sources: list[list[int]], max_tokens: int = 4096) -> list[list[int]]:
    """Translate many sentences greedily, with the model's own `translate`.

    Args:
        model: a `Seq2Seq`.
        sources: token indices with BOS and EOS.
        max_tokens: the padded size of one batch.

    Returns:
        Predicted token indices without BOS and EOS, in the order of `sources`; for each sentence at most 1.5
        times as many as the source has, plus 10.
    """
    import torch

    model.eval()
    device = next(model.parameters()).device
    results: list[list[int]] = [[] for _ in sources]
    with torch.inference_mode():
        for rows in in_batches(sources, max_tokens):
            src, src_lengths = pad([sources[row] for row in rows])
            limits = [len(sources[row]) * 3 // 2 + 10 for row in rows]
            tokens = model.translate(src.to(device), src_lengths.to(device), max(limits))
            for row, limit, row_tokens in zip(rows, limits, tokens[:, 1:].tolist(), strict=True):
                end = row_tokens.index(EOS) if EOS in row_tokens else len(row_tokens)
                results[row] = row_tokens[: min(end, limit)]
    return results


def recurrent_weights(model: Any, src: "torch.Tensor", tgt: "torch.Tensor") -> "torch.Tensor":
    """The decoder's attention to a source sentence, (1, T_e), for a known target, (1, T_d).

    Returns:
        (T_d, T_e). Dropout is off, whatever the mode of the model.
    """
    import torch

    training = model.training
    model.eval()
    try:
        with torch.no_grad():
            lengths = torch.tensor([src.size(1)])
            enc_outputs, state = model.encoder(src, lengths)
            return model.decoder(tgt, state, enc_outputs, lengths)[1][0]
    finally:
        model.train(training)

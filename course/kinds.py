"""The kinds of translators in the course: how each is built, loaded, trained, and used to translate."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from course.config import CONFIG, ModelConfig, SavedConfig
from course.modules import MODULE_NAMES, standins_of
from course.recurrent import NAMES, RecurrentConfig

if TYPE_CHECKING:
    import torch

    from course.checkpoint import Checkpoint


class Kind:
    """The Transformer, or another translator with the same `forward(src, tgt, src_lengths, tgt_lengths)`."""

    name = assignment = "transformer"
    config: type[Any] = ModelConfig  # called with (src_vocab_size, tgt_vocab_size, ...)
    sizes: tuple[str, ...] = ("d_model", "num_heads", "num_layers", "d_ff", "dropout_prob")  # training options
    has_beams = True
    modules: tuple[str, ...] = MODULE_NAMES  # written by students

    @property
    def standins(self) -> Path:
        """The folder of ready-made versions of the modules."""
        return standins_of(self.assignment)

    def load_modules(self, folder: Path | None) -> SimpleNamespace:
        """Load the modules of a folder; by default the reference modules, if they exist."""
        from course.modules import load_modules

        return load_modules(folder)

    def build(self, config: Any, modules: SimpleNamespace) -> Any:
        """Build the model with fresh weights."""
        from course.checkpoint import build_model

        return build_model(config, modules)

    def load(self, folder: Path, modules: SimpleNamespace) -> "Checkpoint":
        """Load a checkpoint into these modules."""
        from course.checkpoint import load_checkpoint

        return load_checkpoint(folder, modules)

    def initialise(self, model: Any) -> None:
        """Initialise the weights of a model."""
        from course.training.speed import initialise

        initialise(model)

    def new_model(self, config: Any, modules: SimpleNamespace, seed: int = 1) -> Any:
        """Build a model with weights initialised from a seed."""
        import torch

        torch.manual_seed(seed)
        model = self.build(config, modules)
        self.initialise(model)
        return model

    def quicken(self, model: Any, modules: SimpleNamespace, cuda: bool) -> None:
        """Speed up training without changing its results."""
        from course.training.speed import fused_attention

        if cuda:
            fused_attention(model, modules.mha.MultiHeadAttention)

    def longest(self, config: Any) -> int:
        """Return the maximum number of tokens in a sentence."""
        return int(config.max_seq_length)

    def translate(
        self, model: Any, sources: list[list[int]], max_tokens: int = 4096, quick: bool = False
    ) -> list[list[int]]:
        """Translate greedily, with a KV cache if `quick`, otherwise with the model's own code only."""
        from course.translation.decoding import greedy_decode

        return greedy_decode(model, sources, max_tokens, cache=quick)

    def cross_weights(self, model: Any, src: "torch.Tensor", tgt: "torch.Tensor") -> "torch.Tensor":
        """Return the attention weights over the source (1, T_e) for a known target (1, T_d): (layers, H, T_d, T_e)."""
        from course.read_attention import attention_maps

        cross = attention_maps(model, src, tgt).cross
        assert cross is not None  # there was a target
        return cross


class Recurrent(Kind):
    """The translator of the assignment `attention`."""

    name, assignment = "recurrent", "attention"
    config = RecurrentConfig
    sizes = ("embed_size", "hidden_size", "attention_size", "dropout_prob")
    has_beams = False
    modules = NAMES

    def load_modules(self, folder: Path | None) -> SimpleNamespace:
        from course.recurrent import load_recurrent_modules

        return load_recurrent_modules(folder)

    def build(self, config: Any, modules: SimpleNamespace) -> Any:
        from course.recurrent import build_recurrent

        return build_recurrent(config, modules)

    def load(self, folder: Path, modules: SimpleNamespace) -> "Checkpoint":
        from course.recurrent import load_recurrent

        return load_recurrent(folder, modules)

    def initialise(self, model: Any) -> None:
        from course.training.recurrent import initialise_recurrent

        initialise_recurrent(model)

    def quicken(self, model: Any, modules: SimpleNamespace, cuda: bool) -> None:
        from course.training.recurrent import precomputed_decoder

        precomputed_decoder(model)

    def longest(self, config: Any) -> int:
        return 1000  # no positional table limits the length

    def translate(
        self, model: Any, sources: list[list[int]], max_tokens: int = 4096, quick: bool = False
    ) -> list[list[int]]:
        from course.recurrent import translate_all

        return translate_all(model, sources, max_tokens)

    def cross_weights(self, model: Any, src: "torch.Tensor", tgt: "torch.Tensor") -> "torch.Tensor":
        from course.recurrent import recurrent_weights

        return recurrent_weights(model, src, tgt)[None, None]  # one layer, one head


KINDS = {kind.name: kind for kind in (Kind(), Recurrent())}


def kind_of(config: SavedConfig) -> Kind:
    """Return the kind that a configuration belongs to."""
    return next(kind for kind in KINDS.values() if isinstance(config, kind.config))


def kind_of_checkpoint(folder: Path) -> Kind:
    """Return the kind of the translator in a folder, recognised by the entries of its configuration.

    If no kind fits, return the Transformer, which reports the problem when it is loaded.
    """
    try:
        entries = set(json.loads((folder / CONFIG).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        entries = set()
    return next((kind for kind in KINDS.values() if entries.issuperset(kind.sizes)), KINDS["transformer"])

"""A model at work on one sentence: its attention (`explore_attention`), or all its computations (`explore_model`)."""

from typing import TYPE_CHECKING, Any

from course.errors import UserError

if TYPE_CHECKING:
    from course.notebook.live.view import LiveView


def explore_attention(model: Any, sentence: str) -> "LiveView":
    """Show the attention of a translation with menus for kind, layer and head, and a slider for the decoding step.

    Args:
        model: a `Checkpoint`, or a `Transformer` with the course's vocabularies.
        sentence: German text.

    Returns:
        HTML that also works without a kernel, with a still image if scripts are disabled. In a notebook, a text box
        above it accepts other sentences.

    Raises:
        UserError: if the sentence is empty or too long.
        NotImplementedError: if the encoder is not written yet. Without a decoder, only the encoder is shown.
    """
    return _view(model, sentence, ("attention",))


def explore_model(model: Any, sentence: str) -> "LiveView":
    """Show all computations of a model for one sentence: embeddings, positions, attention, residual stream, scores.

    Args:
        model: a `Checkpoint`, or a `Transformer` with the course's vocabularies. Every number comes from its own code.
        sentence: the text to translate.

    Returns:
        HTML, as in `explore_attention`.

    Raises:
        UserError, NotImplementedError: as in `explore_attention`.
    """
    from course.notebook.live.view import SECTIONS

    return _view(model, sentence, SECTIONS)


def _view(model: Any, sentence: str, sections: tuple[str, ...]) -> "LiveView":
    from course.checkpoint import Checkpoint
    from course.notebook.live.trace import trace
    from course.notebook.live.view import LiveView

    given = model
    if isinstance(model, Checkpoint):
        model, source, target = model.model, model.source, model.target
    else:
        source, target = _tokenizers()
    if not sentence.strip():
        raise UserError("the sentence is empty; enter some German text")
    tokens = source.encode(sentence)
    longest = model.positional_encoding.pe.size(1)
    if len(tokens) > longest:
        raise UserError(f"the sentence has {len(tokens)} tokens, but the model takes at most {longest}")
    view = LiveView(trace(model, tokens), sentence, source, target, sections)
    view.look_at = lambda other: _view(given, other, sections)
    return view


def _tokenizers() -> Any:
    from course.checkpoint import DEFAULT
    from course.config import SOURCE_TOKENIZER, TARGET_TOKENIZER
    from course.text import Tokenizer

    return Tokenizer(DEFAULT / SOURCE_TOKENIZER), Tokenizer(DEFAULT / TARGET_TOKENIZER)

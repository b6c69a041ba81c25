"""A sentence box with a trained model, for start pages: a preview of an assignment's final result."""

import html
from collections.abc import Callable
from functools import cache
from typing import Any

from course.config import TARGET_TOKENIZER
from course.errors import UserError
from course.location import checkpoints
from course.notebook.display import working

LONGEST = 40  # the most tokens in an answer


class SentenceBox:
    """A text field and a model's answer to the text; without widgets, the answer to one sentence."""

    def __init__(self, answer: Callable[[str], str], sentence: str, task: str, note: str = "") -> None:
        self.answer, self.sentence, self.task, self.note = cache(answer), sentence, task, note

    def __repr__(self) -> str:
        words = f"{self.task}: {self.sentence} → {self._said(self.sentence)}"
        return f"{self.note}\n{words}" if self.note else words

    def _said(self, sentence: str) -> str:
        try:
            return self.answer(sentence)
        except UserError as error:
            return str(error)

    def _ipython_display_(self) -> None:
        from IPython import get_ipython
        from IPython.display import display

        with working(f"{self.note} Computing the first answer ...".strip()):
            words = repr(self)
        pieces: dict[str, Any] = {"text/html": f"<p>{html.escape(words)}</p>", "text/plain": words}
        if hasattr(get_ipython(), "kernel"):
            pieces = {**pieces, **self._panel()._repr_mimebundle_(), "text/plain": words}
        display(pieces, raw=True)  # type: ignore[no-untyped-call]

    def _panel(self) -> Any:
        import ipywidgets

        wide = ipywidgets.Layout(width="min(44em, 95%)")
        field = ipywidgets.Text(value=self.sentence, continuous_update=False, layout=wide)
        shown = ipywidgets.HTML()

        def update(_: Any = None) -> None:
            shown.value = "<p>Computing ...</p>"
            shown.value = f"<p style='font-size: 1.3em'>{html.escape(self._said(field.value))}</p>"

        field.observe(update, names="value")
        update()
        note = f"<p>{html.escape(self.note)}</p>" if self.note else ""
        return ipywidgets.VBox([ipywidgets.HTML(f"{note}{html.escape(self.task)}, then press Enter:"), field, shown])


def try_model(checkpoint: str = "de-en") -> SentenceBox:
    """Return a box in which a trained model, running on ready-made modules, translates or continues a text.

    Args:
        checkpoint: the folder of the model in `checkpoints`.

    Raises:
        UserError: if the model is missing or damaged.
    """
    with working("Loading the trained model ..."):
        box = _translator if (checkpoints() / checkpoint / TARGET_TOKENIZER).is_file() else _writer
        return box(checkpoint)


def _translator(checkpoint: str) -> SentenceBox:
    from course.kinds import kind_of_checkpoint
    from course.notebook.load import trained

    loaded, kind = trained(checkpoint=checkpoint), kind_of_checkpoint(checkpoints() / checkpoint)

    def translate(sentence: str) -> str:
        tokens = loaded.source.encode(sentence)
        if not sentence.strip() or len(tokens) > kind.longest(loaded.config):
            raise UserError("enter one German sentence")
        (result,) = kind.translate(loaded.model, [tokens], LONGEST)
        return loaded.target.decode(result)

    return SentenceBox(translate, "Meine Schwester liest ein altes Buch.", "Type a short German sentence")


def _writer(checkpoint: str) -> SentenceBox:
    import torch

    from course.variants.trained import load_ready_made

    loaded = load_ready_made(checkpoint)
    tokenizer = loaded.tokenizer
    if tokenizer is None:
        raise UserError(f"the model {checkpoint} does not read text")

    def write(beginning: str) -> str:
        tokens = tokenizer.encode(beginning)[:-1]
        draw = torch.Generator().manual_seed(1)
        with torch.no_grad():
            for _ in range(LONGEST):
                chances = (loaded.logits(torch.tensor([tokens]))[0, -1] / 0.7).softmax(dim=-1)
                tokens.append(int(torch.multinomial(chances, 1, generator=draw)))
                if tokens[-1] == tokenizer.end:
                    break
        return tokenizer.decode(tokens)

    millions = sum(p.numel() for p in loaded.model.parameters()) / 1e6
    note = (
        f"This language model is small ({millions:.1f} million weights), and has learned for minutes from fairy tales, "
        "not for months from the web. Its text sounds like a tale, but it is often misspelt or makes no sense."
    )
    return SentenceBox(write, "Once upon a time there was a", "Type the beginning of a tale", note)

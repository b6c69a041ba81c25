"""Attention of one sentence with menus and a slider (ipywidgets), or as a figure where there are no widgets."""

import html
from contextlib import suppress
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

from course.attention import AttentionMaps, attention_maps
from course.errors import UserError
from course.heatmaps import KINDS, show_attention

ALL = ("all", -1)  # None would mean that nothing is chosen


class Explorer:
    """The attention of a sentence and of its translation, step by step."""

    def __init__(self, model: Any, sentence: str) -> None:
        import torch

        from course.checkpoint import Checkpoint
        from course.translation.decoding import greedy_decode

        if isinstance(model, Checkpoint):
            self.model, tokenizers = model.model, (model.source, model.target)
        else:
            self.model, tokenizers = model, _tokenizers()
        self.source, self.target = tokenizers
        if not sentence.strip():
            raise UserError("the sentence is empty; give some German text")
        source = self.source.encode(sentence)
        longest = self.model.positional_encoding.pe.size(1)
        if len(source) > longest:
            raise UserError(f"the sentence has {len(source)} tokens, but the model takes at most {longest}")
        self.sentence, self.src = sentence, torch.tensor([source])
        attention_maps(self.model, self.src)  # NotImplementedError here: not even the encoder is written
        self.tgt: torch.Tensor | None = None
        with suppress(NotImplementedError):  # the decoder may not be written yet
            (found,) = greedy_decode(self.model, [source])
            self.tgt = torch.tensor([[self.model.sos_idx, *found]])
        self.maps = lru_cache(maxsize=64)(self._maps)

    @property
    def steps(self) -> int:
        return 0 if self.tgt is None else self.tgt.size(1)

    def _maps(self, step: int) -> AttentionMaps:
        # Only what is written at that step goes in: a mask that does not hide the future cannot show it here.
        return attention_maps(self.model, self.src, None if self.tgt is None else self.tgt[:, :step])

    def figure(self, kind: str, layer: int | None, head: int | None, step: int) -> Any:
        """The heatmaps at a step, counted from 1."""
        maps = self.maps(step)
        return show_attention(maps, kind, layer, head, self.source, self.target, upto=self.steps or None)

    def caption(self, step: int) -> str:
        """The sentence, and the translation at that step."""
        if self.tgt is None:
            return f"{self.sentence} (the decoder is not written yet)"
        tokens = self.tgt[0].tolist()
        written = self.target.decode(tokens[:step])
        coming = self.target.pieces([tokens[step]])[0] if step < len(tokens) else "the end of the sentence"
        return f"{self.sentence} → {written or '(nothing yet)'} | next: {coming}"


def _tokenizers() -> Any:
    from course.checkpoint import DEFAULT
    from course.config import SOURCE_TOKENIZER, TARGET_TOKENIZER
    from course.text import Tokenizer

    return Tokenizer(DEFAULT / SOURCE_TOKENIZER), Tokenizer(DEFAULT / TARGET_TOKENIZER)


def explore_attention(model: Any, sentence: str) -> Any:
    """Attention of a translation with menus for kind, layer and head, and a slider for the decoding step.

    Args:
        model: a `Checkpoint`, or a `Transformer` with the course's vocabularies.
        sentence: German text.

    Returns:
        a widget; without ipywidgets a figure of all layers and heads.

    Raises:
        UserError: if the sentence is empty or too long.
        NotImplementedError: if the encoder is not written yet. Without a decoder there is the encoder only.
    """
    explorer = Explorer(model, sentence)
    kinds = [kind for kind in KINDS if explorer.steps or kind == "encoder"]
    try:
        import ipywidgets
    except ImportError:
        return explorer.figure(kinds[-1], None, None, explorer.steps)
    return _widget(explorer, kinds, ipywidgets)


def _widget(explorer: Explorer, kinds: list[str], widgets: Any) -> Any:
    layers, heads = explorer.maps(explorer.steps).encoder.shape[:2]
    names = {"description_width": "4.5em"}
    controls = SimpleNamespace(
        kind=widgets.Dropdown(options=[(KINDS[kind], kind) for kind in kinds], value=kinds[-1], description="kind"),
        layer=widgets.Dropdown(
            options=[ALL, *((str(layer), layer) for layer in range(layers))],
            value=layers - 1,
            description="layer",
        ),
        head=widgets.Dropdown(
            options=[ALL, *((str(head), head) for head in range(heads))], value=-1, description="head"
        ),
        step=widgets.IntSlider(
            min=min(1, explorer.steps),
            max=explorer.steps,
            value=explorer.steps,
            description="step",
            continuous_update=False,
            disabled=not explorer.steps,
        ),
    )
    for control in vars(controls).values():
        control.style = names
    picture, caption = widgets.HTML(), widgets.HTML()

    def draw(_: Any = None) -> None:
        step = controls.step.value
        layer, head = (None if menu.value < 0 else menu.value for menu in (controls.layer, controls.head))
        figure = explorer.figure(controls.kind.value, layer, head, step)
        picture.value = figure.image()
        caption.value = f'<p lang="de">{html.escape(explorer.caption(step))}</p>'

    for control in vars(controls).values():
        control.observe(draw, names="value")
    draw()
    menus = widgets.HBox([controls.kind, controls.layer, controls.head], layout={"flex_flow": "row wrap"})
    return widgets.VBox([menus, controls.step, caption, picture])

"""The live view as HTML that needs neither a network nor a kernel, with a still image if scripts are disabled."""

import base64
import html
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from course.heatmaps import KINDS, show_attention
from course.notebook.live.sentence_box import show_with_box
from course.notebook.live.trace import Trace

HERE = Path(__file__).parent
SECTIONS = ("tokens", "attention", "stream", "scores")
SHOWN = 12  # tokens of the vocabulary shown at each step
TEMPERATURES = [round(0.1 * number, 1) for number in range(1, 31)]


class LiveView:
    """The view in a notebook: HTML with a script, and a plain text version."""

    def __init__(self, traced: Trace, sentence: str, source: Any, target: Any, sections: tuple[str, ...]) -> None:
        self.trace, self.sentence, self.source, self.target, self.sections = traced, sentence, source, target, sections
        self.look_at: Callable[[str], LiveView] | None = None  # returns the view of a different sentence, if possible

    @property
    def text(self) -> str:
        """The sentence and its translation."""
        if not self.trace.steps:
            return f"{self.sentence} (the decoder is not written yet)"
        return f"{self.sentence} → {self.target.decode(self.trace.chosen)}"

    def data(self) -> dict[str, Any]:
        """The data for the script. Matrices are stored as base64-encoded 16-bit numbers between `low` and `high`."""
        maps, traced = self.trace.maps, self.trace
        attention = {}
        for kind, name in KINDS.items():
            weights, mask = getattr(maps, kind), getattr(maps, f"{kind}_mask")
            if weights is not None:
                attention[kind] = {"name": name, "weights": _packed(weights), "mask": mask.int().tolist()}
        tokens = {"encoder": maps.src.tolist(), "decoder": [] if maps.tgt is None else maps.tgt.tolist()}
        return {
            "sections": self.sections,
            "sentence": self.sentence,
            "tokens": {
                side: [[piece, index] for piece, index in zip(self._pieces(side, indices), indices, strict=True)]
                for side, indices in tokens.items()
            },
            "chosen": self.target.pieces(traced.chosen),
            "texts": [self.target.decode(traced.chosen[:step]) for step in range(traced.steps + 1)],
            "attention": attention,
            "streams": {
                side: [[name, _packed(matrix)] for name, matrix in stations.items()]
                for side, stations in traced.streams.items()
            },
            "scores": [self._step(scores) for scores in traced.scores],
            "temperatures": TEMPERATURES,
            "colours": {name: _colours(name) for name in ("cividis", "PuOr")},
        }

    def _pieces(self, side: str, indices: list[int]) -> list[str]:
        return list((self.source if side == "encoder" else self.target).pieces(indices))

    def _step(self, scores: torch.Tensor) -> dict[str, Any]:
        """Return a step's largest scores and, for each temperature, the log-sum-exp over the whole vocabulary."""
        scores = scores.double()
        values, indices = scores.topk(min(SHOWN, len(scores)))
        sums = [round(float((scores / temperature).logsumexp(dim=0)), 5) for temperature in TEMPERATURES]
        return {
            "pieces": self.target.pieces(indices.tolist()),
            "scores": [round(value, 5) for value in values.tolist()],
            "sums": sums,
        }

    def still(self) -> str:
        """The version without a script: the attention of the last layer, and the tokens chosen in all steps."""
        kind = "cross" if self.trace.maps.cross is not None else "encoder"
        last = getattr(self.trace.maps, kind).size(0) - 1
        picture = show_attention(self.trace.maps, kind, layer=last, source=self.source, target=self.target).image()
        rows = []
        for step, scores in enumerate(self.trace.scores, start=1):
            values, indices = scores.softmax(dim=0).topk(3)
            named = zip(self.target.pieces(indices.tolist()), values.tolist(), strict=True)
            cells = "".join(f"<td>{html.escape(piece)} {value:.2f}</td>" for piece, value in named)
            rows.append(f'<tr><th scope="row">{step}</th>{cells}</tr>')
        caption = "<caption>The three most probable tokens of each step</caption>"
        head = (
            "<thead><tr>"
            + "".join(f'<th scope="col">{name}</th>' for name in ("step", "1", "2", "3"))
            + "</tr></thead>"
        )
        table = f"<table>{caption}{head}<tbody>{''.join(rows)}</tbody></table>" if rows else ""
        return (
            f"<p>{html.escape(self.text)}</p><p>{KINDS[kind].capitalize()}, layer {last}:</p>{picture}{table}"
            "<p>Run the cell, or open the notebook as trusted, to move through layers, heads and steps.</p>"
        )

    def _repr_html_(self) -> str:
        data = json.dumps(self.data(), ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
        style, script = ((HERE / f"view.{kind}").read_text(encoding="utf-8") for kind in ("css", "js"))
        return (
            f'<div class="tc-live"><style>{style}</style><div class="tc-still">{self.still()}</div>'
            f'<script type="application/json">{data}</script></div><script>{script}</script>'
        )

    def _ipython_display_(self) -> None:
        from IPython import get_ipython
        from IPython.display import display

        if self.look_at is not None and hasattr(get_ipython(), "kernel"):
            show_with_box(self, self.look_at)
        else:
            display({"text/html": self._repr_html_(), "text/plain": repr(self)}, raw=True)  # type: ignore[no-untyped-call]

    def __repr__(self) -> str:
        return self.text


def _packed(values: torch.Tensor) -> dict[str, Any]:
    """Encode a tensor in base64, as little-endian 16-bit numbers from `low` to `high`."""
    array = values.double().numpy()
    low, high = float(array.min()), float(array.max())
    steps = np.round((array - low) / ((high - low) or 1.0) * 65535).astype("<u2")
    return {
        "shape": list(array.shape),
        "low": low,
        "high": high,
        "data": base64.b64encode(steps.tobytes()).decode("ascii"),
    }


def _colours(name: str) -> list[list[int]]:
    """Sample a matplotlib colour map from its lower to its upper end."""
    import matplotlib as mpl

    return [[round(255 * part) for part in mpl.colormaps[name](place)[:3]] for place in np.linspace(0, 1, 17)]

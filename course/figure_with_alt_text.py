"""A matplotlib figure that notebooks show as an image with alternative text, for light and dark pages."""

import base64
import html
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from matplotlib import rcParams
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.spines import Spine
from matplotlib.text import Text

from course.narrow_figures import stack
from course.page_style import SMALLEST, STRIP, STYLE, TALL, boxed, two_forms

DPI = 100
PALE = "#d6d9dd"  # replaces black on a dark page


class AltFigure(Figure):
    """A figure with alternative text and two versions, for light and dark pages.

    It does not use pyplot, so it need not be closed and does not select a backend.
    """

    alt: str = ""

    def png(self, dpi: int = 2 * DPI) -> bytes:
        """The figure as a PNG file, on a white background."""
        return _png(self, dpi)

    def image(self) -> str:
        """The figure as HTML, sharp on high-resolution screens."""
        return image(self, self.alt, 2 * DPI, DPI)

    def _repr_html_(self) -> str:
        return self.image()

    def _ipython_display_(self) -> None:
        from IPython.display import display

        # Once pyplot is imported, a notebook would also draw every Figure as a PNG, next to the HTML.
        display({"text/html": self.image(), "text/plain": repr(self)}, raw=True)  # type: ignore[no-untyped-call]

    def __repr__(self) -> str:
        return self.alt or super().__repr__()


def image(figure: Figure, alt: str, dpi: int, shown: int = 0, **saving: Any) -> str:
    """A figure as an HTML image with a dark variant. If styles are not allowed, the light variant is shown.

    It shrinks with the page until its smallest text is 11 pixels high. On a narrow page its panels are stacked.

    Args:
        alt: the figure in words.
        dpi: the resolution.
        shown: the pixels per inch on the page; by default equal to `dpi`.
        saving: further arguments for `savefig`.
    """
    pictures = {"light": _png(figure, dpi, facecolor="white", **saving)}
    with _pale(figure):
        pictures["dark"] = _png(figure, dpi, facecolor="none", **saving)
    scale = (shown or dpi) / dpi
    least = SMALLEST * 72 / (_smallest_text(figure) * dpi * scale)  # as a share of the width
    wide = _tags(pictures, alt, scale, least)
    left = 0.0
    if saving.get("bbox_inches") == "tight":
        left = figure.get_tightbbox().x0 - rcParams["savefig.pad_inches"]
    columns: dict[tuple[int, int], list[tuple[int, int]]] = {}  # panels below each other, and the same with labels
    for axes in figure.axes:
        if axes.get_label() != "<colorbar>":
            panel = axes.get_window_extent()
            boxes = [
                (round((box.x0 / figure.dpi - left) * dpi), round((box.x1 / figure.dpi - left) * dpi))
                for box in (panel, axes.get_tightbbox() or panel)
            ]
            columns.setdefault(boxes[0], []).append(boxes[1])
    spans = sorted(columns)
    outer = [(min(start for start, _ in columns[span]), max(end for _, end in columns[span])) for span in spans]
    stacked = {} if figure.subfigs else stack(pictures, spans, outer, round(STRIP / scale), round(TALL / scale))
    if not stacked:
        return STYLE + boxed(wide)
    return STYLE + two_forms(wide, _tags(stacked, alt, scale, least), round(_width(pictures["light"]) * scale * least))


def _tags(pictures: dict[str, bytes], alt: str, scale: float, least: float) -> str:
    """The light and dark pictures as <img> elements."""
    width = round(_width(pictures["light"]) * scale)
    style = f"max-width:max(100%,{round(width * min(1, least))}px);height:auto"
    tags = []
    for name, data in pictures.items():
        look = "background:white" if name == "light" else "display:none"
        source = f"data:image/png;base64,{base64.b64encode(data).decode('ascii')}"
        words = f'alt="{html.escape(alt)}" width="{width}" style="{style};{look}"'
        tags.append(f'<img class="tc-{name}" {words} src="{source}">')
    return "".join(tags)


def _width(png: bytes) -> int:
    """Read the width of a PNG picture, which is stored at a fixed offset."""
    return int.from_bytes(png[16:20], "big")


def _smallest_text(figure: Figure) -> float:
    """The size of the smallest text in a figure, in points."""
    texts = (text for text in figure.findobj(Text) if isinstance(text, Text) and text.get_visible())
    return min((float(text.get_fontsize()) for text in texts if text.get_text().strip()), default=12.0)


def _png(figure: Figure, dpi: int, **saving: Any) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=dpi, **saving)
    return buffer.getvalue()


@contextmanager
def _pale(figure: Figure) -> Iterator[None]:
    """Temporarily replace black and dark grey with a pale colour, on a transparent background.

    Text on a coloured area, in a heatmap or in a box, keeps its colour.
    """
    before: list[Callable[[], Any]] = []
    layout = figure.get_layout_engine()
    figure.set_layout_engine("none")  # keeps all positions

    def change(now: Any, put: Callable[[Any], Any], new: Any) -> None:
        before.append(lambda: put(now))
        put(new)

    on_colours = {text for axes in figure.axes if axes.images or axes.patches for text in axes.texts}
    for artist in figure.findobj(Artist):
        if isinstance(artist, Text) and artist not in on_colours and _is_ink(artist.get_color()):
            change(artist.get_color(), artist.set_color, PALE)
        elif isinstance(artist, Line2D):
            for now, put in (
                (artist.get_color(), artist.set_color),
                (artist.get_markeredgecolor(), artist.set_markeredgecolor),
            ):
                if _is_ink(now):
                    change(now, put, PALE)
        elif isinstance(artist, Spine) and _is_ink(artist.get_edgecolor()):
            change(artist.get_edgecolor(), artist.set_edgecolor, PALE)
        elif isinstance(artist, Axes):
            change(artist.get_facecolor(), artist.set_facecolor, "none")
    try:
        yield
    finally:
        for put_back in before:
            put_back()
        figure.set_layout_engine(layout)


def _is_ink(colour: Any) -> bool:
    """Whether a colour is black or dark grey, and therefore invisible on a dark page."""
    if isinstance(colour, str) and colour in ("none", "auto"):
        return False
    red, green, blue, opacity = to_rgba(colour)
    return red == green == blue and red < 0.5 and opacity > 0

"""A matplotlib figure that notebooks show as an image with alternative text, for light and dark pages."""

import base64
import html
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.spines import Spine
from matplotlib.text import Text

DPI = 100
PALE = "#d6d9dd"  # replaces black on a dark page
# How JupyterLab, pages from nbconvert, Sphinx themes, VS Code and Colab mark dark themes.
DARK = ('[data-jp-theme-light="false"]', '[data-theme="dark"]', "body.vscode-dark", 'html[theme="dark"]')
STYLE = (
    f"<style>{', '.join(f'{page} .tc-light' for page in DARK)} {{ display: none }} "
    f"{', '.join(f'{page} .tc-dark' for page in DARK)} {{ display: inline !important }}</style>"
)


class AltFigure(Figure):
    """A figure with alternative text and two versions, for light and dark pages.

    It is independent of pyplot: it need not be closed, and it selects no backend.
    """

    alt: str = ""

    def png(self, dpi: int = 2 * DPI) -> bytes:
        """The figure as a PNG file, on white."""
        return _png(self, dpi)

    def image(self) -> str:
        """The figure as HTML, sharp on high-resolution screens."""
        return image(self, self.alt, 2 * DPI, round(self.get_figwidth() * DPI))

    def _repr_html_(self) -> str:
        return self.image()

    def _ipython_display_(self) -> None:
        from IPython.display import display

        # Once pyplot is imported, a notebook would also draw every Figure as a PNG, next to the HTML.
        display({"text/html": self.image(), "text/plain": repr(self)}, raw=True)  # type: ignore[no-untyped-call]

    def __repr__(self) -> str:
        return self.alt or super().__repr__()


def image(figure: Figure, alt: str, dpi: int, width: int | None = None, **saving: Any) -> str:
    """A figure as an HTML image with a dark variant. If styles are not allowed, the light one is shown.

    Args:
        alt: the figure in words.
        width: of the image on the page, in pixels; by default its own width.
        saving: further arguments of `savefig`.
    """
    words = f'alt="{html.escape(alt)}"' + (f' width="{width}"' if width else "")
    light = base64.b64encode(_png(figure, dpi, facecolor="white", **saving)).decode("ascii")
    with _pale(figure):
        dark = base64.b64encode(_png(figure, dpi, facecolor="none", **saving)).decode("ascii")
    return (
        f'{STYLE}<img class="tc-light" {words} style="max-width:100%;height:auto;background:white" '
        f'src="data:image/png;base64,{light}">'
        f'<img class="tc-dark" {words} style="max-width:100%;height:auto;display:none" '
        f'src="data:image/png;base64,{dark}">'
    )


def _png(figure: Figure, dpi: int, **saving: Any) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=dpi, **saving)
    return buffer.getvalue()


@contextmanager
def _pale(figure: Figure) -> Iterator[None]:
    """Temporarily draw black and dark grey in a pale colour, on a transparent background.

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
    """Whether a colour is black or dark grey, and so invisible on a dark page."""
    if isinstance(colour, str) and colour in ("none", "auto"):
        return False
    red, green, blue, opacity = to_rgba(colour)
    return red == green == blue and red < 0.5 and opacity > 0

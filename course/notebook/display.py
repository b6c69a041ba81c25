"""Output for the notebooks: tables, and figures with alternative text."""

import base64
import contextlib
import html
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from course.page_style import NARROW, boxed, two_forms

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from course.figures.drawing import Drawing


@contextlib.contextmanager
def working(words: str) -> Iterator[None]:
    """Show a message in a live notebook during a slow operation; the next output replaces it."""
    from IPython import get_ipython
    from IPython.display import clear_output

    live = hasattr(get_ipython(), "kernel")
    if live:
        print(words, flush=True)
    yield
    if live:
        clear_output(wait=True)  # type: ignore[no-untyped-call]


class Link(str):
    """A table cell that links to a file; by default, its text is the file's name."""

    file: str

    def __new__(cls, file: str, text: str = "") -> "Link":
        made = super().__new__(cls, text or file)
        made.file = file
        return made


class Table:
    """A table for the notebook: HTML if supported, else aligned text."""

    def __init__(self, header: Sequence[str], rows: Sequence[Sequence[Any]], caption: str = "") -> None:
        self.header = list(header)
        self.rows = [[_words(cell) for cell in row] for row in rows]
        self.caption = caption

    def _repr_html_(self) -> str:
        style = "text-align: left; padding: 0.25em 0.75em"  # some pages allow no style sheets, or have their own
        head = "".join(f'<th scope="col" style="{style}">{html.escape(cell)}</th>' for cell in self.header)
        body = "".join(
            "<tr>" + "".join(f'<td style="{style}">{_html(cell)}</td>' for cell in row) + "</tr>" for row in self.rows
        )
        caption = f'<caption style="{style}">{html.escape(self.caption)}</caption>' if self.caption else ""
        return boxed(f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")

    def __repr__(self) -> str:
        lines = [self.header, *self.rows]
        widths = [max(len(line[column]) for line in lines) for column in range(len(self.header))]
        texts = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]
        return "\n".join([self.caption, *texts] if self.caption else texts)


class Overview(Table):
    """A table next to a drawing, which notebooks show as an image; on narrow pages, the table is below it."""

    def __init__(self, drawing: "Drawing", header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        super().__init__(header, rows)
        self.drawing = drawing

    def _repr_html_(self) -> str:
        data = base64.b64encode(self.drawing.svg().encode()).decode("ascii")
        alt = html.escape(f"{self.drawing.title}. {self.drawing.description}")
        image = f'<img alt="{alt}" style="max-width:100%;height:auto" src="data:image/svg+xml;base64,{data}">'
        parts = f'<div style="max-width:100%">{image}</div>{super()._repr_html_()}'
        return f'<div style="display:flex;flex-wrap:wrap;gap:1em;align-items:flex-start">{parts}</div>'


def _words(cell: Any) -> str:
    if isinstance(cell, Link):
        return cell
    return _number(cell) if isinstance(cell, float) else str(cell)


def _number(value: float) -> str:
    """Format a number without an exponent, usually with four significant digits."""
    size = abs(value)
    if 0 < size < 1e-6:
        return "< 0.000001" if value > 0 else "> -0.000001"
    if 0 < size < 1e-3:
        return f"{value:.6f}".rstrip("0")
    return f"{value:,.0f}" if 1e4 <= size < float("inf") else f"{value:.4g}"


def _html(cell: str) -> str:
    words = html.escape(cell)
    return f'<a href="{html.escape(cell.file)}">{words}</a>' if isinstance(cell, Link) else words


def show(figure: "Figure", description: str, narrow: "Figure | None" = None) -> None:
    """Display a figure in the page's theme, with alternative text.

    Args:
        narrow: the figure that replaces it on narrow pages.
    """
    from IPython.display import HTML, display
    from matplotlib import pyplot as plt

    from course.figure_with_alt_text import image

    picture = image(figure, description, 110, bbox_inches="tight")
    if narrow is not None:
        picture = two_forms(picture, image(narrow, description, 110, bbox_inches="tight"), NARROW)
    for drawn in filter(None, (figure, narrow)):
        plt.close(drawn)  # otherwise the notebook would show it again, without alternative text
    display(HTML(picture))  # type: ignore[no-untyped-call]

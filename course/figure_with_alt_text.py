"""A matplotlib figure that notebooks show as a picture with an alternative text, on every theme."""

import base64
import html
import io

from matplotlib.figure import Figure

DPI = 100


class AltFigure(Figure):
    """A figure with a face of its own, so that it can be read on a dark page too, and with words for it.

    It does not belong to pyplot: nothing has to be closed, and no backend is chosen.
    """

    alt: str = ""

    def png(self, dpi: int = 2 * DPI) -> bytes:
        """The figure as a PNG file."""
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=dpi)
        return buffer.getvalue()

    def image(self) -> str:
        """The figure as an HTML image, sharp on fine screens."""
        data = base64.b64encode(self.png()).decode("ascii")
        width = round(self.get_figwidth() * DPI)
        return (
            f'<img alt="{html.escape(self.alt)}" width="{width}" style="max-width:100%;height:auto;background:white" '
            f'src="data:image/png;base64,{data}">'
        )

    def _repr_html_(self) -> str:
        return self.image()

    def _ipython_display_(self) -> None:
        from IPython.display import display

        # Once pyplot is imported, a notebook would draw every Figure a second time, as a PNG beside the HTML.
        display({"text/html": self.image(), "text/plain": repr(self)}, raw=True)  # type: ignore[no-untyped-call]

    def __repr__(self) -> str:
        return self.alt or super().__repr__()

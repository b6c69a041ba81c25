"""A text box above the live view, for entering other sentences. It needs a running kernel; the view below does not."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from course.errors import UserError

if TYPE_CHECKING:
    from course.notebook.live.view import LiveView


def show_with_box(view: "LiveView", look_at: "Callable[[str], LiveView]") -> None:
    """Display a view under a text field; a new sentence replaces the view.

    Args:
        view: the first view.
        look_at: returns the view of a sentence, or raises UserError, whose message is shown next to the box.
    """
    import ipywidgets
    from IPython.display import display

    box = ipywidgets.Text(
        value=view.sentence,
        description="sentence",
        continuous_update=False,  # only on Enter, or when the field loses focus
        layout=ipywidgets.Layout(width="min(44em, 95%)"),
    )
    said = ipywidgets.Label()
    row = ipywidgets.VBox([box, said])
    # Where widgets are not supported, as in an exported notebook, a message replaces the box.
    pieces = row._repr_mimebundle_()
    display({**pieces, "text/plain": "Run this cell to try sentences of your own."}, raw=True)  # type: ignore[no-untyped-call]
    shown = display(_html(view), raw=True, display_id=True)  # type: ignore[no-untyped-call]

    def another(change: dict[str, str]) -> None:
        said.value = "Computing ..."  # a long sentence takes seconds
        try:
            new = look_at(change["new"])
        except (UserError, NotImplementedError) as error:
            said.value = str(error)
            return
        said.value = ""
        shown.update(_html(new), raw=True)

    box.observe(another, names="value")


def _html(view: "LiveView") -> dict[str, str]:
    return {"text/html": view._repr_html_(), "text/plain": repr(view)}

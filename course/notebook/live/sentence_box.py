"""A box above the live view, for another sentence. It needs a running kernel; the view below it does not."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from course.errors import UserError

if TYPE_CHECKING:
    from course.notebook.live.view import LiveView


def show_with_box(view: "LiveView", look_at: "Callable[[str], LiveView]") -> None:
    """Display a view under a text field; a sentence that is entered takes the place of the one that is shown.

    Args:
        view: what is shown first.
        look_at: gives the view of another sentence, or raises UserError, whose words stand beside the box then.
    """
    import ipywidgets
    from IPython.display import display

    box = ipywidgets.Text(
        value=view.sentence,
        description="sentence",
        continuous_update=False,  # only with the Enter key, or when the field is left
        layout=ipywidgets.Layout(width="min(44em, 95%)"),
    )
    said = ipywidgets.Label()
    row = ipywidgets.VBox([box, said])
    # Where there are no widgets, as in a notebook that was exported, words take its place.
    pieces = row._repr_mimebundle_()
    display({**pieces, "text/plain": "Run this cell to try sentences of your own."}, raw=True)  # type: ignore[no-untyped-call]
    shown = display(_html(view), raw=True, display_id=True)  # type: ignore[no-untyped-call]

    def another(change: dict[str, str]) -> None:
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

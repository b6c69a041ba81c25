"""Predict before an experiment: `predict("Which weight is the largest?", ["the first", "the last"])`.

The student clicks on an option, or types an answer if there are no options. Then the text "What you should see" below
the experiment opens. The answer is kept in `.predictions.json` next to the notebook and earns no points. No cell waits
for an answer: without buttons, as on paper or in an exported notebook, the question and its options appear as text.
"""

import html
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from course.notebook.kept import read_kept, write_kept

KEPT = ".predictions.json"
# Runs in the page: opens the first collapsed section after the button. The experiment is between the two.
UNFOLD = """
const all = [...document.querySelectorAll("details")];
const next = all.find(one => (element.compareDocumentPosition(one) & Node.DOCUMENT_POSITION_FOLLOWING)
  && one.querySelector("summary")?.textContent.startsWith("What you should see"));
if (next) next.open = true;
"""


class Prediction:
    """A question about an experiment that has not run yet, and the student's answer, if there is one."""

    def __init__(self, question: str, options: Sequence[str] = (), folder: str | Path = ".") -> None:
        self.question, self.options, self.path = question, tuple(options), Path(folder) / KEPT

    @property
    def kept(self) -> str | None:
        """The recorded answer, which may be from an earlier session."""
        given = read_kept(self.path).get(self.question)
        return given if isinstance(given, str) else None

    def keep(self, answer: str) -> None:
        """Record an answer, replacing any earlier one. If the folder is read-only, nothing is recorded."""
        write_kept(self.path, read_kept(self.path) | {self.question: answer})

    def _repr_html_(self) -> str:
        options = "".join(f"<li>{html.escape(option)}</li>" for option in self.options)
        listed = f"<ul>{options}</ul>" if options else ""
        return f"<p><b>Predict first.</b> {html.escape(self.question)}</p>{listed}{self._said(self.kept)}"

    def __repr__(self) -> str:
        return "\n".join([f"Predict first. {self.question}", *(f"- {option}" for option in self.options)])

    def _said(self, answer: str | None) -> str:
        if answer is None:
            return ""
        return f"<p>Your prediction: <b>{html.escape(answer)}</b>. Run the next cell and compare.</p>"

    def _ipython_display_(self) -> None:
        from IPython import get_ipython
        from IPython.display import display

        words = {"text/html": self._repr_html_(), "text/plain": repr(self)}
        live = hasattr(get_ipython(), "kernel")
        pieces = self._panel()._repr_mimebundle_() if live else {}
        display({**words, **pieces, "text/plain": words["text/plain"]}, raw=True)  # type: ignore[no-untyped-call]

    def _panel(self) -> Any:
        """The question with a button for each option, or with a text field."""
        import ipywidgets
        from IPython.display import Javascript, display

        said = ipywidgets.HTML(self._said(self.kept))
        page = ipywidgets.Output()

        def answer(text: str) -> None:
            if not text.strip():
                return
            self.keep(text)
            said.value = self._said(text)
            page.clear_output()
            with page:
                display(Javascript(UNFOLD))  # type: ignore[no-untyped-call]

        question = ipywidgets.HTML(f"<b>Predict first.</b> {html.escape(self.question)}")
        if not self.options:
            field = ipywidgets.Text(placeholder="your prediction, then Enter", continuous_update=False)
            field.observe(lambda change: answer(change["new"]), names="value")
            return ipywidgets.VBox([question, field, said, page])
        buttons = []
        for option in self.options:
            button = ipywidgets.Button(description=option, layout=ipywidgets.Layout(width="auto"))
            button.on_click(lambda _, option=option: answer(option))
            buttons.append(button)
        row = ipywidgets.Box(buttons, layout=ipywidgets.Layout(flex_flow="row wrap"))
        return ipywidgets.VBox([question, row, said, page])


def predict(question: str, options: Sequence[str] = (), folder: str | Path = ".") -> Prediction:
    """Ask for a prediction of the next cell's result.

    Args:
        question: plain text.
        options: the answers to choose from; if there are none, the student types an answer.
        folder: where `.predictions.json` is kept.
    """
    return Prediction(question, options, folder)

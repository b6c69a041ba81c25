"""For the notebooks: `ask_about("mha")` asks three questions about your own code, once it has full marks.

They are answered and explained at once, give no points, and nobody else sees the answers. What was answered is kept in
`.questions.json` beside the modules.
"""

import contextlib
import html
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from autograder.manifest import Assignment, Stage
    from autograder.questions.question import Question

KEPT = ".questions.json"
COUNT = 3


def ask_about(stage: str, folder: str | Path = ".", assignment: str | None = None) -> Any:
    """Ask three questions about the code of a stage; the next call asks new ones, if these are answered.

    Args:
        stage: the name of the stage, for instance "mha".
        folder: where the modules are.
        assignment: the assignment that the stage belongs to; by default the one whose modules are in the folder.

    Returns:
        the questions with buttons, for the notebook; a text where the stage does not have full marks yet.

    Raises:
        UserError: if there is no such stage, or the folder holds none of the modules.
    """
    from autograder.submissions.which_assignment import which_assignment
    from course.notebook.check import desk_of

    place = Path(folder)
    chosen = which_assignment(assignment, place.resolve())
    found = chosen.stage(stage)
    with contextlib.redirect_stderr(io.StringIO()):
        right = desk_of(chosen).is_right(found, place)
    if not right:
        return f"First get full marks: check({stage!r}). Then there are questions about your code."
    progress = Progress(place / KEPT, stage)
    questions = own_questions(place, chosen, found, progress.round)
    if not questions:
        return "Your code is so short that there is nothing to ask."
    return panel(questions, found, progress)


def own_questions(folder: Path, chosen: "Assignment", stage: "Stage", turn: int) -> "tuple[Question, ...]":
    """The questions of one turn, made by running the code in a worker."""
    from autograder.questions.generate import calls_of, paper
    from autograder.sandbox.worker_processes import make_workers
    from autograder.submissions.read_submission import read_submission

    workers = make_workers()
    try:
        calls = calls_of(stage, chosen, workers)
        return paper(read_submission(folder, chosen), stage, chosen, workers, COUNT, turn, calls).questions
    finally:
        workers.close()


class Progress:
    """What was answered, by stage: the turn, and the letters given in it."""

    def __init__(self, path: Path, stage: str) -> None:
        self.path, self.stage = path, stage

    def _read(self) -> dict[str, Any]:
        try:
            kept = json.loads(self.path.read_text(encoding="utf-8"))
            return kept if isinstance(kept, dict) else {}
        except (OSError, ValueError):
            return {}

    @property
    def round(self) -> int:
        """The turn that is to be answered; after all of one the next begins."""
        own = self._read().get(self.stage, {})
        return int(own.get("round", 0)) + (len(own.get("given", {})) >= int(own.get("of", COUNT)))

    def given(self, turn: int) -> dict[str, str]:
        """The letters that were given in a turn, by the ids of the questions."""
        own = self._read().get(self.stage, {})
        return dict(own.get("given", {})) if own.get("round") == turn else {}

    def keep(self, turn: int, question: str, letter: str, of: int) -> None:
        """Write an answer down; only the first one to a question counts."""
        kept, given = self._read(), self.given(turn)
        given.setdefault(question, letter)
        kept[self.stage] = {"round": turn, "given": given, "of": of}
        with contextlib.suppress(OSError):
            self.path.write_text(json.dumps(kept, indent=1), encoding="utf-8")


def reply(question: "Question", letter: str, notebook: str) -> str:
    """What is said to an answer, as HTML: at once, with the reason, and where it is taught."""
    at = "ABCD".index(letter)
    if at == question.right:
        return f"<p>✓ Right. {marked(question.because)}</p>"
    note = f" {marked(question.wrong[at])}" if question.wrong[at : at + 1] and question.wrong[at] else ""
    link = f'<a href="{html.escape(notebook)}">{html.escape(notebook)}</a>'
    answer = f"Right is {question.letter}: {marked(question.options[question.right])}."
    folded = f"<details><summary>Answer</summary><p>{answer} {marked(question.because)}</p></details>"
    return f"<p>✗ Not yet.{note}</p>{folded}<p>Read again: {link}.</p>"


def marked(text: str) -> str:
    """A text as HTML, its `code` marked."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", html.escape(text, quote=False))


def shown(question: "Question", number: int) -> str:
    """A question as HTML: the code, the text, the pictures, and the options with their letters."""
    from autograder.questions.pictures import code_html, maps_html

    options = "".join(f"<li>{marked(one)}</li>" for one in question.options)
    return (
        f"<h4>{number}</h4>{code_html(question)}<p>{marked(question.text)}</p>{maps_html(question)}"
        f'<ol type="A">{options}</ol>'
    )


def panel(questions: "tuple[Question, ...]", stage: "Stage", progress: Progress) -> Any:
    """The questions with a row of buttons each."""
    import ipywidgets

    turn = progress.round
    rows = []
    for number, question in enumerate(questions, start=1):
        said = ipywidgets.HTML()

        def answer(letter: str, question: "Question" = question, said: Any = said) -> None:
            progress.keep(turn, question.id, letter, len(questions))
            said.value = reply(question, letter, stage.notebook)

        buttons = [_button(letter, answer) for letter, _ in zip("ABCD", question.options, strict=False)]
        if before := progress.given(turn).get(question.id):
            said.value = reply(question, before, stage.notebook)
        rows += [ipywidgets.HTML(shown(question, number)), ipywidgets.HBox(buttons), said]
    return ipywidgets.VBox(rows)


def _button(letter: str, answer: Callable[[str], None]) -> Any:
    import ipywidgets

    button = ipywidgets.Button(description=letter, layout=ipywidgets.Layout(width="3em"))
    button.on_click(lambda _: answer(letter))
    return button

"""For the notebooks: `ask_about("mha")` asks three questions about your own code, once it has full marks.

They are answered and explained at once, give no points, and nobody else sees the answers. What was answered is kept in
`.questions.json` beside the modules.
"""

import contextlib
import html
import importlib.util
import io
import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from autograder.manifest import Assignment, Stage
    from autograder.questions.generate import Paper
    from autograder.questions.question import Question

KEPT = ".questions.json"
COUNT = 3
LETTERS = "ABCD"


def ask_about(stage: str, answers: str = "", folder: str | Path = ".", assignment: str | None = None) -> Any:
    """Ask three questions about the code of a stage; once they are answered, the next call asks new ones.

    Args:
        stage: the name of the stage, for instance "mha".
        answers: the letters of your answers, for instance "BAD", where buttons do not work.
        folder: where the modules are.
        assignment: the assignment that the stage belongs to; by default the one whose modules are in the folder.

    Returns:
        the questions, with buttons in a notebook that has widgets; a text where there are none to ask.

    Raises:
        UserError: if there is no such stage, or the folder holds none of the modules.
    """
    from autograder.submissions.which_assignment import which_assignment
    from course.notebook.check import desk_of

    if "NBGRADER_EXECUTION" in os.environ:
        return None
    place = Path(folder)
    chosen = which_assignment(assignment, place.resolve())
    found = chosen.stage(stage)
    with contextlib.redirect_stderr(io.StringIO()):
        right = desk_of(chosen).is_right(found, place)
    if not right:
        return f"First get full marks: check({stage!r}). Then there are questions about your code."
    progress = Progress(place / KEPT, stage)
    paper = own_questions(place, chosen, found, progress.round)
    if not paper.questions:
        return "Your code is so short that there is nothing to ask."
    shown = Asked(paper, place / found.notebook, progress)
    for question, letter in zip(paper.questions, answers.upper(), strict=False):
        shown.answer(question, letter)
    return shown if answers or not has_widgets() else panel(shown)


def own_questions(folder: Path, chosen: "Assignment", stage: "Stage", turn: int) -> "Paper":
    """The questions of one turn, made by running the code in a worker."""
    from autograder.questions.generate import calls_of, paper
    from autograder.sandbox.worker_processes import make_workers
    from autograder.submissions.read_submission import read_submission

    workers = make_workers()
    try:
        calls = calls_of(stage, chosen, workers)
        return paper(read_submission(folder, chosen), stage, chosen, workers, COUNT, turn, calls)
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


class Asked:
    """The questions of one turn, as HTML with what is said to the answers; elsewhere as text."""

    def __init__(self, paper: "Paper", notebook: Path, progress: Progress) -> None:
        self.paper, self.notebook, self.progress, self.turn = paper, notebook, progress, progress.round
        self.said: dict[str, str] = {}
        for question in paper.questions:
            if letter := progress.given(self.turn).get(question.id):
                self.said[question.id] = self.reply(question, letter)

    def answer(self, question: "Question", letter: str) -> str:
        """Keep an answer; returns what is said to it."""
        if letter in LETTERS[: len(question.options)]:
            self.progress.keep(self.turn, question.id, letter, len(self.paper.questions))
            self.said[question.id] = self.reply(question, letter)
        return self.said.get(question.id, "")

    def reply(self, question: "Question", letter: str) -> str:
        """What is said to an answer, as HTML: at once, with the reason, and where it is taught."""
        at = LETTERS.index(letter)
        if at == question.right:
            return f"<p>✓ {letter} is right. {marked(question.because)}</p>"
        note = f" {marked(question.wrong[at])}" if question.wrong[at : at + 1] and question.wrong[at] else ""
        answer = f"Right is {question.letter}: {marked(question.options[question.right].rstrip('.'))}."
        folded = f"<details><summary>Answer</summary><p>{answer} {marked(question.because)}</p></details>"
        return f"<p>✗ {letter} is not right.{note}</p>{folded}<p>Read again: {self.link(question)}.</p>"

    def link(self, question: "Question") -> str:
        """The heading in the notebook below which the function of the question is explained, as a link."""
        file, line = question.lines[0]
        above = [text for name, number, text in self.paper.code if name == file and 0 < number <= line]
        functions = [found[1] for text in above if (found := re.match(r"\s*def (\w+)", text))]
        heading = next(filter(None, (heading_of(self.notebook, name) for name in reversed(functions))), "")
        target = self.notebook.name + (f"#{heading.replace(' ', '-')}" if heading else "")
        return f'<a href="{html.escape(target)}">{html.escape(heading or self.notebook.name)}</a>'

    def html(self, number: int = 0) -> str:
        """One question, or, for 0, the code that all are about."""
        from autograder.questions.generate import shown
        from autograder.reports.html_pages import render

        plain = shown(self.paper)
        code = plain["code"] if not number else ()
        question = plain["questions"][number - 1]
        return render("questions_notebook.html", code=code, question=question, number=number)

    def _repr_html_(self) -> str:
        parts = [self.html()]
        for number, question in enumerate(self.paper.questions, start=1):
            parts += [self.html(number), self.said.get(question.id, "")]
        how = f"<p>Answer with <code>ask_about({self.paper.stage!r}, &quot;ABC&quot;)</code>: a letter each.</p>"
        return "".join(parts) + (how if len(self.said) < len(self.paper.questions) else "")

    def __repr__(self) -> str:
        text = re.sub(r"<style.*?</style>|<[^>]+>", "", self._repr_html_(), flags=re.DOTALL)
        return re.sub(r"\n\s*\n+", "\n", html.unescape(text)).strip()


def heading_of(notebook: Path, function: str) -> str:
    """The last heading of a notebook before a text cell that names a function; "" if none does."""
    try:
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    except (OSError, ValueError, KeyError):
        return ""
    heading = ""
    for text in ("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"):
        headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
        heading = headings[-1] if headings else heading
        if re.search(rf"\b{function}\b", text):
            return str(heading)
    return ""


def marked(text: str) -> str:
    """A text as HTML, its `code` marked."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", html.escape(text, quote=False))


def has_widgets() -> bool:
    """Whether buttons can be shown: in a notebook that has ipywidgets."""
    from course.notebook.check import in_notebook

    return in_notebook() and importlib.util.find_spec("ipywidgets") is not None


def panel(shown: Asked) -> Any:
    """The questions with a row of buttons each."""
    import ipywidgets

    rows = [ipywidgets.HTML(shown.html())]
    for number, question in enumerate(shown.paper.questions, start=1):
        said = ipywidgets.HTML(shown.said.get(question.id, ""))
        buttons = []
        for letter in LETTERS[: len(question.options)]:
            button = ipywidgets.Button(description=letter, layout=ipywidgets.Layout(width="3em"))

            def pressed(_: Any, letter: str = letter, question: "Question" = question, said: Any = said) -> None:
                said.value = shown.answer(question, letter)

            button.on_click(pressed)
            buttons.append(button)
        rows += [ipywidgets.HTML(shown.html(number)), ipywidgets.HBox(buttons), said]
    return ipywidgets.VBox(rows)

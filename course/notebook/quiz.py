"""Self-checking questions in the notebooks: `ask("mha-weight", 0.73)`."""

import html
from dataclasses import dataclass
from types import EllipsisType
from typing import SupportsFloat

from course.errors import UserError
from course.notebook.attention_questions import ATTENTION_QUESTIONS
from course.notebook.questions import QUESTIONS
from course.notebook.questions_models import MODEL_QUESTIONS
from course.notebook.variants_questions import VARIANTS_QUESTIONS

KNOWN = QUESTIONS | ATTENTION_QUESTIONS | VARIANTS_QUESTIONS | MODEL_QUESTIONS


@dataclass(frozen=True)
class Reply:
    """The reply to an answer; the solution is collapsed."""

    right: bool | None  # None: not answered yet
    remark: str
    because: str

    def _repr_html_(self) -> str:
        sign = {True: "✓ ", False: "✗ ", None: ""}[self.right]
        return (
            f"<p>{sign}{html.escape(self.remark)}</p>"
            f"<details><summary>Answer</summary><p>{html.escape(self.because)}</p></details>"
        )

    def __repr__(self) -> str:
        return f"{self.remark} {self.because}" if self.right else self.remark


def ask(name: str, answer: SupportsFloat | str | EllipsisType) -> Reply:
    """Check an answer; if it is wrong, suggest the likely mistake.

    Args:
        name: the name of the question.
        answer: a number, the letter of a choice, or `...` if there is none yet.

    Raises:
        UserError: if there is no such question, or the answer is neither a number nor a letter.
    """
    if name not in KNOWN:
        raise UserError(f"there is no question {name!r}; restore the original text of the cell")
    question = KNOWN[name]
    wants_number = not isinstance(question.answer, str)
    kind = "a number" if wants_number else 'a letter, such as "a"'
    if answer is ...:
        return Reply(None, "Replace the three dots with your answer.", question.because)
    try:
        answer = float(answer)  # also accepts NumPy and torch numbers
    except (TypeError, ValueError):
        if not isinstance(answer, str):
            raise UserError(f"the answer to this question is {kind}, not {type(answer).__name__}") from None
    if isinstance(answer, str) is wants_number:
        example = ", such as 0.25" if wants_number else ""
        return Reply(False, f"Not yet. The answer is {kind}{example}.", question.because)
    if question.matches(answer, question.answer):
        return Reply(True, "Right.", question.because)
    for mistaken, remark in question.wrong:
        if question.matches(answer, mistaken):
            return Reply(False, f"Not yet. {remark}", question.because)
    nearly = question.rounded_to(answer)
    return Reply(False, "Not yet. Nearly: give one or two more digits." if nearly else "Not yet.", question.because)

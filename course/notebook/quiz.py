"""Questions in the notebooks that check themselves: `ask("mha-weight", 0.73)`."""

import html
import math
from dataclasses import dataclass
from types import EllipsisType
from typing import SupportsFloat

from course.errors import UserError


@dataclass(frozen=True)
class Question:
    """A question with one right answer, a number or the letter of a choice. Its text stands in the notebook.

    `wrong` are answers that a particular mistake gives, with what to say about it: (answer, remark).
    """

    answer: float | str
    because: str
    wrong: tuple[tuple[float | str, str], ...] = ()
    tolerance: float = 0.0  # how far from `answer` a number may be

    def matches(self, given: float | str, answer: float | str) -> bool:
        """Whether a given answer is this one, but for rounding."""
        if isinstance(given, str) or isinstance(answer, str):
            return str(given).strip().lower() == str(answer).lower()
        return math.isfinite(given) and abs(given - answer) <= self.tolerance + 1e-9 * abs(answer)


@dataclass(frozen=True)
class Reply:
    """What is said to an answer; the right answer is folded."""

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
    """Say whether an answer is right, and if not, what may have gone wrong.

    Args:
        name: of the question.
        answer: a number, the letter of a choice, or `...` as long as there is none.

    Raises:
        UserError: if there is no such question, or the answer is neither a number nor a letter.
    """
    from course.notebook.questions import QUESTIONS

    if name not in QUESTIONS:
        raise UserError(f"there is no question {name!r}; take the cell as it came")
    question = QUESTIONS[name]
    if answer is ...:
        return Reply(None, "Write your answer in place of the three dots.", question.because)
    if not isinstance(answer, str):
        try:
            answer = float(answer)  # numbers of NumPy and torch as well
        except (TypeError, ValueError):
            kind = "a number" if not isinstance(question.answer, str) else 'a letter, such as "a"'
            raise UserError(f"the answer to this question is {kind}, not {type(answer).__name__}") from None
    if question.matches(answer, question.answer):
        return Reply(True, "Right.", question.because)
    for mistaken, remark in question.wrong:
        if question.matches(answer, mistaken):
            return Reply(False, f"Not yet. {remark}", question.because)
    return Reply(False, "Not yet.", question.because)

"""The code and the pictures of a question as HTML without a style sheet: for notebooks and learning platforms."""

import html
import re

from autograder.questions.question import Question

ILLEGAL = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # in XML


def clean(text: str) -> str:
    """A text as HTML."""
    return html.escape(ILLEGAL.sub("\ufffd", text), quote=False)


def code_html(question: Question) -> str:
    """The lines that are shown, with their numbers."""
    width = max((len(str(line)) for _, line, _ in question.code), default=1)
    lines, file = [], ""
    for name, line, text in question.code:
        lines += [f"{' ' * (width + 2)}# {name}"] if name != file else []
        lines.append(f"{line or '':>{width}}  {text}")
        file = name
    return f"<pre>{clean(chr(10).join(lines))}</pre>"


def maps_html(question: Question) -> str:
    """The pictures: numbers on a background, the darker the larger."""
    numbers = [value for _, rows in question.maps for row in rows for value in row]
    low, span = min(numbers, default=0.0), (max(numbers, default=1.0) - min(numbers, default=0.0)) or 1.0

    def cell(value: float) -> str:
        return f'<td style="background:rgba(60,110,190,{0.6 * (value - low) / span:.2f})">{value:.2f}</td>'

    return "".join(
        f"<p>{clean(title)}</p><table>{''.join(f'<tr>{chr(32).join(map(cell, row))}</tr>' for row in rows)}</table>"
        for title, rows in question.maps
    )

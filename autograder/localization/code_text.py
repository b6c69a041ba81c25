"""Statements of a submission, as a verdict shows them."""

import itertools
import re
from collections.abc import Mapping

from autograder.localization.trace import Line

LINES = 4  # of a statement that are shown
OPENED = {"(": ")", "[": "]", "{": "}"}


def text_of(line: Line, sources: Mapping[str, str]) -> str:
    """The first line of a statement, without the comment behind it."""
    lines = sources.get(line.file, "").splitlines()
    text = lines[line.number - 1].strip() if line.number <= len(lines) else ""
    code, _, comment = text.rpartition("  #")
    return (code.rstrip() if code and not any(quote in comment for quote in "'\"") else text)[:160]


def leaves_early(loop: Line, sources: Mapping[str, str]) -> bool:
    """Whether a loop has a statement that leaves it."""
    head, *lines = sources.get(loop.file, "").splitlines()[loop.number - 1 :] or [""]
    indent = len(head) - len(head.lstrip())
    body = itertools.takewhile(lambda line: not line.strip() or len(line) - len(line.lstrip()) > indent, lines)
    return any(line.strip().split(" ")[0] in ("break", "return") for line in body)


def statement_text(line: Line, sources: Mapping[str, str]) -> str:
    """A statement whose brackets close on later lines, without comments, on one line; of a long one the beginning."""
    told = text_of(line, sources)
    for number in range(line.number + 1, line.end + 1):
        if sum(map(told.count, OPENED)) <= sum(map(told.count, OPENED.values())):
            break
        if number == line.number + LINES:
            return f"{told} ..."
        more = text_of(Line(line.file, number, number), sources)
        told = told.removesuffix(",") if more[:1] in OPENED.values() else told
        told += more if told[-1:] in OPENED or more[:1] in OPENED.values() else f" {more}"
    return told


def takes_a_step(line: Line, sources: Mapping[str, str]) -> bool:
    """Whether a statement is no more than `optimizer.step()`: what is wrong with that is made before."""
    return re.fullmatch(r"[\w.]+\.step\(\)", text_of(line, sources)) is not None

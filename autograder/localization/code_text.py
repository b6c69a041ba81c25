"""Statements from a student's code, as shown in a verdict."""

from collections.abc import Mapping

from autograder.localization.trace import Line


def text_of(line: Line, sources: Mapping[str, str]) -> str:
    """The first line of a statement, without a trailing comment."""
    lines = sources.get(line.file, "").splitlines()
    text = lines[line.number - 1].strip() if line.number <= len(lines) else ""
    code, _, comment = text.rpartition("  #")
    return (code.rstrip() if code and not any(quote in comment for quote in "'\"") else text)[:160]

"""Write files for people: completely or not at all, with no text that a spreadsheet would execute."""

import os
import re
from pathlib import Path

from course.errors import UserError

AFTER_SEPARATOR = re.compile(r"([;|,\t\r\n][\"']?\s*)([=+\-@])")


def write_whole(path: Path, data: bytes, partial: Path | None = None) -> None:
    """Write a file that appears whole or not at all, even if the process or the machine stops.

    Args:
        partial: the file's name until it is complete; processes that write to a folder at the same time need different
            names.

    Raises:
        UserError: if it cannot be written.
    """
    partial = partial or path.parent / ".partial"  # one name, so that at most one is ever left behind
    try:
        with partial.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        raise UserError(
            f"cannot write {path}: {error.strerror}. What was graded is kept. Run the same command again to continue"
        ) from error


def harmless(text: str) -> str:
    """A string for a cell that a spreadsheet cannot mistake for a formula, even if it splits lines at semicolons."""
    text = AFTER_SEPARATOR.sub(r"\1'\2", text)
    return "'" + text if text.lstrip()[:1] in ("=", "+", "-", "@") or text[:1] in ("\t", "\r", "\n") else text

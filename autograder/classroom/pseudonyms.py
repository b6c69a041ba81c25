"""Pseudonyms that hide the names of students from reviewers. They stay the same within a results folder.

They prevent accidental recognition, but do not stop a determined reviewer: the folder on disk contains the names.
"""

import base64
import hashlib
import hmac
import re
from html import escape
from urllib.parse import quote

TAG = re.compile(r"(<[^>]*>)")


def pseudonym(secret: str, student: str) -> str:
    """Return a student's pseudonym, such as k7qm-2x9d.

    Args:
        secret: a string that is unique to this class.
    """
    digest = hmac.new(secret.encode(), student.encode(), hashlib.sha256).digest()
    text = base64.b32encode(digest).decode().lower()
    return f"{text[:4]}-{text[4:8]}"


def without_name(text: str, name: str, shown: str) -> str:
    """Replace a name in a string where it is a separate word."""
    return re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", shown, text)


def page_without_name(page: str, name: str, shown: str) -> str:
    """Replace a name in the visible text of a page, and in its links to the review page."""
    pieces = TAG.split(page)
    for at, piece in enumerate(pieces):
        if TAG.fullmatch(piece):
            pieces[at] = piece.replace(f"review.html#{quote(name)}", f"review.html#{shown}")
        elif at and not pieces[at - 1].startswith(("<style", "<script")):
            pieces[at] = without_name(piece, str(escape(name)), shown)
    return "".join(pieces)

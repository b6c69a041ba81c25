"""Decode the source code of a module; for any other kind of file, the error message explains what to do."""

import codecs
import json
import re

from autograder.submissions.untrusted_files import Unreadable

OTHER_FILES = {  # the first bytes of such files
    b"PK\x03\x04": "a zip archive or an office document",
    b"%PDF": "a PDF document",
    b"{\\rtf": "a rich text document (RTF)",
    b"\xd0\xcf\x11\xe0": "an office document",
    b"\x1f\x8b": "a gzip archive",
    b"7z\xbc\xaf": "a 7-Zip archive",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
}
NOTEBOOK = "is a notebook, and not Python code: put your code into a file of this name"
PAGE = re.compile(r"\s*<(!doctype|html|\?xml)\b", re.IGNORECASE)
COOKIE = re.compile(rb"(?:[^\n]*\n)?[ \t\f]*#[^\n]*?coding[:=][ \t]*([-\w.]+)")  # PEP 263
EAST_ASIAN = 0.8  # a file with this fraction of its non-ASCII bytes in pairs is taken for East Asian


def source_text(data: bytes) -> str:
    """Return the source code of a module, with line endings normalised as in Python.

    Raises:
        Unreadable: if it is not source code in UTF-8, or in the encoding that it declares.
    """
    for start, kind in OTHER_FILES.items():
        if data.startswith(start):
            raise Unreadable(f"is {kind}, and not Python code")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        text = _as_declared(data)
        if not text:
            raise Unreadable(f"is not UTF-8 text, but probably {encoding_of(data)}: save it as UTF-8") from error
    if text.count("\0") > len(text) // 4:
        raise Unreadable("is not UTF-8 text, but probably UTF-16: save it as UTF-8")
    if not text.strip():
        raise Unreadable("is empty")
    if PAGE.match(text):
        raise Unreadable("is a web page, and not Python code: download the file itself")
    if is_notebook(text):
        raise Unreadable(NOTEBOOK)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def is_notebook(text: str) -> bool:
    """Whether the content of a file is a Jupyter notebook."""
    if not text.lstrip().startswith("{"):
        return False
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(content, dict) and "nbformat" in content


def encoding_of(data: bytes) -> str:
    """Return a description of the likely encoding of a file that is not UTF-8."""
    if data.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):
        return "UTF-32"
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) or data.count(0) > len(data) // 4:
        return "UTF-16"
    kana = re.findall("[\u3041-\u30fe]", _decoded(data, "cp932"))
    runs = [len(run) for run in re.findall(rb"[\x80-\xff]+", data)]
    if 4 * len(kana) > sum(runs) // 2:
        return "Shift JIS"
    if sum(length for length in runs if length % 2 == 0) < EAST_ASIAN * sum(runs):
        return "Latin-1, Windows-1252 or another encoding with one byte per character"
    hangul = re.findall("[\uac00-\ud7a3]", _decoded(data, "cp949"))
    if len(hangul) > 0.9 * sum(runs) / 2:
        return "EUC-KR"
    return "GBK" if _decoded(data, "gb18030") else "an East Asian encoding"


def _as_declared(data: bytes) -> str:
    """Decode a file with the encoding declared in its first two lines, as Python does; return "" on failure."""
    cookie = COOKIE.match(data)
    return _decoded(data, cookie[1].decode()) if cookie else ""


def _decoded(data: bytes, encoding: str) -> str:
    """Decode the content of a file; return "" if it is not in this encoding."""
    try:
        return codecs.decode(data, encoding) if codecs.lookup(encoding)._is_text_encoding else ""
    except (LookupError, ValueError):
        return ""

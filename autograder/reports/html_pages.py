"""The common base of the HTML reports: templates, escaping, status symbols, and the content security policy."""

import base64
import hashlib
import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from autograder.reports.console import clean
from autograder.reports.short_verdict import points, short_rows

TEMPLATES = Path(__file__).with_name("templates")


@dataclass(frozen=True)
class Look:
    """The appearance of a status: always its name and a symbol; the tone only adds a colour."""

    symbol: str
    tone: str  # class in style.css
    meaning: str  # in words, for the student


LOOKS = {
    "passed": Look("✓", "good", "right"),
    "failed": Look("✗", "bad", "your code ran, and its result is wrong"),
    "error": Look("!", "bad", "your code raised an exception or crashed"),
    "timed out": Look("…", "bad", "your code did not finish in time"),
    "no file": Look("∅", "open", "the module is not among your files, or its file cannot be read"),
    "forbidden": Look("⊘", "bad", "your code uses a ready-made part, which this assignment does not allow"),
    "not started": Look("○", "none", "nothing is written here yet"),
    "blocked": Look("↷", "open", "a module that this test needs cannot be imported"),
    "fault": Look("?", "fault", "the grader itself failed; this says nothing about your code"),
}
UNKNOWN = Look("•", "bad", "")


def look(status: str) -> Look:
    """The appearance of a status."""
    return LOOKS.get(status, UNKNOWN)


def number(value: float) -> str:
    """A whole number with separators: 10,000."""
    return f"{value:,.0f}"


def percent(share: float) -> str:
    """A fraction as a whole percentage; values just above 0 or just below 1 become <1% or >99%."""
    return "<1%" if 0 < share < 0.01 else ">99%" if 0.99 < share < 1 else f"{100 * share:.0f}%"


def signed(value: float) -> str:
    """A correlation to two decimal places, with a true minus sign."""
    return f"{value:.2f}".replace("-0.00", "0.00").replace("-", "\N{MINUS SIGN}")


def seconds(value: float) -> str:
    """A duration: 0.4 s, 12 s, 3 min 5 s."""
    if value < 9.95:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def with_code(text: str) -> Markup:
    """A sentence as HTML; text between `backquotes` is code."""
    return Markup(re.sub("`([^`\n]+)`", r"<code>\1</code>", str(escape(_neutral(text)))))


def _neutral(value: Any) -> Any:
    # Every value in a template passes through here before it is escaped. A macro's result is HTML and stays unchanged.
    if isinstance(value, str) and not hasattr(value, "__html__"):
        return clean(value.replace("\r\n", "\n").expandtabs())
    return value


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES, encoding="utf-8"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_neutral,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(points=points, look=look, number=number, percent=percent, signed=signed, seconds=seconds)
    environment.filters.update(with_code=with_code, short_rows=short_rows)
    return environment


def render(template: str, script: str = "", connects: bool = False, **values: Any) -> str:
    """A self-contained page: its policy allows nothing but its own style and script, so no other script can run.

    Args:
        script: the name of a file next to the templates, for staff pages. Pages for students have none.
        connects: whether the script may talk to the server that the page comes from.
    """
    environment = _environment()
    style = environment.get_template("style.css").render()
    policy = f"default-src 'none'; style-src '{_digest(style)}'; base-uri 'none'; form-action 'none'"
    program = (TEMPLATES / script).read_text(encoding="utf-8") if script else ""
    if program:
        policy += f"; script-src '{_digest(program)}'" + ("; connect-src 'self'" if connects else "")
    return environment.get_template(template).render(policy=policy, script=Markup(program), **values)


def _digest(text: str) -> str:
    """The hash of an inline style or script for the content security policy."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


def as_json(value: Any) -> Markup:
    """Data for a script on the page; no string in it can end the script element."""
    return Markup(json.dumps(value, ensure_ascii=False).replace("<", "\\u003c"))

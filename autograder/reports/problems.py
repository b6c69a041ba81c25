"""The diagnostics of a verdict, a line each: for the problem matchers of editors, and as annotations on GitHub."""

import os
import secrets
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from autograder.reports.verdict import Diagnostic, Verdict

PER_STEP = 10  # GitHub shows so many annotations of each level for a step
LEVELS = {"error": "error", "warning": "warning", "info": "notice"}


def diagnostics(found: Verdict, folder: Path, start: Path) -> list[Diagnostic]:
    """The diagnostics of all tests, each once, with their files relative to where a reader starts.

    Args:
        folder: where the submitted modules are.
        start: the folder that is open in the editor, or the root of the repository.
    """
    try:
        below = Path(os.path.relpath(folder.resolve(), start.resolve()))
    except ValueError:  # another drive on Windows
        below = folder.resolve()
    unique = {
        (one["file"], one["line"], one["severity"], one["message"]): one
        for test in reversed(found["tests"])
        for one in test["diagnostics"]
    }
    placed = [one.copy() for one in unique.values()]
    for one in placed:
        one["file"] = (below / one["file"]).as_posix()
    return sorted(placed, key=lambda one: (one["file"], one["line"]))


def problem_lines(found: Iterable[Diagnostic]) -> list[str]:
    """Lines `file:line: severity: message [test]`."""
    return [f"{one['file']}:{one['line']}: {one['severity']}: {one['message']} [{one['code']}]" for one in found]


def annotations(found: Iterable[Diagnostic]) -> list[str]:
    """Commands that make GitHub show the diagnostics in the diff, the most severe first, within its limits."""
    shown: Counter[str] = Counter()
    lines = []
    for one in found:
        level = LEVELS[one["severity"]]
        shown[level] += 1
        if shown[level] <= PER_STEP:
            place = f"file={_property(one['file'])},line={one['line']},title={_property(one['code'])}"
            lines.append(f"::{level} {place}::{_data(one['message'])}")
    more = sum(count - PER_STEP for count in shown.values() if count > PER_STEP)
    return [*lines, *([f"{more} more lines are in the summary."] if more else [])]


def _data(text: str) -> str:
    for char, code in (("%", "%25"), ("\r", "%0D"), ("\n", "%0A")):
        text = text.replace(char, code)
    return text


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def on_github() -> bool:
    """Whether this is a job of GitHub Actions."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


@contextmanager
def commands_ignored() -> Iterator[None]:
    """A block in which GitHub Actions takes nothing that is printed for a command: it may be a student's text."""
    if not on_github():
        yield
        return
    token = secrets.token_hex(16)
    print(f"::stop-commands::{token}", flush=True)
    try:
        yield
    finally:
        print(f"\n::{token}::", flush=True)

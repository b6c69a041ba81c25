"""The diagnostics of a verdict, one per line: for editors' problem matchers, and as annotations on GitHub."""

import os
import secrets
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from autograder.reports.verdict import Diagnostic, Verdict

PER_STEP = 10  # GitHub shows at most this many annotations of each level per step
LEVELS = {"error": "error", "warning": "warning", "info": "notice"}


def diagnostics(verdict: Verdict, folder: Path, start: Path) -> list[Diagnostic]:
    """The diagnostics of all tests without duplicates, with paths relative to `start`.

    Args:
        folder: the folder of the submitted modules.
        start: the folder that is open in the editor, or the root of the repository.
    """
    try:
        below = Path(os.path.relpath(folder.resolve(), start.resolve()))
    except ValueError:  # another drive on Windows
        below = folder.resolve()
    unique = {
        (diagnostic["file"], diagnostic["line"], diagnostic["severity"], diagnostic["message"]): diagnostic
        for test in reversed(verdict["tests"])
        for diagnostic in test["diagnostics"]
    }
    placed = [diagnostic.copy() for diagnostic in unique.values()]
    for diagnostic in placed:
        diagnostic["file"] = (below / diagnostic["file"]).as_posix()
    return sorted(placed, key=lambda diagnostic: (diagnostic["file"], diagnostic["line"]))


def problem_lines(diagnostics: Iterable[Diagnostic]) -> list[str]:
    """The diagnostics as lines of the form `file:line: severity: message [test]`."""
    return [
        f"{entry['file']}:{entry['line']}: {entry['severity']}: {entry['message']} [{entry['code']}]"
        for entry in diagnostics
    ]


def annotations(diagnostics: Iterable[Diagnostic]) -> list[str]:
    """GitHub commands that show the diagnostics in the diff, the most severe first, within GitHub's limits."""
    shown: Counter[str] = Counter()
    lines = []
    for diagnostic in diagnostics:
        level = LEVELS[diagnostic["severity"]]
        shown[level] += 1
        if shown[level] <= PER_STEP:
            place = (
                f"file={_property(diagnostic['file'])},line={diagnostic['line']},title={_property(diagnostic['code'])}"
            )
            lines.append(f"::{level} {place}::{_data(diagnostic['message'])}")
    more = sum(count - PER_STEP for count in shown.values() if count > PER_STEP)
    return [*lines, *([f"{more} more lines are in the summary."] if more else [])]


def _data(text: str) -> str:
    for char, code in (("%", "%25"), ("\r", "%0D"), ("\n", "%0A")):
        text = text.replace(char, code)
    return text


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def on_github() -> bool:
    """Whether this is a GitHub Actions job."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


@contextmanager
def commands_ignored() -> Iterator[None]:
    """Keep GitHub Actions from executing commands in the block's output, since a student may have written them."""
    if not on_github():
        yield
        return
    token = secrets.token_hex(16)
    print(f"::stop-commands::{token}", flush=True)
    try:
        yield
    finally:
        print(f"\n::{token}::", flush=True)

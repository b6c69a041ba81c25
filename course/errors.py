"""The exception for user errors, and how commands report it."""

import os
import sys
import traceback
from collections.abc import Callable

from course.startup import replace_unknown


class UserError(Exception):
    """An error that the user can fix. The message explains what went wrong, where, and what to do."""

    def _render_traceback_(self) -> list[str]:
        """Return the lines that a notebook shows instead of a traceback."""
        return [f"error: {self}"]


def first_reason(error: Exception) -> str:
    """Return an exception's text in one line. If torch lists several weights that do not match, keep only the first."""
    lines = [" ".join(line.split()).rstrip(". ") for line in str(error).splitlines() if line.strip()]
    if len(lines) > 2 and lines[0].startswith("Error(s) in loading state_dict"):
        return f"{lines[1]} (and {len(lines) - 2} more)"
    return " ".join(lines)


def line(text: str) -> str:
    """Remove control characters, which could rewrite the screen, from a string."""
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text)


def run_command(main: Callable[[], int], developer: bool = sys.flags.dev_mode) -> int:
    """Run a command. A `UserError` is printed as one line on stderr, without a traceback, and the exit status is 2.

    Any other exception is also printed as one line, and the exit status is 3. Status 3 does not mean that the graded
    code or the trained model is wrong.

    Args:
        developer: whether to print the traceback as well, as with `python -X dev`.
    """
    replace_unknown()
    try:
        return main()
    except UserError as error:
        # A path may contain control characters.
        print(line(f"error: {error}"), file=sys.stderr)
        return 2
    except BrokenPipeError:  # `| head` has read enough; report no error about the unread rest either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130
    except Exception as error:
        if developer:
            traceback.print_exc()
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{os.path.basename(last.filename)}, line {last.lineno}"
        print(line(f"the program itself failed ({place}): {type(error).__name__}: {error}"), file=sys.stderr)
        return 3

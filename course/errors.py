"""One exception for mistakes of the user, and how the commands report it."""

import os
import sys
import traceback
from collections.abc import Callable

from course.startup import replace_unknown


class UserError(Exception):
    """Something the user can put right. The message says what was wrong, where, and what to do."""

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows instead of a traceback."""
        return [f"error: {self}"]


def first_reason(error: Exception) -> str:
    """The text of an exception in one line; of torch's list of weights that do not fit, the first."""
    lines = [" ".join(line.split()).rstrip(". ") for line in str(error).splitlines() if line.strip()]
    if len(lines) > 2 and lines[0].startswith("Error(s) in loading state_dict"):
        return f"{lines[1]} (and {len(lines) - 2} more)"
    return " ".join(lines)


def line(text: str) -> str:
    """A text without what would rewrite the screen."""
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text)


def run_command(main: Callable[[], int], developer: bool = sys.flags.dev_mode) -> int:
    """Run a command. A `UserError` becomes one line on stderr and exit status 2, without a traceback.

    Any other exception is one line, too, and exit status 3: it says nothing about what was graded, trained or drawn.

    Args:
        developer: whether its traceback is shown, as with `python -X dev`.
    """
    replace_unknown()
    try:
        return main()
    except UserError as error:
        # A path may hold what would rewrite the screen.
        print(line(f"error: {error}"), file=sys.stderr)
        return 2
    except BrokenPipeError:  # `| head` has read enough; what is left in the buffer must not be complained of either
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

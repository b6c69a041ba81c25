"""The trusted side: tests, workers that run the students' code, comparison, reports."""

import os
import sys


def _leave_out_the_current_folder() -> None:
    """Import nothing from the folder in which `python -m autograder` was called.

    Python puts it in front of everything, and in a folder of submissions a student may be called filelock. If it is the
    project itself, it goes to the end.
    """
    folder = sys.path.pop(0)
    if os.path.realpath(folder or os.curdir) == os.path.dirname(os.path.dirname(os.path.realpath(__file__))):
        sys.path.append(folder)


if sys.argv[:1] == ["-m"] and not getattr(sys.flags, "safe_path", False):  # Python 3.11: -P leaves it out itself
    _leave_out_the_current_folder()

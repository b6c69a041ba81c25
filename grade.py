"""Grade your modules: `python grade.py [stage ...]`; `python grade.py --help` tells more."""

import sys

from course.startup import begin

if __name__ == "__main__":
    begin()  # before anything is imported that needs a package or a later Python
    import os

    from autograder.__main__ import main
    from course.location import VARIABLE

    os.environ.setdefault(VARIABLE, os.path.dirname(os.path.abspath(__file__)))  # the course of this file
    sys.exit(main())

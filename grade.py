"""Grade your modules: `python grade.py [stage ...]`; `python grade.py --help` tells more."""

import sys

from course.startup import begin

if __name__ == "__main__":
    begin()  # before anything is imported that needs a package or a later Python
    from autograder.__main__ import main

    sys.exit(main())

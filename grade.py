"""Grade your modules: `python grade.py [stage ...]`; `python grade.py --help` tells more."""

import sys

from course.startup import begin

if __name__ == "__main__":
    begin()  # before anything is imported that needs a package or a later Python
    import os

    from autograder.__main__ import main
    from course.location import MARK, VARIABLE

    beside = os.path.dirname(os.path.abspath(__file__))
    if not os.environ.get(VARIABLE) and os.path.isfile(os.path.join(beside, MARK)):  # the way into its own course
        os.environ[VARIABLE] = beside
    sys.exit(main())

"""Grade your modules: `python grade.py [stage ...]`; `python grade.py --help` tells more."""

import sys

from autograder.__main__ import main

if __name__ == "__main__":
    sys.exit(main())

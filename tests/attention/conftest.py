"""Tests of the assignment `attention`. As long as it is a draft nothing finds it, and it cannot be graded."""

from autograder.manifest import assignments

collect_ignore_glob = [] if "attention" in assignments() else ["test_*.py"]

"""What must hold of every assignment: a file for each check, and the command that makes one table of them.

A check is a module with a promise, the items that it looks at, and a function that says what is wrong with one item
(see `check.Check`). `python -m autograder audit NAME` runs them all; the project's own tests run each of them for each
assignment.
"""

"""Checks that every assignment must pass, each in its own file, and a command that shows all results in one table.

A check is a module with a promise, a list of items, and a function that returns the problems with an item (see
`check.Check`). `python -m autograder audit NAME` runs them all; the project's own tests run each check on each
assignment.
"""

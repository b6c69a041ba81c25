"""Checks that every assignment must pass: a file for each check, and a command that shows them in one table.

A check is a module with a promise, a list of items, and a function that returns the problems with an item (see
`check.Check`). `python -m autograder audit NAME` runs them all; the project's own tests run each check on each
assignment.
"""

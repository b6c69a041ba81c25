"""Mutants of correct programs: whether the tests see them, and whether a verdict names their line (`make mutants`)."""

"""Grading one submission: run the tests of its stages against workers and collect the results."""

"""Grading a class: reading submissions, grading many of them on one machine or a cluster, and the reports."""

"""Grading a class: run batches on one machine or a cluster, keep the results, export and compare them."""

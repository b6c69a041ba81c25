"""Grading a class: run batches on one machine or a cluster, keep the results, and export or compare them."""

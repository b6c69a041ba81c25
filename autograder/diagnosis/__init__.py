"""Describe in words what is wrong with a tensor: comparison, patterns, and signatures of known mistakes."""

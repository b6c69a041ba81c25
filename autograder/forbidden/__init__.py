"""The search for ready-made parts in a submission's source code."""

"""The search for ready-made parts in the source code of a submission."""

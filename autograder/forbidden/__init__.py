"""The search for ready-made parts in the source text of a submission."""

"""For those who write assignments: the release of notebooks, stored tensors, and the archives that are handed on."""

"""The assignments, a folder each: tests, stand-ins, known mistakes, stored tensors. The engine finds them by folder."""

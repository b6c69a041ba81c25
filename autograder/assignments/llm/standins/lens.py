"""Stand-in for lens.py: empty, since no other stage uses it."""

"""The assignment NEWNAME."""

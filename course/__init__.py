"""The library that students import: configuration, checkpoint, text, training, translation."""

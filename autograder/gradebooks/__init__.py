"""Gradebook exports: the grades of a class for Canvas, Moodle and nbgrader."""

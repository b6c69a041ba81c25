"""Exports for gradebooks: the grades of a class for Canvas and Moodle, and its modules for similarity checkers."""

"""Grading inside the containers and jails of other platforms, and the verdict in each platform's format."""

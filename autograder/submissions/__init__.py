"""Submissions: find them, read their modules by name within limits, and add stand-ins for a stage."""

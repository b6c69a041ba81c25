"""Find submissions, read their modules within size limits, and add stand-ins for a stage."""

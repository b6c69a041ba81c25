"""Stand-in for modern.py: no other stage needs the parts of today's models."""

"""Stand-in for generate.py: no other stage needs text from a language model."""

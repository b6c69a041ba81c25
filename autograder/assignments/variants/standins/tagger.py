"""Stand-in for tagger.py: no other stage needs the tagger."""

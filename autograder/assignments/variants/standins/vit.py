"""Stand-in for vit.py: no other stage needs the Vision Transformer."""

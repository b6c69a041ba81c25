"""Stand-in for training.py: no other stage needs the steps of a training run."""

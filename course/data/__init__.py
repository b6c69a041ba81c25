"""The training data for students, each file with its licence and attribution in README.md."""

from pathlib import Path

DATA = Path(__file__).parent
OWN_SENTENCES = DATA / "sentences.tsv"

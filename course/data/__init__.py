"""The data that students train on, each file with its licence and attribution in README.md."""

from pathlib import Path

DATA = Path(__file__).parent
OWN_SENTENCES = DATA / "sentences.tsv"

"""The data that students train on, each file with its licence and attribution in README.md."""

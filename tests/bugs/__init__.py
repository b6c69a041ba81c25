"""A corpus of bugs as students make them, with the truth as data, and what the verdicts say about each."""

"""The library behind the notebooks: `check`, `load`, `exploring`, `trained`, verdicts, error maps, attention views."""

"""What the notebooks use: check, load, exploring, trained, verdicts, maps of errors, and the attention explorer."""

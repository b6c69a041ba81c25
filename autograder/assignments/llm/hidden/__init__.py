"""The graded tests that students never see: random inputs from a secret seed, expected values from the reference."""

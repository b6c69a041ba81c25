"""Build archives: the autograder for Gradescope and other platforms, and the handout for students."""

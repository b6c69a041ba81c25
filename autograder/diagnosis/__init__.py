"""What is wrong with a tensor, in words: comparison, patterns, and signatures of known mistakes."""

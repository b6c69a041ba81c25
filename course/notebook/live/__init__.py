"""A live view of a Transformer at work on one sentence: its computations, and an HTML page that shows them."""

"""A live view of a Transformer at work on one sentence: what it computes, and a page of HTML that shows it."""

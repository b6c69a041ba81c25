"""The assignment `llm`: a small modern language model, from bytes to text."""

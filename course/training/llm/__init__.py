"""The small models of the assignment `llm`: a modern language model, and two models of repeated sequences."""

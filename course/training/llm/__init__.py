"""The small models of the assignment `llm`: a modern language model, and two models that read repetitions."""

"""The small models of the assignment `llm`: a language model of fairy tales, and two models of repeated tokens."""

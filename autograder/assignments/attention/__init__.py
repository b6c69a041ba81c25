"""The assignment attention: attention before the Transformer, in four stages."""

"""The assignment attention: what came before the Transformer, in four stages."""

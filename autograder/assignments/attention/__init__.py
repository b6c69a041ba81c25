"""The assignment `attention`: attention mechanisms before the Transformer, in four stages."""

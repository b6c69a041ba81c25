"""The assignment `variants`: the Transformer's relatives, and how they are trained."""

"""The data and the trained models of the assignment `variants`: fairy tales, digits, lower-case German."""

"""The small models of the assignment `variants`: a language model, a tagger and two Vision Transformers."""

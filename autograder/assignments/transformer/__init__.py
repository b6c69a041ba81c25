"""The assignment `transformer`: the model of "Attention Is All You Need", in five stages."""

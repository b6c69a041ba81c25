"""Commands for authors: release notebooks, store tensors, audit assignments, pack archives, build the site."""

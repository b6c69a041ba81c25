"""Translating with a trained model: decoding, a KV cache, alignment and corpora."""

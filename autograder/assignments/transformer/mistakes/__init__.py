"""The known mistakes of each stage: small changes to the reference modules, with hints. They are never shipped."""

from autograder.assignments.transformer.mistakes import decoder, encoder, inference, mha, pe

MISTAKES = mha.MISTAKES + pe.MISTAKES + encoder.MISTAKES + decoder.MISTAKES + inference.MISTAKES

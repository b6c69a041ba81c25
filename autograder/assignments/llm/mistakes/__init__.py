"""The known mistakes of each stage: small changes to the reference modules, with hints. They are never shipped."""

from autograder.assignments.llm.mistakes import bpe, flash, lens, lm, optim, quantise, speculative

MISTAKES = tuple(
    mistake for stage in (bpe, flash, lm, optim, lens, quantise, speculative) for mistake in stage.MISTAKES
)

"""The known mistakes of each stage: small changes to the reference modules, with hints. Never shipped."""

from autograder.assignments.llm.mistakes import bpe, flash, lens, lm, optim

MISTAKES = (*bpe.MISTAKES, *flash.MISTAKES, *lm.MISTAKES, *optim.MISTAKES, *lens.MISTAKES)

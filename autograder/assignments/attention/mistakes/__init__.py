"""The known mistakes of each stage: small changes to the reference modules, with hints. They are never shipped."""

from autograder.assignments.attention.mistakes import bahdanau, pooling, scoring, translate

MISTAKES = pooling.MISTAKES + scoring.MISTAKES + bahdanau.MISTAKES + translate.MISTAKES

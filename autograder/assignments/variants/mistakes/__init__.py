"""The known mistakes of each stage: small changes to the reference modules, with hints. They are never shipped."""

from autograder.assignments.variants.mistakes import generate, heads, layers, lm, modern, tagger, training, vit

MISTAKES = (
    *(layers.MISTAKES + heads.MISTAKES + lm.MISTAKES + generate.MISTAKES),
    *(tagger.MISTAKES + vit.MISTAKES + training.MISTAKES + modern.MISTAKES),
)

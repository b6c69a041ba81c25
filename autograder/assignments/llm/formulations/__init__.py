"""Other correct ways to write the students' code."""

from autograder.assignments.llm.formulations.bpe import BPE
from autograder.assignments.llm.formulations.flash import FLASH
from autograder.assignments.llm.formulations.lm import LM

FORMULATIONS = (*BPE, *FLASH, *LM)

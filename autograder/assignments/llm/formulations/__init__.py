"""Other correct ways to write what students write."""

from autograder.assignments.llm.formulations.bpe import BPE
from autograder.assignments.llm.formulations.flash import FLASH

FORMULATIONS = (*BPE, *FLASH)

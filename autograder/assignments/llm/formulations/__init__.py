"""Other correct ways to write the students' code."""

from autograder.assignments.llm.formulations.bpe import BPE
from autograder.assignments.llm.formulations.flash import FLASH
from autograder.assignments.llm.formulations.lens import LENS
from autograder.assignments.llm.formulations.lm import LM
from autograder.assignments.llm.formulations.optim import OPTIM
from autograder.assignments.llm.formulations.quantise import QUANTISE
from autograder.assignments.llm.formulations.speculative import SPECULATIVE

FORMULATIONS = (*BPE, *FLASH, *LM, *OPTIM, *LENS, *QUANTISE, *SPECULATIVE)

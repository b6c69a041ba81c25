"""Other correct ways to write the students' code: individual regions here, and whole submissions in the subfolders."""

from autograder.assignments.attention.formulations.pooling import POOLING
from autograder.assignments.attention.formulations.scoring import SCORING
from autograder.assignments.attention.formulations.seq2seq import SEQ2SEQ

FORMULATIONS = (*POOLING, *SCORING, *SEQ2SEQ)

"""Other correct ways to write the students' code: individual regions here, and whole submissions in the subfolders."""

from autograder.assignments.transformer.formulations.heads import HEADS
from autograder.assignments.transformer.formulations.layers import DECODER, ENCODER
from autograder.assignments.transformer.formulations.mha import MHA
from autograder.assignments.transformer.formulations.models import PE, TRANSFORMER

FORMULATIONS = (*MHA, *HEADS, *PE, *ENCODER, *DECODER, *TRANSFORMER)

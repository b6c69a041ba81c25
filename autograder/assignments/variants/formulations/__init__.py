"""Other correct ways to write the students' code: individual regions here, and a whole submission in the subfolder."""

from autograder.assignments.variants.formulations.language_models import GENERATE, LM
from autograder.assignments.variants.formulations.layers import HEADS, LAYERS
from autograder.assignments.variants.formulations.models import TAGGER, VIT
from autograder.assignments.variants.formulations.runs import MODERN, TRAINING

FORMULATIONS = (*LAYERS, *HEADS, *LM, *GENERATE, *TAGGER, *VIT, *TRAINING, *MODERN)

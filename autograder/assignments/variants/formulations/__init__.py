"""Other correct ways to write what students write: single regions here, and a whole submission in the folder."""

from autograder.assignments.variants.formulations.layers import HEADS, LAYERS
from autograder.assignments.variants.formulations.models import GENERATE, LM, TAGGER, VIT
from autograder.assignments.variants.formulations.runs import MODERN, TRAINING

FORMULATIONS = (*LAYERS, *HEADS, *LM, *GENERATE, *TAGGER, *VIT, *TRAINING, *MODERN)

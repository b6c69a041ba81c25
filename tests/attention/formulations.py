"""All formulations of the assignment `attention`."""

from tests.attention.pooling_formulations import POOLING
from tests.attention.scoring_formulations import SCORING
from tests.attention.seq2seq_formulations import SEQ2SEQ
from tests.variants.regions import Formulation

FORMULATIONS: list[Formulation] = [*POOLING, *SCORING, *SEQ2SEQ]

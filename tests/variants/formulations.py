"""All single-module formulations, and `apply`, which makes a submission of one of them."""

from tests.variants.layer_formulations import DECODER, ENCODER
from tests.variants.mha_formulations import MHA
from tests.variants.model_formulations import PE, TRANSFORMER
from tests.variants.regions import Formulation, apply

__all__ = ["FORMULATIONS", "Formulation", "apply"]

FORMULATIONS: list[Formulation] = [*MHA, *PE, *ENCODER, *DECODER, *TRANSFORMER]

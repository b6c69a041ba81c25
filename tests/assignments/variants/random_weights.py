"""Models of the assignment `variants` with random weights."""

from typing import Any

import numpy as np
import torch

from autograder.assignments.variants.weights import random_weight


def randomise(model: Any, seed: int = 0) -> Any:
    """Give a model random weights, norms included, in evaluation mode."""
    rng = np.random.Generator(np.random.PCG64(seed))
    state = {name: random_weight(rng, name, tuple(value.shape)) for name, value in model.state_dict().items()}
    model.load_state_dict({name: torch.from_numpy(value) for name, value in state.items()})
    return model.eval()

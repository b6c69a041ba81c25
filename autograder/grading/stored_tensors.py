"""The stored tensors of the visible tests."""

from functools import cache
from pathlib import Path

import numpy as np


@cache
def read_tensors(path: Path) -> dict[str, np.ndarray]:
    """Return all tensors in a safetensors file."""
    from safetensors.numpy import load_file

    return load_file(path)


class Stored(dict[str, np.ndarray]):
    """Stored tensors by name; the error for a missing tensor explains what to do."""

    where = ""

    def __missing__(self, name: str) -> np.ndarray:
        raise LookupError(f"{self.where}{name}: python -m autograder build rewrites the stored tensors")

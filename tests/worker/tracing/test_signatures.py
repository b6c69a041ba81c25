"""Signatures of tensors: what they see, what they do not, and what they cost."""

import math
import subprocess
import sys

import numpy as np
import torch

from autograder.localization.reference import LIMIT, ORDERED
from autograder.worker.tracing.signature_weights import BLOCK
from autograder.worker.tracing.signatures import looked_at, signature


def far(one: torch.Tensor, other: torch.Tensor) -> np.ndarray:
    return np.abs(np.array(signature(one)) - np.array(signature(other)))


def test_the_order_of_elements_is_seen_by_the_last_columns_only():
    for size in ((7, 5), (300, 3 * BLOCK // 200)):
        x = torch.randn(*size, dtype=torch.float64)
        off = far(x, x.T.contiguous())
        assert off[:ORDERED].max() <= LIMIT < off[ORDERED:].max()


def test_blocks_that_are_exchanged_are_seen():
    x = torch.randn(3, BLOCK)
    assert far(x, x[[1, 0, 2]])[ORDERED:-1].max() > LIMIT


def test_how_many_elements_there_are_is_seen_whatever_their_order():
    x = torch.randn(4, 6)
    off = far(x, torch.cat([x, x]))
    assert off[: ORDERED - 1].max() <= LIMIT < off[ORDERED - 1]


def test_axes_of_size_one_are_not_seen():
    x = torch.randn(4, 6)
    assert far(x, x[:, None]).max() == 0


def test_forbidden_scores_are_alike_however_they_are_written():
    low = torch.finfo(torch.float32).min
    made = [torch.tensor([0.5, value], dtype=torch.float64) for value in (-math.inf, -1e12, low, -1e300)]
    assert all(far(made[0], one).max() <= LIMIT for one in made)


def test_the_type_of_the_numbers_is_not_seen():
    x = torch.randn(50)
    assert far(x, x.double()).max() <= LIMIT
    assert far(torch.arange(9), torch.arange(9.0)).max() <= LIMIT


def test_nan_is_told_and_counts_as_a_number():
    found, nan = looked_at(torch.tensor([1.0, math.nan, math.inf]))
    assert nan
    assert np.isfinite(found).all()
    assert not looked_at(torch.tensor([1.0, math.inf]))[1]


def test_what_has_no_numbers_loads_no_compiler():
    """To compute with a tensor on "meta", torch loads its compiler, which takes longer than a whole stage."""
    text = (
        "import sys, torch; from autograder.worker.tracing.signatures import signature; before = len(sys.modules);"
        "found = signature(torch.empty(2, 3, device='meta')); print(found[0], len(sys.modules) - before)"
    )
    run = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["nan", "0"]

"""Right or wrong, where some elements are infinite and do not count."""

import warnings

import numpy as np

from autograder.diagnosis.compare_tensors import compare, deviation


def test_infinite_elements_that_do_not_count_are_ignored_without_a_warning():
    """Where nothing is attended to, a logarithm is -inf on both sides."""
    expected, actual = np.array([-np.inf, 1.0]), np.array([-np.inf, 1.25])
    where = np.isfinite(expected)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert deviation(actual, expected, where) == 0.25
        assert deviation(actual, expected) == np.inf
        assert compare("lse", "T", actual, expected, 0.5, where) is None
    assert compare("lse", "T", actual, expected, 0.1, where) is not None

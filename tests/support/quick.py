"""Of many cases the test command runs some, evenly spread; the others are slow: `-m slow` runs them."""

from collections.abc import Iterable
from typing import Any

import pytest


def some(cases: Iterable[Any], every: int, also_slow: Iterable[Any] = ()) -> list[Any]:
    """All cases as parameters of a test; but one of so many they are slow.

    Args:
        also_slow: cases that are slow wherever they stand.
    """
    also_slow = list(also_slow)
    return [
        pytest.param(case, marks=() if number % every == 0 and case not in also_slow else pytest.mark.slow)
        for number, case in enumerate(cases)
    ]

"""Item analysis of a class: how hard tests are, how well they separate strong and weak submissions, and a histogram."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

FEWEST = 3  # submissions needed for a correlation: with two points it is always 1, -1 or undefined
MOST_BINS = 25


@dataclass(frozen=True)
class Item:
    """The statistics of a test, or of a stage, over a class. A value is None if it is undefined."""

    share: float | None  # mean share of its points: the difficulty index, 1 if everybody has full points
    discrimination: float | None  # corrected item-total correlation


@dataclass(frozen=True)
class Bin:
    """The number of totals from `low` up to, but not including, `high`; the last bin includes `high`."""

    low: float
    high: float
    count: int


def correlation(x: np.ndarray, y: np.ndarray) -> float | None:
    """The Pearson correlation, or None if it is undefined: too few values, or a constant variable."""
    if len(x) < FEWEST or x.max() == x.min() or y.max() == y.min():
        return None
    x, y = x - x.mean(), y - y.mean()
    return float(np.clip((x @ y) / np.sqrt((x @ x) * (y @ y)), -1, 1))


def item_analysis(points: np.ndarray, maxima: Sequence[float], totals: np.ndarray) -> list[Item]:
    """Difficulty and discrimination of each item.

    Args:
        points: the points of each submission for each item: (N, K); NaN if a submission has no result for an item.
        maxima: the maximum points for each item: (K,)
        totals: the total points of each submission: (N,). An item's own points are subtracted from the total
            first; otherwise every item would seem to correlate with the total.
    """
    items = []
    for column, maximum in zip(points.T, maxima, strict=True):
        known = ~np.isnan(column)
        values = column[known]
        share = float(values.mean() / maximum) if len(values) and maximum else None
        # Rounded, since equal sums may differ in the last digit.
        items.append(Item(share, correlation(values, np.round(totals[known] - values, 9))))
    return items


def histogram(totals: Sequence[float], maximum: float) -> list[Bin]:
    """Bins of equal, round width (1, 2 or 5 times a power of ten) from 0 to the maximum, at most MOST_BINS."""
    if maximum <= 0:
        return []
    least = maximum / MOST_BINS
    power = 10.0 ** np.floor(np.log10(least))
    width = float(next(step * power for step in (1, 2, 5, 10) if step * power >= least * (1 - 1e-9)))
    number = int(np.ceil(maximum / width - 1e-9))
    places = np.clip(np.floor(np.asarray(totals, dtype=float) / width + 1e-9), 0, number - 1).astype(int)
    counts = np.bincount(places, minlength=number)
    return [
        Bin(round(place * width, 9), round(min((place + 1) * width, maximum), 9), int(count))
        for place, count in enumerate(counts)
    ]

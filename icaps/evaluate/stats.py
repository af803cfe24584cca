"""Scores with intervals: Wilson's of a share, and by drawing the texts again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

LEVEL = 0.95  # of all intervals
TAILS = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)
RESAMPLES = 1_000
_HELD = 4_000_000  # counts of cells that are held at once

Counts = NDArray[np.int64]
Values = NDArray[np.float64]


class Score(NamedTuple):
    """A value and the ends of its interval, of level LEVEL."""

    value: float
    low: float
    high: float


def share(hits: int, total: int) -> Score:
    """A share of independent texts with Wilson's interval (1927); nan within 0 to 1 of nothing."""
    if not total:
        return Score(float("nan"), 0.0, 1.0)
    low, high = binomtest(hits, total).proportion_ci(LEVEL, method="wilson")
    return Score(hits / total, float(low), float(high))


def resampled(
    counts: NDArray[np.integer[Any]], statistic: Callable[[Counts], Values], seed: int
) -> Values:
    """A statistic of RESAMPLES draws of the texts, with replacement (Efron 1979).

    Texts that are alike to the statistic are one cell. Drawing texts is drawing a multinomial of
    the cells' counts, which takes the same time for any number of texts.

    Args:
        counts: Texts of each cell, (cells,), one or more in all.
        statistic: From counts (draws, cells) to values (draws, ...).
        seed: Of the draws.

    Returns:
        (RESAMPLES, ...).
    """
    random = np.random.default_rng(seed)
    total = int(counts.sum())
    size = max(1, _HELD // len(counts))
    return np.concatenate(
        [
            statistic(random.multinomial(total, counts / total, min(size, RESAMPLES - start)))
            for start in range(0, RESAMPLES, size)
        ]
    )


def percentile(value: float, draws: Values) -> Score:
    """A value with the percentile interval of its resamples (draws,)."""
    low, high = np.quantile(draws, TAILS)
    return Score(float(value), float(low), float(high))

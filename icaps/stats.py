"""Confidence intervals: Wilson's for a share, the bootstrap for all else; macro F1; entropy."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from math import isnan, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from icaps.results import Interval

LEVEL = 0.95  # confidence level of all intervals
TAILS = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)
RESAMPLES = 1_000
_MAX_CELLS = 4_000_000  # counts in memory at a time

Counts = NDArray[np.int64]
Values = NDArray[np.float64]


def wilson(hits: int, total: int, level: float = LEVEL) -> Interval:
    """The share hits / total with Wilson's score interval (1927).

    NaN with the interval 0 to 1 if `total` is 0.
    """
    if not total:
        return Interval(float("nan"), 0.0, 1.0)
    z = NormalDist().inv_cdf((1 + level) / 2)
    centre = (hits + z**2 / 2) / (total + z**2)
    half = z / (total + z**2) * sqrt(hits * (total - hits) / total + z**2 / 4)
    low = max(centre - half, 0.0) if hits else 0.0
    high = min(centre + half, 1.0) if hits < total else 1.0
    return Interval(hits / total, low, high)


def macro_f1(
    labels: NDArray[np.integer[Any]], predicted: NDArray[np.integer[Any]], classes: int
) -> float:
    """Mean over all classes of F1 = 2 hits / (texts of the class + predictions of the class).

    F1 is 0 for a class that has no text and is never predicted.

    Args:
        labels, predicted: (texts,), class numbers.
        classes: J, the number of classes.
    """
    true, guesses, hits = (
        np.bincount(numbers, minlength=classes)
        for numbers in (labels, predicted, labels[labels == predicted])
    )
    return float((2 * hits / np.maximum(true + guesses, 1)).mean())


def macro_f1_of_sets(labels: NDArray[np.bool_], predicted: NDArray[np.bool_]) -> float:
    """As `macro_f1`, for several labels per text.

    Args:
        labels, predicted: (texts, J), whether a text has a class.
    """
    hits = (labels & predicted).sum(0)
    return float((2 * hits / np.maximum(labels.sum(0) + predicted.sum(0), 1)).mean())


def entropy(counts: NDArray[np.number[Any]]) -> Values:
    """Entropy along the last axis, in nats; NaN where all counts are 0."""
    totals = counts.sum(-1, keepdims=True)
    shares = np.divide(counts, totals, out=np.full(counts.shape, np.nan), where=totals > 0)
    logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    return np.asarray(-(shares * logs).sum(-1))


def bootstrap(
    counts: NDArray[np.integer[Any]], statistic: Callable[[Counts], Values], seed: int
) -> Values:
    """Bootstrap: a statistic of RESAMPLES resamples with replacement (Efron 1979).

    Texts that do not differ for the statistic form one cell. Resampling texts is then drawing from
    a multinomial distribution over the cells, whose cost does not depend on the number of texts.

    Args:
        counts: Texts in each cell, (cells,), one or more in all.
        statistic: From counts (draws, cells) to values (draws, ...).
        seed: Seed of the draws.

    Returns:
        The statistic of each resample, (RESAMPLES, ...).
    """
    random = np.random.default_rng(seed)
    total = int(counts.sum())
    size = max(1, _MAX_CELLS // len(counts))
    return np.concatenate(
        [
            statistic(random.multinomial(total, counts / total, min(size, RESAMPLES - start)))
            for start in range(0, RESAMPLES, size)
        ]
    )


def percentile_interval(value: float, draws: Values) -> Interval:
    """A value with the percentile interval of its resamples, (draws,)."""
    low, high = np.quantile(draws, TAILS)
    return Interval(float(value), float(low), float(high))


def bootstrap_mean(values: NDArray[np.floating], seed: int = 0) -> Interval:
    """The mean of one value per text, (texts,), with its percentile bootstrap interval.

    NaN values are left out; the result is NaN if nothing remains. Where all values differ, drawing
    their indices is faster than `bootstrap`, which would need one cell per text.
    """
    values = values[~np.isnan(values)]
    if not len(values):
        return Interval(float("nan"), float("nan"), float("nan"))
    random = np.random.default_rng(seed)
    means = [values[random.integers(0, len(values), len(values))].mean() for _ in range(RESAMPLES)]
    return percentile_interval(values.mean(), np.array(means))


def to_plain_dict(result: Any) -> dict[str, Any]:
    """A dataclass of plain values and `Interval`s of means as a dict for JSON; NaN becomes None."""
    return {field.name: _plain(getattr(result, field.name)) for field in dataclasses.fields(result)}


def _plain(value: Any) -> Any:
    if isinstance(value, Interval):
        return value.to_dict("mean")
    return None if isinstance(value, float) and isnan(value) else value

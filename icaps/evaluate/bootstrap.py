"""Means over texts with their bootstrap intervals."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 1_000
LEVEL = 0.95


class Estimate(NamedTuple):
    """A mean over texts, and the ends of its 95% percentile bootstrap interval; NaN of nothing."""

    mean: float
    low: float
    high: float


def estimate(values: NDArray[np.floating], seed: int = 0) -> Estimate:
    """The mean of (texts,), drawing texts again RESAMPLES times; what is NaN is left out."""
    values = values[~np.isnan(values)]
    if not len(values):
        return Estimate(*[float("nan")] * 3)
    random = np.random.default_rng(seed)
    means = [values[random.integers(0, len(values), len(values))].mean() for _ in range(RESAMPLES)]
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Estimate(float(values.mean()), float(low), float(high))


def plain(result: Any) -> dict[str, Any]:
    """A dataclass of estimates and plain values, for JSON; what is NaN is None."""
    return {field.name: _plain(getattr(result, field.name)) for field in dataclasses.fields(result)}


def _plain(value: Any) -> Any:
    if isinstance(value, Estimate):
        return {name: _plain(number) for name, number in value._asdict().items()}
    return None if isinstance(value, float) and math.isnan(value) else value

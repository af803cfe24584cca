"""Calibration of confidences: the reliability curve and the expected calibration error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from icaps.results import Interval
from icaps.stats import RESAMPLES, TAILS, Counts, Values, bootstrap, wilson

BINS = 15
_STEPS = 1_000  # of confidence; texts within one are the same to a resample


class Bin(NamedTuple):
    """The number, mean confidence and accuracy of texts with a confidence from `low` to `high`."""

    low: float
    high: float
    texts: int
    confidence: float
    accuracy: Interval


@dataclass(frozen=True)
class Reliability:
    """The calibration of a model's confidences.

    Attributes:
        bins: The bins with texts, by rising confidence.
        error: The expected calibration error (Guo et al. 2017, section 2): the mean over texts of
            the distance of a bin's accuracy from its mean confidence. Its interval is the basic
            bootstrap interval, which corrects for the error that chance adds to each resample; it
            starts at 0 if the error is below `perfect_high`.
        perfect: The mean error of a perfectly calibrated model on the same number of texts.
        perfect_high: The 95% quantile of the error of such a model.
        seed: Seed of the draws.
    """

    bins: tuple[Bin, ...]
    error: Interval
    perfect: float
    perfect_high: float
    seed: int

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "error": self.error.value,
            "interval": self.error[1:],
            "perfect": self.perfect,
            "perfect_high": self.perfect_high,
            "seed": self.seed,
            "bins": [
                {
                    "from": part.low,
                    "to": part.high,
                    "texts": part.texts,
                    "confidence": part.confidence,
                    "accuracy": part.accuracy.value,
                    "interval": part.accuracy[1:],
                }
                for part in self.bins
            ],
        }


def calibration_error(
    probability: NDArray[np.floating[Any]], true: NDArray[np.bool_], bins: int = BINS
) -> float:
    """The error of `Reliability` alone: of probabilities (texts,) that something is `true`."""
    gaps = np.bincount(_places(probability, bins), weights=true - probability, minlength=bins)
    return float(np.abs(gaps).sum() / len(probability))


def measure_reliability(
    confidence: NDArray[np.float64], correct: NDArray[np.bool_], bins: int = BINS, seed: int = 0
) -> Reliability:
    """Measures the calibration of one or more predictions.

    Args:
        confidence: (texts,), probabilities of the predicted classes.
        correct: (texts,), whether the predicted class is the label.
        bins: Number of bins of equal width, from 0 to 1; an edge belongs to the lower bin.
        seed: Seed of the draws.
    """
    places = _places(confidence, bins)
    parts = []
    for n in np.unique(places).tolist():
        inside = places == n
        hits = int(correct[inside].sum())
        mean = float(confidence[inside].mean())
        parts.append(
            Bin(n / bins, (n + 1) / bins, int(inside.sum()), mean, wilson(hits, int(inside.sum())))
        )
    error = calibration_error(confidence, correct, bins)
    low, high = np.quantile(_drawn_errors(confidence, correct, places, bins, seed), TAILS)
    perfect = _perfect_errors(confidence, places, bins, seed)
    perfect_high = float(np.quantile(perfect, 0.95))
    lowest = 0.0 if error <= perfect_high else max(2 * error - float(high), 0.0)
    highest = max(2 * error - float(low), 0.0)
    return Reliability(
        tuple(parts),
        Interval(error, lowest, highest),
        float(perfect.mean()),
        perfect_high,
        seed,
    )


def _places(confidence: NDArray[np.floating[Any]], bins: int) -> NDArray[np.int64]:
    """The number of each text's bin, (texts,)."""
    return np.asarray(np.clip(np.ceil(confidence * bins).astype(np.int64) - 1, 0, bins - 1))


def _drawn_errors(
    confidence: NDArray[np.float64],
    correct: NDArray[np.bool_],
    places: NDArray[np.int64],
    bins: int,
    seed: int,
) -> Values:
    """The errors of resamples (RESAMPLES,)."""
    cells, counts, sums = _cells(places, confidence, correct - confidence, correct)
    gaps = _spread(sums / counts, cells, bins)

    def errors(drawn: Counts) -> Values:
        return np.asarray(np.abs(drawn @ gaps).sum(1) / len(confidence))

    return bootstrap(counts, errors, seed)


def _perfect_errors(
    confidence: NDArray[np.float64], places: NDArray[np.int64], bins: int, seed: int
) -> Values:
    """The errors (RESAMPLES,) if each text is right with the probability of its confidence."""
    cells, counts, sums = _cells(places, confidence, confidence, np.zeros(len(places), bool))
    random = np.random.default_rng(seed)
    hits = random.binomial(counts, np.clip(sums / counts, 0, 1), (RESAMPLES, len(counts)))
    in_bins = (hits - sums) @ _spread(np.ones(len(cells)), cells, bins)
    return np.asarray(np.abs(in_bins).sum(1) / len(confidence))


def _cells(
    places: NDArray[np.int64],
    confidence: NDArray[np.float64],
    values: NDArray[np.float64],
    correct: NDArray[np.bool_],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Cells of equal texts: their bins, numbers of texts and sums of `values`, (cells,) each."""
    steps = (confidence * _STEPS).astype(np.int64)
    codes = (places * (_STEPS + 1) + steps) * 2 + correct
    cells, inverse = np.unique(codes, return_inverse=True)
    return (
        cells // (2 * (_STEPS + 1)),
        np.bincount(inverse).astype(np.int64),
        np.bincount(inverse, weights=values).astype(float),
    )


def _spread(
    values: NDArray[np.float64], cells: NDArray[np.int64], bins: int
) -> NDArray[np.float64]:
    """A matrix (cells, bins) with each cell's value in the column of its bin."""
    table = np.zeros((len(cells), bins))
    table[np.arange(len(cells)), cells] = values
    return table

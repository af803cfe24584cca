"""What is gained where the model may be silent: coverage and accuracy by a threshold."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from icaps.results import Interval
from icaps.stats import wilson

POINTS = 200  # of a curve


class Kept(NamedTuple):
    """The texts that are answered: those of a confidence of `threshold` or more.

    coverage: Their share of all; accuracy: among them; rejected_accuracy: among the others, that
    is what their answers would have been.
    """

    threshold: float
    texts: int
    coverage: float
    accuracy: Interval
    rejected_accuracy: Interval

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; None for the accuracy of no text."""
        return {
            "threshold": self.threshold,
            "texts": self.texts,
            "coverage": self.coverage,
            "accuracy": self.accuracy.value if self.texts else None,
            "interval": self.accuracy[1:],
        }


def kept_at(confidence: NDArray[np.float64], correct: NDArray[np.bool_], threshold: float) -> Kept:
    """What a threshold keeps of one or more predictions; arrays are (texts,)."""
    kept = confidence >= threshold
    texts = int(kept.sum())
    return Kept(
        threshold,
        texts,
        texts / len(kept),
        wilson(int(correct[kept].sum()), texts),
        wilson(int(correct[~kept].sum()), len(kept) - texts),
    )


def rejection_curve(
    confidence: NDArray[np.float64], correct: NDArray[np.bool_], points: int = POINTS
) -> list[Kept]:
    """`kept_at` for about `points` thresholds, from all texts to the most confident one.

    A model that is silent at random keeps the accuracy of all texts, whatever its coverage.
    """
    levels = np.unique(confidence)
    ranks = np.unique(np.linspace(0, len(confidence) - 1, points).astype(np.int64))
    chosen = np.unique(np.append(np.sort(confidence)[ranks], levels[[0, -1]]))
    return [kept_at(confidence, correct, threshold) for threshold in chosen.tolist()]

"""Selective prediction: accuracy and coverage if a model abstains below a confidence."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from icaps.results import Interval
from icaps.stats import wilson

POINTS = 200  # points of a curve


class Selection(NamedTuple):
    """The texts with a confidence of `threshold` or more, for which the model does not abstain.

    Attributes:
        threshold: The least confidence.
        texts: Number of selected texts.
        coverage: Their share of all texts.
        accuracy: Their accuracy.
        rejected_accuracy: The accuracy on all other texts.
    """

    threshold: float
    texts: int
    coverage: float
    accuracy: Interval
    rejected_accuracy: Interval

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; the accuracy of no text is None."""
        return {
            "threshold": self.threshold,
            "texts": self.texts,
            "coverage": self.coverage,
            "accuracy": self.accuracy.value if self.texts else None,
            "interval": self.accuracy[1:],
        }


def select_at(
    confidence: NDArray[np.float64], correct: NDArray[np.bool_], threshold: float
) -> Selection:
    """The selection by a threshold, from the confidences and correctness of texts (texts,)."""
    mask = confidence >= threshold
    texts = int(mask.sum())
    return Selection(
        threshold,
        texts,
        texts / len(mask),
        wilson(int(correct[mask].sum()), texts),
        wilson(int(correct[~mask].sum()), len(mask) - texts),
    )


def coverage_curve(
    confidence: NDArray[np.float64], correct: NDArray[np.bool_], points: int = POINTS
) -> list[Selection]:
    """`select_at` for about `points` thresholds, from all texts to the most confident one.

    A model that abstains at random has the accuracy of all texts at any coverage.
    """
    levels = np.unique(confidence)
    ranks = np.unique(np.linspace(0, len(confidence) - 1, points).astype(np.int64))
    chosen = np.unique(np.append(np.sort(confidence)[ranks], levels[[0, -1]]))
    return [select_at(confidence, correct, threshold) for threshold in chosen.tolist()]

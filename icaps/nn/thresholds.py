"""Which classes a text with several labels gets: those whose probability reaches a threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit


@dataclass(frozen=True, eq=False)
class ClassThresholds:
    """A logistic function of the norm per class, and the probability from which it is predicted.

    Attributes:
        slopes: (J,), above 0, so that a probability rises with its norm.
        offsets: (J,).
        thresholds: (J,), probabilities.
    """

    slopes: NDArray[np.float64]
    offsets: NDArray[np.float64]
    thresholds: NDArray[np.float64]

    def probabilities(self, norms: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
        """Calibrated probability of each class by itself (..., J); they need not add up to 1."""
        chances: NDArray[np.float64] = expit(np.asarray(norms, float) * self.slopes + self.offsets)
        return chances

    def predicted(self, norms: NDArray[np.floating[Any]]) -> NDArray[np.bool_]:
        """Whether each class is predicted (..., J); none where all norms are 0, as of no words."""
        reached = self.probabilities(norms) >= self.thresholds
        known = np.any(norms, axis=-1, keepdims=True)
        return np.asarray(reached & known)

    @property
    def norms(self) -> NDArray[np.float64]:
        """The norm at which the probability of each class reaches its threshold (J,)."""
        odds = np.log(self.thresholds) - np.log1p(-self.thresholds)
        norms: NDArray[np.float64] = (odds - self.offsets) / self.slopes
        return norms

"""Which classes a text with several labels gets: those whose probability reaches a threshold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray


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
        odds = np.asarray(norms, float) * self.slopes + self.offsets  # their logarithms
        chances: NDArray[np.float64] = np.exp(-np.logaddexp(0, -odds))
        return chances

    def predicted(self, norms: NDArray[np.floating[Any]]) -> NDArray[np.bool_]:
        """Whether each class is predicted (..., J); none where all norms are 0, as of no words."""
        reached = self.probabilities(norms) >= self.thresholds
        known = np.any(norms, axis=-1, keepdims=True)
        return np.asarray(reached & known)

    def to_dict(self) -> dict[str, list[float]]:
        """Plain data for JSON."""
        return {name: values.tolist() for name, values in vars(self).items()}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], classes: int) -> ClassThresholds:
        """The inverse of `to_dict`, for J classes.

        Raises:
            KeyError, TypeError, ValueError: It is incomplete or has other values.
        """
        names = [field.name for field in fields(cls)]
        arrays = [np.asarray(content[name], dtype=float) for name in names]
        if any(values.shape != (classes,) or not np.isfinite(values).all() for values in arrays):
            raise ValueError(f"{', '.join(names)} are not {classes} finite numbers each")
        read = cls(*arrays)
        inside = (read.thresholds > 0) & (read.thresholds < 1)
        if not (inside.all() and (read.slopes > 0).all()):
            raise ValueError("a slope is not above 0, or a threshold is not between 0 and 1")
        return read

    @property
    def norms(self) -> NDArray[np.float64]:
        """The norm at which the probability of each class reaches its threshold (J,)."""
        odds = np.log(self.thresholds) - np.log1p(-self.thresholds)
        norms: NDArray[np.float64] = (odds - self.offsets) / self.slopes
        return norms

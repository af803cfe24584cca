"""What all baselines have in common."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

WEIGHTS = "weights.safetensors"  # not the name of a checkpoint's, so that none is taken for one


class Baseline(ABC):
    """A fitted baseline, which is a `Scorer`.

    Attributes:
        kind: Of `kinds.KINDS`.
        classes_: (J,), sorted.
        metrics_: What is known of its training, as a checkpoint's metrics.
    """

    def __init__(self, kind: str, classes: NDArray[Any]) -> None:
        self.kind = kind
        self.classes_ = classes
        self.metrics_: dict[str, Any] = {}

    @abstractmethod
    def predict_proba(self, X: Sequence[str]) -> NDArray[np.float64]:  # noqa: N803
        """Probabilities (texts, J)."""

    def predict(self, X: Sequence[str]) -> NDArray[Any]:  # noqa: N803
        """The most probable class (texts,); the first one on a tie."""
        predicted: NDArray[Any] = self.classes_[self.predict_proba(X).argmax(1)]
        return predicted

    @property
    @abstractmethod
    def num_weights(self) -> int:
        """How many numbers it has learnt."""

    @abstractmethod
    def write(self, folder: Path) -> dict[str, Any]:
        """Writes what it has learnt into a folder, and returns what else `read` needs."""

    @classmethod
    @abstractmethod
    def read(
        cls, folder: Path, kind: str, classes: NDArray[Any], settings: dict[str, Any]
    ) -> Baseline:
        """The baseline that `write` wrote; `settings` are what it returned.

        Raises:
            CheckpointError: A file is missing or damaged.
            KeyError, TypeError, ValueError: The settings are not those of this kind.
        """


def positive(value: Any) -> float:
    """A factor as it was stored; ValueError where it is no finite number above 0."""
    factor = float(value)
    if not 0 < factor < math.inf:
        raise ValueError(f"inverse_temperature is {factor}")
    return factor

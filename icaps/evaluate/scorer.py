"""What any classifier can be asked, whatever is inside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from numpy.typing import NDArray


class Scorer(Protocol):
    """A trained classifier of texts: an `ICapsClassifier`, or a baseline.

    `classes_` (J,) are its classes in the order of its probabilities.
    """

    classes_: NDArray[Any]

    def predict_proba(self, X: Sequence[str]) -> NDArray[Any]:  # noqa: N803
        """Probabilities (texts, J), which add up to 1 for each text."""

    def predict(self, X: Sequence[str]) -> NDArray[Any]:  # noqa: N803
        """The classes (texts,)."""

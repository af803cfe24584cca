"""A model's probabilities for texts, and how sure it is of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


class Scorer(Protocol):
    """A trained classifier: an `ICapsClassifier`, or a baseline.

    `classes_` (J,) are its classes in the order of its probabilities.
    """

    classes_: NDArray[Any]

    def predict_proba(self, X: Sequence[str]) -> NDArray[Any]:  # noqa: N803
        """Probabilities (texts, J)."""

    def predict(self, X: Sequence[str]) -> NDArray[Any]:  # noqa: N803
        """The classes (texts,), or with several per text their indicators (texts, J)."""


@dataclass(frozen=True)
class Scores:
    """A model's probabilities for texts.

    Attributes:
        classes: (J,), names.
        probabilities: (n, J).
        thresholds: (J,), of a model of several classes per text; None for one of one.
    """

    classes: tuple[str, ...]
    probabilities: NDArray[np.float64]
    thresholds: NDArray[np.float64] | None = None

    @classmethod
    def of(cls, model: Scorer, texts: Sequence[str]) -> Scores:
        """The probabilities of texts."""
        several = getattr(model, "multilabel_", False)
        return cls(
            tuple(map(str, model.classes_)),
            np.asarray(model.predict_proba(texts), np.float64),
            np.asarray(model.thresholds_, np.float64) if several else None,  # type: ignore[attr-defined]
        )

    def margins(self) -> NDArray[np.float64]:
        """How sure the model is of each text (n,), 0 for not at all.

        The probability of the most probable class minus that of the second one (margin sampling,
        Scheffer, Decomain and Wrobel 2001). With several classes per text, the distance of the
        nearest probability from its threshold.
        """
        if self.thresholds is not None:
            return np.asarray(np.abs(self.probabilities - self.thresholds).min(1))
        if self.probabilities.shape[1] < 2:
            return np.ones(len(self.probabilities))
        top = np.partition(self.probabilities, -2, axis=1)[:, -2:]  # (n, 2)
        return np.asarray(top[:, 1] - top[:, 0])

    def by_uncertainty(self) -> NDArray[np.int64]:
        """The numbers of the texts, the least certain first, (n,)."""
        return np.argsort(self.margins(), kind="stable")

    def guess(self, n: int) -> dict[str, float]:
        """The probability of each class, the most probable first."""
        row = self.probabilities[n]
        return {self.classes[j]: float(row[j]) for j in np.argsort(-row, kind="stable")}

    def sentence(self, n: int, model: str = "The model") -> str:
        """What the model is unsure of; `model` is what it is called."""
        row = self.probabilities[n]
        if self.thresholds is not None:
            j = int(np.abs(row - self.thresholds).argmin())
            return (
                f"{model} is unsure of {self.classes[j]}: {row[j]:.0%}, where "
                f"{self.thresholds[j]:.0%} decides."
            )
        likeliest = ", ".join(f"{c} {p:.0%}" for c, p in list(self.guess(n).items())[:2])
        return f"{model} is unsure: {likeliest}."


def predicted_labels(model: Scorer, texts: Sequence[str]) -> list[tuple[str, ...]]:
    """The names of the classes that a model predicts for each text."""
    predicted = np.asarray(model.predict(texts))
    if predicted.ndim == 1:
        return [(str(name),) for name in predicted]
    names = [str(name) for name in model.classes_]
    return [tuple(names[j] for j in np.flatnonzero(row)) for row in predicted]

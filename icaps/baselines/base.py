"""The list of baselines, and their base class. Nothing here imports a library."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from icaps.nn.thresholds import ClassThresholds
    from icaps.train.text_hashes import TextHashes

LINEAR, FASTTEXT = "linear", "fasttext"
WORD_CNN, REGION_EMBEDDINGS, CAPSNET = "word-cnn", "region-embeddings", "capsnet"
NETWORKS = (WORD_CNN, REGION_EMBEDDINGS, CAPSNET)
WEIGHTS = "weights.safetensors"  # a checkpoint's file has another name, so that they do not mix


class BaselineKind(NamedTuple):
    """The full name of a baseline, and the paper it comes from."""

    title: str
    source: str


BASELINES = {
    LINEAR: BaselineKind(
        "TF-IDF of words and bigrams, linear SVM",
        "Zhang, Zhao and LeCun (2015), n-grams TFIDF",
    ),
    FASTTEXT: BaselineKind("fastText with bigrams", "Joulin et al. (2017)"),
    WORD_CNN: BaselineKind("Convolutions over words", "Kim (2014), CNN-rand"),
    REGION_EMBEDDINGS: BaselineKind("Word-context region embeddings", "Qiao et al. (2018)"),
    CAPSNET: BaselineKind(
        "Capsules of convolutions, routed by agreement",
        "Sabour, Frosst and Hinton (2017), Yang et al. (2018)",
    ),
}


class Baseline(ABC):
    """A fitted baseline, with the methods of a scikit-learn classifier.

    Attributes:
        kind: A key of BASELINES.
        classes_: (J,), sorted.
        metrics_: Seed, sizes and scores of its training, as in a checkpoint's metrics.json.
        text_hashes_: As of an `ICapsClassifier`.
        label_thresholds: With several labels per text: probabilities and thresholds per class, of
            `decision_function`; else None.
    """

    def __init__(self, kind: str, classes: NDArray[Any]) -> None:
        self.kind = kind
        self.classes_ = classes
        self.metrics_: dict[str, Any] = {}
        self.text_hashes_: TextHashes | None = None
        self.label_thresholds: ClassThresholds | None = None

    @property
    def multilabel_(self) -> bool:
        """Whether a text may have several labels."""
        return self.label_thresholds is not None

    @property
    def thresholds_(self) -> NDArray[np.float64] | None:
        """The probabilities from which a text has each class (J,); None with one label per text."""
        return None if self.label_thresholds is None else self.label_thresholds.thresholds

    @abstractmethod
    def decision_function(self, X: Sequence[str]) -> NDArray[np.float64]:  # noqa: N803
        """Scores (texts, J), from which the probabilities are computed."""

    @abstractmethod
    def probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probabilities (texts, J) that add up to 1, from scores (texts, J)."""

    def predict_proba(self, X: Sequence[str]) -> NDArray[np.float64]:  # noqa: N803
        """Probabilities (texts, J); with several labels per text, of each class by itself."""
        scores = self.decision_function(X)
        if self.label_thresholds is not None:
            return self.label_thresholds.probabilities(scores)
        return self.probabilities(scores)

    def predict(self, X: Sequence[str]) -> NDArray[Any]:  # noqa: N803
        """The most probable class (texts,); on a tie, the first.

        With several labels per text, an indicator matrix (texts, J) of 0 and 1.
        """
        probabilities = self.predict_proba(X)
        if self.label_thresholds is not None:
            reached: NDArray[Any] = probabilities >= self.label_thresholds.thresholds
            return reached.astype(int)
        predicted: NDArray[Any] = self.classes_[probabilities.argmax(1)]
        return predicted

    @property
    @abstractmethod
    def num_weights(self) -> int:
        """The number of learnt parameters."""

    @abstractmethod
    def write(self, folder: Path) -> dict[str, Any]:
        """Writes the learnt parameters to a folder; returns the settings that `read` needs."""

    @classmethod
    @abstractmethod
    def read(
        cls, folder: Path, kind: str, classes: NDArray[Any], settings: dict[str, Any]
    ) -> Baseline:
        """Reads the baseline in a folder; `settings` are those that `write` returned.

        Raises:
            CheckpointError: A file is missing or damaged.
            KeyError, TypeError, ValueError: The settings are not those of this kind.
        """


def read_inverse_temperature(settings: dict[str, Any]) -> float:
    """The inverse temperature in `settings`; ValueError unless it is finite and above 0."""
    factor = float(settings["inverse_temperature"])
    if not 0 < factor < math.inf:
        raise ValueError(f"inverse_temperature is {factor}")
    return factor

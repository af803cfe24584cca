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
    """

    def __init__(self, kind: str, classes: NDArray[Any]) -> None:
        self.kind = kind
        self.classes_ = classes
        self.metrics_: dict[str, Any] = {}
        self.text_hashes_: TextHashes | None = None

    @abstractmethod
    def predict_proba(self, X: Sequence[str]) -> NDArray[np.float64]:  # noqa: N803
        """Probabilities (texts, J)."""

    def predict(self, X: Sequence[str]) -> NDArray[Any]:  # noqa: N803
        """The most probable class (texts,); on a tie, the first."""
        predicted: NDArray[Any] = self.classes_[self.predict_proba(X).argmax(1)]
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

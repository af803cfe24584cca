"""TF-IDF of words and bigrams with a linear support vector machine, by scikit-learn.

The n-grams are the 500,000 most frequent ones of the training texts at most, as in Zhang, Zhao and
LeCun, "Character-level convolutional networks for text classification" (2015), section 3. Margins
become probabilities by one factor, as the norms of the capsule network do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import save_file
from scipy.special import softmax
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.svm import LinearSVC

from icaps.baselines.base import WEIGHTS, Baseline, positive
from icaps.baselines.kinds import LINEAR
from icaps.data.atomic import COPY_AGAIN, read_text
from icaps.errors import CheckpointError, DataError
from icaps.train.calibration import fit_inverse_temperature
from icaps.train.checkpoint import read_weights
from icaps.train.checkpoint_files import BASELINE, VOCABULARY

MAX_TERMS = 500_000
STRENGTHS = (0.1, 0.25, 0.5, 1.0)  # C: how little the weights are held back


class LinearBaseline(Baseline):
    """A linear machine on TF-IDF: weights (J, terms) and intercepts (J,), one class against all.

    `vectorizer` gives the features.
    """

    def __init__(
        self,
        classes: NDArray[Any],
        vectorizer: TfidfVectorizer,
        weights: NDArray[np.float32],
        intercepts: NDArray[np.float32],
        inverse_temperature: float,
    ) -> None:
        super().__init__(LINEAR, classes)
        self._vectorizer, self._weights, self._intercepts = vectorizer, weights, intercepts
        self.inverse_temperature_ = inverse_temperature

    def predict_proba(self, X: Sequence[str]) -> NDArray[np.float64]:  # noqa: N803
        """Probabilities (texts, J); those of the intercepts for a text without a known n-gram."""
        if not len(X):
            return np.zeros((0, len(self.classes_)))
        scores = _scores(self._vectorizer.transform(X), self._weights, self._intercepts)
        probabilities: NDArray[np.float64] = softmax(scores * self.inverse_temperature_, axis=1)
        return probabilities

    @property
    def num_weights(self) -> int:
        """Weights, intercepts, and the IDF of each n-gram."""
        return int(self._weights.size + self._intercepts.size + self._weights.shape[1])

    def write(self, folder: Path) -> dict[str, Any]:
        """An n-gram a line, and the numbers."""
        terms = self._vectorizer.get_feature_names_out()
        (folder / VOCABULARY).write_text("\n".join(terms) + "\n", encoding="utf-8")
        numbers = {
            "idf": self._vectorizer.idf_,
            "weights": self._weights,
            "intercepts": self._intercepts,
        }
        tensors = {
            name: torch.from_numpy(np.ascontiguousarray(value, np.float32))
            for name, value in numbers.items()
        }
        save_file(tensors, folder / WEIGHTS)
        return {"inverse_temperature": self.inverse_temperature_}

    @classmethod
    def read(
        cls, folder: Path, kind: str, classes: NDArray[Any], settings: dict[str, Any]
    ) -> LinearBaseline:
        """See `Baseline.read`."""
        factor = positive(settings["inverse_temperature"])
        terms = read_text(folder / VOCABULARY).removesuffix("\n").split("\n")
        if len(set(terms)) < len(terms):
            raise CheckpointError(f"{folder / VOCABULARY} has an n-gram twice. {COPY_AGAIN}")
        shapes = {
            "idf": (len(terms),),
            "weights": (len(classes), len(terms)),
            "intercepts": (len(classes),),
        }
        tensors = read_weights(folder / WEIGHTS, shapes, BASELINE)
        vectorizer = _vectorizer(vocabulary=terms)
        vectorizer.idf_ = tensors["idf"].numpy().astype(np.float64)
        numbers = tensors["weights"].numpy(), tensors["intercepts"].numpy()
        return cls(classes, vectorizer, *numbers, factor)


def fit_linear(
    classes: NDArray[Any],
    training: tuple[Iterable[str], NDArray[np.integer[Any]]],
    held_out: tuple[Sequence[str], NDArray[np.integer[Any]]],
    seed: int,
    say: Callable[[str], None],
) -> LinearBaseline:
    """Fits it for each of STRENGTHS and keeps the one that is best on the validation part.

    Args:
        classes: (J,).
        training: Texts, read once as a stream, and their class numbers.
        held_out: Texts that choose, and their class numbers.
        seed: Of the order in which the machine takes the texts.
        say: Called with a line on each strength.

    Raises:
        DataError: The training texts have no word of two letters.
    """
    vectorizer = _vectorizer(max_features=MAX_TERMS)
    texts, labels = training
    try:
        features = vectorizer.fit_transform(texts)
    except ValueError as error:
        raise DataError(f"The texts have no words that can be counted ({error}).") from error
    # As they are read back: what is chosen, scored and saved is the same to the last digit.
    vectorizer.idf_ = vectorizer.idf_.astype(np.float32).astype(np.float64)
    checked, targets = vectorizer.transform(held_out[0]), held_out[1]
    best: LinearBaseline | None = None
    for strength in STRENGTHS:
        numbers = _of_all_classes(LinearSVC(C=strength, random_state=seed).fit(features, labels))
        scores = _scores(checked, *numbers)
        score = float((scores.argmax(1) == targets).mean())
        say(f"C {strength:g}: validation accuracy {score:.2%}")
        if best is None or score > best.metrics_["validation_accuracy"]:
            factor = fit_inverse_temperature(torch.from_numpy(scores), targets.astype(np.int64))
            best = LinearBaseline(classes, vectorizer, *numbers, factor)
            best.metrics_ = {"strength": strength, "validation_accuracy": score}
    assert best is not None
    return best


def _vectorizer(**options: Any) -> TfidfVectorizer:
    return TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, dtype=np.float32, **options)


def _scores(features: Any, weights: Any, intercepts: Any) -> NDArray[np.float64]:
    return np.asarray(features @ weights.T + intercepts, dtype=np.float64)


def _of_all_classes(fitted: LinearSVC) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Weights (J, terms) and intercepts (J,); of two classes scikit-learn has the second's."""
    weights, intercepts = fitted.coef_, fitted.intercept_
    if len(weights) == 1:
        weights = np.vstack([-weights, weights])
        intercepts = np.concatenate([-intercepts, intercepts])
    return weights.astype(np.float32), intercepts.astype(np.float32)

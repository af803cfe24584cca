"""TF-IDF of words and bigrams with a linear support vector machine, by scikit-learn.

At most the 500,000 most frequent n-grams of the training texts are used, as in Zhang, Zhao and
LeCun, "Character-level convolutional networks for text classification" (2015), section 3. One
factor turns margins into probabilities (temperature scaling), as for the capsule network's norms.
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

from icaps.baselines.base import LINEAR, WEIGHTS, Baseline, read_inverse_temperature
from icaps.baselines.several_labels import fit_label_thresholds
from icaps.data.atomic import COPY_AGAIN, read_text
from icaps.errors import CheckpointError, DataError
from icaps.train.calibration import fit_inverse_temperature
from icaps.train.checkpoint import read_weights
from icaps.train.checkpoint_files import BASELINE, VOCABULARY

MAX_TERMS = 500_000
STRENGTHS = (0.1, 0.25, 0.5, 1.0)  # values of C, the inverse strength of regularization


class LinearBaseline(Baseline):
    """A one-vs-rest linear SVM on TF-IDF features, with weights (J, terms) and intercepts (J,)."""

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

    def decision_function(self, X: Sequence[str]) -> NDArray[np.float64]:  # noqa: N803
        """Margins (texts, J); the intercepts for a text without a known n-gram."""
        if not len(X):
            return np.zeros((0, len(self.classes_)))
        return _scores(self._vectorizer.transform(X), self._weights, self._intercepts)

    def probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Softmax of margins times the fitted factor, (texts, J)."""
        shares: NDArray[np.float64] = softmax(scores * self.inverse_temperature_, axis=1)
        return shares

    @property
    def num_weights(self) -> int:
        """The number of weights, intercepts and IDFs."""
        return int(self._weights.size + self._intercepts.size + self._weights.shape[1])

    def write(self, folder: Path) -> dict[str, Any]:
        """Writes the n-grams, one per line, and the parameters."""
        terms = self._vectorizer.get_feature_names_out()
        (folder / VOCABULARY).write_text("\n".join(terms) + "\n", encoding="utf-8")
        parameters = {
            "idf": self._vectorizer.idf_,
            "weights": self._weights,
            "intercepts": self._intercepts,
        }
        tensors = {
            name: torch.from_numpy(np.ascontiguousarray(value, np.float32))
            for name, value in parameters.items()
        }
        save_file(tensors, folder / WEIGHTS)
        return {"inverse_temperature": self.inverse_temperature_}

    @classmethod
    def read(
        cls, folder: Path, kind: str, classes: NDArray[Any], settings: dict[str, Any]
    ) -> LinearBaseline:
        """See `Baseline.read`."""
        factor = read_inverse_temperature(settings)
        terms = read_text(folder / VOCABULARY).removesuffix("\n").split("\n")
        if len(set(terms)) < len(terms):
            raise CheckpointError(f"{folder / VOCABULARY} contains an n-gram twice. {COPY_AGAIN}")
        shapes = {
            "idf": (len(terms),),
            "weights": (len(classes), len(terms)),
            "intercepts": (len(classes),),
        }
        tensors = read_weights(folder / WEIGHTS, shapes, BASELINE)
        vectorizer = _vectorizer(vocabulary=terms)
        vectorizer.idf_ = tensors["idf"].numpy().astype(np.float64)
        weights, intercepts = tensors["weights"].numpy(), tensors["intercepts"].numpy()
        return cls(classes, vectorizer, weights, intercepts, factor)


def fit_linear(
    classes: NDArray[Any],
    training: tuple[Iterable[str], NDArray[np.integer[Any]]],
    held_out: tuple[Sequence[str], NDArray[np.integer[Any]]],
    seed: int,
    say: Callable[[str], None],
) -> LinearBaseline:
    """Fits an SVM for each of STRENGTHS; returns the one with the best validation accuracy.

    With several labels per text, it is a binary SVM per class, and macro F1 decides.

    Args:
        classes: (J,), names of the classes.
        training: Texts, which are read once as a stream, and their class numbers (texts,); with
            several labels per text, whether a text has a class (texts, J).
        held_out: The same of validation texts.
        seed: Seed of the solver.
        say: Called with a log line per strength.

    Raises:
        DataError: The training texts have no word of two letters.
    """
    vectorizer = _vectorizer(max_features=MAX_TERMS)
    texts, labels = training
    try:
        features = vectorizer.fit_transform(texts)
    except ValueError as error:
        raise DataError(f"The texts have no words that can be counted ({error}).") from error
    # Rounded as they are stored, so that the loaded baseline gives the same scores.
    vectorizer.idf_ = vectorizer.idf_.astype(np.float32).astype(np.float64)
    validation_features, validation_labels = vectorizer.transform(held_out[0]), held_out[1]
    best: LinearBaseline | None = None
    if labels.ndim == 2:
        validation = validation_features, validation_labels
        return _fit_several(classes, vectorizer, (features, labels), validation, seed, say)
    for strength in STRENGTHS:
        svm = LinearSVC(C=strength, random_state=seed).fit(features, labels)
        weights, intercepts = _parameters(svm)
        scores = _scores(validation_features, weights, intercepts)
        accuracy = float((scores.argmax(1) == validation_labels).mean())
        say(f"C {strength:g}: validation accuracy {accuracy:.2%}")
        if best is None or accuracy > best.metrics_["validation_accuracy"]:
            factor = fit_inverse_temperature(
                torch.from_numpy(scores), validation_labels.astype(np.int64)
            )
            best = LinearBaseline(classes, vectorizer, weights, intercepts, factor)
            best.metrics_ = {"strength": strength, "validation_accuracy": accuracy}
    assert best is not None
    return best


def _fit_several(
    classes: NDArray[Any],
    vectorizer: TfidfVectorizer,
    training: tuple[Any, NDArray[Any]],
    held_out: tuple[Any, NDArray[Any]],
    seed: int,
    say: Callable[[str], None],
) -> LinearBaseline:
    """`fit_linear` with several labels per text, from features and labels (texts, J)."""
    best, best_f1 = None, -1.0
    for strength in STRENGTHS:
        pairs = [_binary_svm(training[0], column, strength, seed) for column in training[1].T]
        weights, intercepts = (
            np.stack(part).astype(np.float32) for part in zip(*pairs, strict=True)
        )
        scores = _scores(held_out[0], weights, intercepts)
        fitted = fit_label_thresholds(scores, held_out[1])
        say(f"C {strength:g}: validation macro F1 {fitted.macro_f1:.2%}")
        if fitted.macro_f1 > best_f1:
            best, best_f1 = (
                LinearBaseline(classes, vectorizer, weights, intercepts, 1.0),
                fitted.macro_f1,
            )
            best.label_thresholds = fitted.thresholds
            best.metrics_ = {"strength": strength, **fitted.metrics()}
    assert best is not None
    return best


def _binary_svm(
    features: Any, has_class: NDArray[Any], strength: float, seed: int
) -> tuple[NDArray[np.float64], float]:
    """Weights (terms,) and intercept; no weights for a class that all texts have, or none."""
    if has_class.all() or not has_class.any():
        return np.zeros(features.shape[1]), 1.0 if has_class.all() else -1.0
    svm = LinearSVC(C=strength, random_state=seed).fit(features, has_class)
    return svm.coef_[0], float(svm.intercept_[0])


def _vectorizer(**options: Any) -> TfidfVectorizer:
    return TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, dtype=np.float32, **options)


def _scores(features: Any, weights: Any, intercepts: Any) -> NDArray[np.float64]:
    return np.asarray(features @ weights.T + intercepts, dtype=np.float64)


def _parameters(svm: LinearSVC) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Weights (J, terms) and intercepts (J,); for two classes scikit-learn has only the second."""
    weights, intercepts = svm.coef_, svm.intercept_
    if len(weights) == 1:
        weights = np.vstack([-weights, weights])
        intercepts = np.concatenate([-intercepts, intercepts])
    return weights.astype(np.float32), intercepts.astype(np.float32)

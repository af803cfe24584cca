"""What several classifiers say of the same labelled texts, and how fast."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import confusion_matrix

from icaps.baselines.base import Baseline
from icaps.baselines.folder import load_baseline
from icaps.classifier import ICapsClassifier
from icaps.data.records import class_numbers
from icaps.errors import DataError
from icaps.evaluate.scorer import Scorer
from icaps.train.checkpoint_files import BASELINE

_WARMING = 64  # texts that are read before the time is taken


@dataclass(frozen=True)
class Texts:
    """Labelled texts: labels (texts,), numbers of `classes`, which all that are compared know."""

    texts: tuple[str, ...]
    labels: NDArray[np.int64]
    classes: tuple[str, ...]


@dataclass(frozen=True)
class Answers:
    """One classifier's answers to labelled texts.

    Attributes:
        name: Of the classifier.
        classes: Names, in the order of those of `Texts`.
        labels: (texts,), the numbers of the true classes.
        probabilities: (texts, J).
        seconds: That it took for all, on this machine.
    """

    name: str
    classes: tuple[str, ...]
    labels: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    seconds: float

    @cached_property
    def predicted(self) -> NDArray[np.int64]:
        """The number of the most probable class (texts,)."""
        return np.asarray(self.probabilities.argmax(1))

    @cached_property
    def correct(self) -> NDArray[np.bool_]:
        """Whether each prediction is right (texts,)."""
        return np.asarray(self.predicted == self.labels)

    @property
    def confusion(self) -> NDArray[np.int64]:
        """Texts by true class (rows) and predicted class, (J, J)."""
        numbers = range(len(self.classes))
        return np.asarray(confusion_matrix(self.labels, self.predicted, labels=numbers))

    @property
    def texts_per_second(self) -> float:
        """How fast it was."""
        return len(self.labels) / self.seconds


def load_scorer(folder: str | Path) -> Scorer:
    """The classifier of a folder on the CPU, whatever its kind.

    Raises:
        CheckpointError: The folder is no model's, or is damaged.
        ConfigError: A library that it needs is missing.
    """
    if (Path(folder) / BASELINE).is_file():
        return load_baseline(folder)
    return ICapsClassifier.load(folder, device="cpu")


def read_texts(
    labelled: Iterable[tuple[str, str]],
    classes: Sequence[str],
    limit: int | None = None,
    seed: int = 0,
) -> Texts:
    """All texts, or `limit` of them drawn at random, in their order.

    Raises:
        DataError: There is none, or a label is none of the classes.
    """
    drawn, kept = random.Random(seed), list[tuple[str, str]]()
    numbers: list[int] = []
    for number, pair in enumerate(labelled):
        if limit is None or number < limit:
            numbers.append(number)
            kept.append(pair)
        elif (place := drawn.randrange(number + 1)) < limit:  # each as likely (Vitter 1985, R)
            numbers[place], kept[place] = number, pair
    kept = [pair for _, pair in sorted(zip(numbers, kept, strict=True))]
    if not kept:
        raise DataError("There are no texts to compare on.")
    labels = class_numbers((label for _, label in kept), classes)
    return Texts(tuple(text for text, _ in kept), labels, tuple(classes))


def ask(name: str, scorer: Scorer, asked: Texts) -> Answers:
    """The answers of a classifier of the same classes, in whatever order it has them.

    Raises:
        DataError: It has other classes.
    """
    names = [str(label) for label in scorer.classes_]
    if set(names) != set(asked.classes):
        raise DataError(
            f"{name} has the classes {', '.join(names)}, and not {', '.join(asked.classes)}; "
            "compare models of the same classes."
        )
    scorer.predict_proba(asked.texts[:_WARMING])
    started = time.perf_counter()
    probabilities = scorer.predict_proba(asked.texts)
    seconds = time.perf_counter() - started
    columns = [names.index(label) for label in asked.classes]
    return Answers(name, asked.classes, asked.labels, probabilities[:, columns], seconds)


def num_weights(scorer: Scorer) -> int:
    """How many numbers a classifier holds, those of frozen word vectors among them."""
    if isinstance(scorer, Baseline):
        return scorer.num_weights
    assert isinstance(scorer, ICapsClassifier)
    weights: dict[str, Any] = scorer.network_.state_dict()
    return sum(value.numel() for value in weights.values())


def bytes_on_disk(folder: str | Path) -> int:
    """Size of all files of a folder."""
    return sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())

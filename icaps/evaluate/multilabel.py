"""Predictions of several labels per text ("multilabel"), in one streamed pass."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from icaps.classifier import ICapsClassifier
from icaps.data.label_sets import indicator
from icaps.errors import DataError
from icaps.evaluate.predictions import (
    CHUNK,
    Scorer,
    append_columns,
    gather,
    mapped,
    word_counts,
)
from icaps.nn import distributed

_LABELS, _PROBABILITIES, _BLANK = "label_sets.bin", "probabilities.bin", "blank.bin"
_BLOCK = 1_000_000  # pairs of a text and a class in memory at a time


class ClassCounts(NamedTuple):
    """Texts by class, (J,) each: with the label, with the prediction, and with both."""

    labels: NDArray[np.int64]
    predicted: NDArray[np.int64]
    hits: NDArray[np.int64]


@dataclass(frozen=True)
class MultilabelPredictions:
    """What a classifier predicts for texts that have any number of labels.

    The arrays may be mapped from files: they are read in blocks.

    Attributes:
        classes: The classifier's classes, by number.
        labels: (texts, J), whether the text has the class.
        probabilities: (texts, J), of the text having the class; a row need not add up to 1.
        thresholds: (J,), the least probability with which a class is predicted.
        blank: (texts,), whether a capsule network knows none of the words, so that no class is
            predicted; None if no text is blank.
        other_labels: (texts,), number of labels that are none of the classes, so that they are
            missed; None if there are none.
    """

    classes: tuple[str, ...]
    labels: NDArray[np.bool_]
    probabilities: NDArray[np.floating[Any]]
    thresholds: NDArray[np.floating[Any]]
    blank: NDArray[np.bool_] | None = None
    other_labels: NDArray[np.integer[Any]] | None = None

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def predicted(self) -> NDArray[np.bool_]:
        """Whether each class is predicted, (texts, J)."""
        return self.predicted_of(slice(None))

    def predicted_of(self, rows: slice | NDArray[np.int64]) -> NDArray[np.bool_]:
        """The predictions for some texts, (n, J)."""
        reached = np.asarray(self.probabilities[rows] >= self.thresholds)
        return reached if self.blank is None else reached & ~self.blank[rows][:, None]

    def blocks(self) -> Iterator[tuple[slice, NDArray[np.bool_], NDArray[np.bool_]]]:
        """The texts in blocks: their numbers, labels (n, J) and predictions (n, J)."""
        size = max(1, _BLOCK // len(self.classes))
        for start in range(0, len(self), size):
            rows = slice(start, start + size)
            yield rows, np.asarray(self.labels[rows]), self.predicted_of(rows)

    @cached_property
    def counts(self) -> ClassCounts:
        """The texts by class."""
        total = np.zeros((3, len(self.classes)), np.int64)
        for _, labels, predicted in self.blocks():
            total += [labels.sum(0), predicted.sum(0), (labels & predicted).sum(0)]
        return ClassCounts(*total)

    @cached_property
    def wrong(self) -> NDArray[np.int32]:
        """The number of missed and extra classes of each text, (texts,)."""
        wrong = np.zeros(len(self), np.int32)
        for rows, labels, predicted in self.blocks():
            wrong[rows] = (labels != predicted).sum(1)
        if self.other_labels is not None:
            wrong += self.other_labels.astype(np.int32)
        return wrong

    @cached_property
    def correct(self) -> NDArray[np.bool_]:
        """Whether each text's predicted classes are its labels, all of them, (texts,)."""
        return np.asarray(self.wrong == 0)

    @cached_property
    def confidence(self) -> NDArray[np.float64]:
        """The probability that exactly the predicted classes are a text's labels, (texts,).

        It is the product over the classes, as if they were independent of each other.
        """
        confidence = np.zeros(len(self))
        for rows, _, predicted in self.blocks():
            chances = np.asarray(self.probabilities[rows], dtype=float)
            confidence[rows] = np.where(predicted, chances, 1 - chances).prod(1)
        return confidence

    @cached_property
    def errors(self) -> NDArray[np.int64]:
        """The numbers of the texts with a missed or extra class, the most of these first.

        Of equally many, first the texts whose probabilities of these classes are farthest from the
        thresholds.
        """
        rows = np.flatnonzero(self.wrong)
        distance = np.zeros(len(rows))
        size = max(1, _BLOCK // len(self.classes))
        for start in range(0, len(rows), size):
            part = rows[start : start + size]
            wrong = self.predicted_of(part) != self.labels[part]
            gaps = np.abs(self.probabilities[part] - self.thresholds)
            distance[start : start + size] = (gaps * wrong).sum(1)
        return np.asarray(rows[np.lexsort((-distance, -self.wrong[rows]))])

    def missed(self, number: int) -> NDArray[np.int64]:
        """The texts that have this class without being predicted it, the least probable first."""
        return self._rows(number, label=True)

    def extra(self, number: int) -> NDArray[np.int64]:
        """The texts that are predicted this class without having it, the most probable first."""
        return self._rows(number, label=False)

    def swapped(self, missed: int, extra: int) -> NDArray[np.int64]:
        """The texts that miss one class and are predicted another that they lack."""
        rows = self.missed(missed)
        return rows[np.isin(rows, self.extra(extra))]

    @cached_property
    def swaps(self) -> NDArray[np.int64]:
        """Texts by missed class (rows) and extra class (columns), (J, J); some count often."""
        total = np.zeros((len(self.classes),) * 2)
        for _, labels, predicted in self.blocks():
            missed, extra = labels & ~predicted, predicted & ~labels
            total += missed.T.astype(np.float32) @ extra.astype(np.float32)
        return total.astype(np.int64)

    def with_labels(self, places: Sequence[int], names: Sequence[str]) -> MultilabelPredictions:
        """The same predictions with other labels for the texts at some places.

        Args:
            places: Numbers of texts.
            names: Their labels, as `data.label_sets` writes them.

        Raises:
            DataError: A label is none of the classes.
        """
        labels = np.array(self.labels)
        labels[list(places)] = indicator(names, self.classes)
        return replace(self, labels=labels)

    def ordered(self, classes: Sequence[str]) -> MultilabelPredictions:
        """The same predictions with the same classes in another order."""
        if tuple(classes) == self.classes:
            return self
        order = [self.classes.index(name) for name in classes]
        columns = self.labels[:, order], self.probabilities[:, order], self.thresholds[order]
        return MultilabelPredictions(tuple(classes), *columns, self.blank, self.other_labels)

    def names(self, row: NDArray[np.bool_]) -> list[str]:
        """The names of the classes in a row (J,)."""
        return [self.classes[number] for number in np.flatnonzero(row).tolist()]

    def _rows(self, number: int, label: bool) -> NDArray[np.int64]:
        """The texts that are wrong in a class, the farthest from its threshold first."""
        values = np.asarray(self.probabilities[:, number])
        predicted = values >= self.thresholds[number]
        if self.blank is not None:
            predicted &= ~self.blank
        rows = np.flatnonzero((self.labels[:, number] == label) & (predicted != label))
        order = np.argsort(values[rows] if label else -values[rows], kind="stable")
        return np.asarray(rows[order])


class PredictedSets(NamedTuple):
    """A chunk of a stream: texts, and as in `MultilabelPredictions` what is known of each.

    `words` and `unknown` are as in `predictions.PredictedChunk`.
    """

    texts: list[str]
    labels: NDArray[np.bool_]
    probabilities: NDArray[np.float64]
    blank: NDArray[np.bool_]
    words: NDArray[np.int32] | None
    unknown: NDArray[np.float32] | None


def predict_sets(
    classifier: Scorer, labelled: Iterable[tuple[str, str]], *, count_words: bool = False
) -> Iterator[PredictedSets]:
    """Predicts a stream of texts with several labels, some hundred at a time.

    Under `torchrun` each process predicts its share of the texts, and each gets all results.

    Args:
        classifier: A fitted classifier of several labels per text.
        labelled: Texts with their labels as `data.label_sets` writes them, or with one class name,
            read once.
        count_words: Whether to count words and unknown words; for a capsule network only.

    Raises:
        DataError: A label is none of the classifier's classes.
    """
    classes = [str(name) for name in classifier.classes_]
    stream = iter(labelled)
    while chunk := list(islice(stream, CHUNK)):
        texts = [text for text, _ in chunk]
        labels = indicator([label for _, label in chunk], classes)
        share = texts[distributed.share()]
        counts = None
        if isinstance(classifier, ICapsClassifier):
            own = torch.from_numpy(classifier.class_norms(share))
            norms = gather(own, len(texts)).numpy()
            probabilities, blank = classifier.calibrated(norms), (norms == 0).all(1)
            if count_words:
                counts = gather(word_counts(classifier, share), len(texts)).numpy()
        else:
            own = torch.from_numpy(classifier.predict_proba(share))
            probabilities = gather(own, len(texts)).numpy()
            blank = np.zeros(len(texts), dtype=bool)
        words, unknown = (None, None) if counts is None else counts.T
        if words is not None:
            words = words.astype(np.int32)
        yield PredictedSets(texts, labels, probabilities, blank, words, unknown)


def write_sets(
    chunks: Iterable[PredictedSets],
    folder: Path,
    on_chunk: Callable[[list[str]], None] = lambda _: None,
) -> int:
    """Writes the predictions of `predict_sets` to a folder, in memory of one chunk.

    Args:
        chunks: The chunks.
        folder: An existing folder.
        on_chunk: Called with the texts of each chunk that was written.

    Returns:
        The number of texts.
    """
    count = 0
    for chunk in chunks:
        columns = {
            _LABELS: chunk.labels,
            _PROBABILITIES: chunk.probabilities,
            _BLANK: chunk.blank,
        }
        append_columns(folder, columns, chunk.words, chunk.unknown)
        count += len(chunk.texts)
        on_chunk(chunk.texts)
    return count


def read_sets(
    folder: Path, classes: Sequence[str], thresholds: NDArray[np.float64]
) -> MultilabelPredictions:
    """The predictions that `write_sets` wrote, mapped from their files.

    Args:
        folder: The folder of the files.
        classes, thresholds: Those of the classifier, (J,) each.

    Raises:
        OSError, ValueError: A file is missing or damaged.
    """
    labels = mapped(folder / _LABELS, np.bool_).reshape(-1, len(classes))
    probabilities = mapped(folder / _PROBABILITIES, np.float64).reshape(-1, len(classes))
    blank = mapped(folder / _BLANK, np.bool_)
    if not len(labels) == len(probabilities) == len(blank):
        raise ValueError("its columns are not of one length")
    return MultilabelPredictions(tuple(classes), labels, probabilities, thresholds, blank)


@contextmanager
def predicted_stream(
    classifier: Scorer, labelled: Iterable[tuple[str, str]]
) -> Iterator[MultilabelPredictions]:
    """The predictions for a stream of texts, in files that are deleted afterwards.

    Raises:
        DataError: There are no texts, or a label is none of the classifier's classes.
    """
    thresholds = classifier.thresholds_
    assert thresholds is not None, "the classifier gives a text one label"
    classes = [str(name) for name in classifier.classes_]
    with tempfile.TemporaryDirectory() as scratch:
        if not write_sets(predict_sets(classifier, labelled), Path(scratch)):
            raise DataError("There are no texts to score.")
        yield read_sets(Path(scratch), classes, thresholds)

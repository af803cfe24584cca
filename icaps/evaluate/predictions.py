"""Predictions for labelled texts, in one streamed pass, by any kind of classifier."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.metrics import confusion_matrix

from icaps.baselines.storage import load_baseline
from icaps.classifier import ICapsClassifier
from icaps.data.class_names import class_numbers
from icaps.data.label_sets import label_set
from icaps.errors import DataError
from icaps.nn import distributed
from icaps.train.checkpoint_files import BASELINE

UNKNOWN_CLASS = -1  # the label of a text whose class the classifier lacks
_LABELS, _SCORES = "labels.bin", "scores.bin"
_WORDS, _UNKNOWN = "words.bin", "unknown.bin"
CHUNK = 500  # texts that are predicted between two reports of progress
_ROWS = 65_536  # texts whose probabilities are in memory at a time


class Scorer(Protocol):
    """A trained classifier of texts: an `ICapsClassifier`, or a baseline.

    `classes_` (J,) are its classes in the order of its probabilities. With several labels per text
    `thresholds_` (J,) are the probabilities from which a text has each class; else it is None.
    """

    classes_: NDArray[Any]

    @property
    def multilabel_(self) -> bool:
        """Whether a text may have several labels."""

    @property
    def thresholds_(self) -> NDArray[np.float64] | None:
        """See above."""

    def predict_proba(self, X: Sequence[str]) -> NDArray[Any]:  # noqa: N803
        """Probabilities (texts, J), which add up to 1 for each text that has one label."""

    def predict(self, X: Sequence[str]) -> NDArray[Any]:  # noqa: N803
        """The classes (texts,), or whether a text has each of several labels (texts, J)."""


@dataclass(frozen=True)
class Predictions:
    """The predictions of a classifier for labelled texts.

    Attributes:
        classes: The classifier's classes, by number.
        labels: (texts,), numbers of the true classes; UNKNOWN_CLASS if the classifier lacks it.
        scores: (texts, J), in the order of `classes`: norms of the class capsules, 0 for a text
            without a known word; of a baseline log probabilities.
        inverse_temperature: The factor of the scores before the softmax that makes them
            probabilities.
    """

    classes: tuple[str, ...]
    labels: NDArray[np.integer[Any]]
    scores: NDArray[np.floating[Any]]
    inverse_temperature: float = 1.0

    @cached_property
    def predicted(self) -> NDArray[np.int64]:
        """The number of the class with the largest score (texts,); 0 for a blank text."""
        return np.asarray(self.scores.argmax(1))

    @cached_property
    def probabilities(self) -> NDArray[np.float64]:
        """Calibrated probabilities (texts, J), as `predict_proba` returns them."""
        return self.probabilities_of(slice(None))

    def probabilities_of(self, rows: slice | NDArray[np.int64]) -> NDArray[np.float64]:
        """The probabilities of some texts, (n, J)."""
        return np.asarray(softmax(self.scores[rows].astype(float) * self.inverse_temperature, 1))

    @cached_property
    def confidence(self) -> NDArray[np.float64]:
        """The probability of each text's predicted class, (texts,)."""
        parts = [self.probabilities_of(rows).max(1) for rows in self._parts()]
        return np.concatenate([np.zeros(0), *parts])

    @cached_property
    def label_probability(self) -> NDArray[np.float64]:
        """The probability of each text's label, (texts,); NaN if the classifier lacks its class."""
        probability = np.full(len(self.labels), np.nan)
        for rows in self._parts():
            labels = np.asarray(self.labels[rows])
            known = np.flatnonzero(labels != UNKNOWN_CLASS)
            probability[rows][known] = self.probabilities_of(rows)[known, labels[known]]
        return probability

    @cached_property
    def correct(self) -> NDArray[np.bool_]:
        """Whether each text's prediction is its label, (texts,)."""
        return np.asarray(self.predicted == self.labels)

    @cached_property
    def blank(self) -> NDArray[np.bool_]:
        """Whether a capsule network knows none of a text's words, (texts,)."""
        return np.asarray(~self.scores.any(1))

    @cached_property
    def confusion(self) -> NDArray[np.int64]:
        """Texts by true class (rows) and predicted class, (J, J)."""
        numbers = range(len(self.classes))
        return np.asarray(confusion_matrix(self.labels, self.predicted, labels=numbers))

    @cached_property
    def errors(self) -> NDArray[np.int64]:
        """The numbers of the texts that are predicted wrong, the most confident error first."""
        return self.by_confidence(~self.correct)

    def with_labels(self, places: Sequence[int], names: Sequence[str]) -> Predictions:
        """The same predictions with other labels for the texts at some places.

        Raises:
            DataError: A label is none of the classes.
        """
        labels = np.array(self.labels)
        labels[list(places)] = class_numbers(names, self.classes)
        return replace(self, labels=labels)

    def cell(self, true: int, predicted: int) -> NDArray[np.int64]:
        """The numbers of the texts of a cell of the confusion matrix, the most confident first."""
        return self.by_confidence((self.labels == true) & (self.predicted == predicted))

    def by_confidence(self, mask: NDArray[np.bool_]) -> NDArray[np.int64]:
        """The numbers of the texts of a mask (texts,), by falling confidence, then by number."""
        rows = np.flatnonzero(mask)
        return np.asarray(rows[np.argsort(-self.confidence[rows], kind="stable")])

    def _parts(self) -> Iterator[slice]:
        return (slice(start, start + _ROWS) for start in range(0, len(self.labels), _ROWS))


class PredictedChunk(NamedTuple):
    """A chunk of a stream: texts, labels (texts,) and scores (texts, J); see `Predictions`.

    `words` (texts,) is the number of words of each whole text, and `unknown` (texts,) the share of
    them that the vocabulary lacks, 0 without words; both are None if they were not counted.
    """

    texts: list[str]
    labels: NDArray[np.int32]
    scores: NDArray[np.floating[Any]]
    words: NDArray[np.int32] | None
    unknown: NDArray[np.float32] | None


def predict_chunks(
    classifier: Scorer,
    labelled: Iterable[tuple[str, str]],
    *,
    count_words: bool = False,
    unknown_classes: bool = False,
) -> Iterator[PredictedChunk]:
    """Predicts a stream of labelled texts, some hundred at a time.

    Under `torchrun` each process predicts its share of the texts, and each gets all results.

    Args:
        classifier: A fitted classifier.
        labelled: Texts with the names of their classes, read once.
        count_words: Whether to count words and unknown words; for a capsule network only.
        unknown_classes: Whether labels may be classes that the classifier lacks.

    Raises:
        DataError: A label is none of the classifier's classes, and `unknown_classes` is False; or
            the classifier or the texts have several labels per text (see `multilabel`).
    """
    if classifier.multilabel_:
        raise DataError(
            "The model gives a text several labels, and this needs one label per text: use a model "
            "that was trained on data with one label per text."
        )
    classes = [str(name) for name in classifier.classes_]
    numbers = {name: number for number, name in enumerate(classes)}
    stream = iter(labelled)
    while chunk := list(islice(stream, CHUNK)):
        texts, names = [text for text, _ in chunk], [name for _, name in chunk]
        check_one_label(names[0], classes)
        if unknown_classes:
            labels = np.array([numbers.get(name, UNKNOWN_CLASS) for name in names], np.int32)
        else:
            labels = class_numbers(names, classes).astype(np.int32)
        share = distributed.share()
        scores = torch.from_numpy(_scores(classifier, texts[share]))
        counts = word_counts(classifier, texts[share]) if count_words else None
        scores = gather(scores, len(texts))
        counts = None if counts is None else gather(counts, len(texts))
        if counts is None:
            yield PredictedChunk(texts, labels, scores.numpy(), None, None)
        else:
            words, unknown = counts.T.numpy()
            yield PredictedChunk(texts, labels, scores.numpy(), words.astype(np.int32), unknown)


def check_one_label(label: str, classes: Sequence[str]) -> None:
    """Checks that a label is not a set of labels, for classifiers that give a text one.

    Raises:
        DataError: It is one.
    """
    if label not in classes and label_set(label) is not None:
        raise DataError(
            "The data has several labels per text, and the model gives a text one: use a model "
            "that was trained on such data."
        )


def predict_stream(classifier: Scorer, labelled: Iterable[tuple[str, str]]) -> Predictions:
    """The predictions of a stream of labelled texts; see `predict_chunks`.

    Raises:
        DataError: There are no texts, or a label is none of the classifier's classes.
    """
    chunks = [(chunk.labels, chunk.scores) for chunk in predict_chunks(classifier, labelled)]
    if not chunks:
        raise DataError("There are no texts to score.")
    labels, scores = map(np.concatenate, zip(*chunks, strict=True))
    classes = tuple(str(name) for name in classifier.classes_)
    return Predictions(classes, labels, scores, _inverse_temperature(classifier))


def write_predictions(
    chunks: Iterable[PredictedChunk],
    folder: Path,
    on_chunk: Callable[[list[str]], None] = lambda _: None,
) -> int:
    """Writes the predictions of `predict_chunks` to a folder, in memory of one chunk.

    Args:
        chunks: The chunks, by a capsule network.
        folder: An existing folder.
        on_chunk: Called with the texts of each chunk that was written.

    Returns:
        The number of texts.
    """
    count = 0
    for chunk in chunks:
        columns = {_LABELS: chunk.labels, _SCORES: chunk.scores}
        append_columns(folder, columns, chunk.words, chunk.unknown)
        count += len(chunk.texts)
        on_chunk(chunk.texts)
    return count


def append_columns(
    folder: Path,
    columns: Mapping[str, NDArray[Any]],
    words: NDArray[np.int32] | None,
    unknown: NDArray[np.float32] | None,
) -> None:
    """Appends columns to their files in a folder, with the counts of words if there are any."""
    if words is not None and unknown is not None:
        columns = {**columns, _WORDS: words, _UNKNOWN: unknown}
    for name, values in columns.items():
        with (folder / name).open("ab") as file:
            values.tofile(file)


def read_predictions(
    folder: Path, classes: Sequence[str], inverse_temperature: float
) -> Predictions:
    """The predictions that `write_predictions` wrote, mapped from their files.

    Args:
        folder: The folder of the files.
        classes: The classes of the classifier.
        inverse_temperature: That of the classifier.

    Raises:
        OSError, ValueError: A file is missing or damaged.
    """
    labels = mapped(folder / _LABELS, np.int32)
    scores = mapped(folder / _SCORES, np.float32).reshape(-1, len(classes))
    if len(labels) != len(scores):
        raise ValueError("its columns are not of one length")
    return Predictions(tuple(classes), labels, scores, inverse_temperature)


def read_word_counts(
    folder: Path, count: int
) -> tuple[NDArray[np.integer[Any]], NDArray[np.floating[Any]]]:
    """The number of words, and the share of unknown ones, of the texts of `write_predictions`.

    Raises:
        OSError, ValueError: A file is missing or damaged, or is not of `count` texts.
    """
    words, unknown = mapped(folder / _WORDS, np.int32), mapped(folder / _UNKNOWN, np.float32)
    if not len(words) == len(unknown) == count:
        raise ValueError("its columns are not of one length")
    return words, unknown


def score_texts(classifier: Scorer, texts: Sequence[str]) -> tuple[NDArray[Any], float]:
    """The scores of texts (texts, J) and the inverse temperature; see `Predictions`."""
    return _scores(classifier, texts), _inverse_temperature(classifier)


def load_scorer(folder: str | Path) -> Scorer:
    """Loads the classifier of a folder, a capsule network or a baseline, on the CPU.

    Raises:
        CheckpointError: The folder has no model, or is damaged.
        ConfigError: A library that it needs is missing.
    """
    if (Path(folder) / BASELINE).is_file():
        return load_baseline(folder)
    return ICapsClassifier.load(folder, device="cpu")


def _scores(classifier: Scorer, texts: Sequence[str]) -> NDArray[np.floating[Any]]:
    """The scores of `Predictions`, (texts, J)."""
    if isinstance(classifier, ICapsClassifier):
        return classifier.class_norms(texts).astype(np.float32)  # as they are in the network
    if not texts:  # a process without a share
        return np.zeros((0, len(classifier.classes_)))
    with np.errstate(divide="ignore"):  # log of a probability of 0
        return np.asarray(np.log(classifier.predict_proba(texts)))


def _inverse_temperature(classifier: Scorer) -> float:
    if isinstance(classifier, ICapsClassifier):
        return float(classifier.inverse_temperature_)
    return 1.0  # the scores are log probabilities


def word_counts(classifier: Scorer, texts: Sequence[str]) -> torch.Tensor:
    """The number of words of each text, and the share of unknown ones, (texts, 2)."""
    assert isinstance(classifier, ICapsClassifier)
    tokens = classifier.vocabulary_.encode(list(texts), spans=False)
    counts = tokens.words_per_text, tokens.known_per_text
    words, known = (torch.from_numpy(count).float() for count in counts)
    return torch.stack([words, (words - known) / words.clamp(min=1)], dim=1)


def gather(values: torch.Tensor, count: int) -> torch.Tensor:
    """The rows of all processes of `torchrun` (count, columns), from the rows of this one."""
    if distributed.world_size() == 1:
        return values
    rows = torch.zeros(count, values.shape[1], dtype=values.dtype)
    rows[distributed.share()] = values
    return distributed.all_reduce(rows)


def mapped(path: Path, dtype: type[np.generic]) -> NDArray[Any]:
    """A column that `append_columns` wrote, mapped from its file."""
    if not path.stat().st_size:  # an empty file cannot be mapped
        return np.zeros(0, dtype)
    return np.memmap(path, dtype, "r")

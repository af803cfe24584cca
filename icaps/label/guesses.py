"""A model's guesses for texts without a label; the surest can be accepted as labels.

They are marked as given by the model, so that exports and other people can tell.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from icaps.data.label_file import MODEL
from icaps.data.label_sets import names_in
from icaps.data.text_file import TextFile
from icaps.evaluate.multilabel import MultilabelPredictions, predict_sets
from icaps.evaluate.predictions import Predictions, Scorer, score_texts
from icaps.explore.predicted_rows import RowPredictions, predicted_labels
from icaps.label.log import Labelled
from icaps.results import Interval
from icaps.stats import wilson

MOST = 50_000  # guesses that are accepted at a time
_BATCH = 1_000  # texts in memory at a time


def by_model(name: str) -> str:
    """Who gave a label that was accepted from a model: "model NAME"."""
    return f"{MODEL} {name}"


def is_by_model(by: str) -> bool:
    """Whether a label was given by a model."""
    return by == MODEL or by.startswith(by_model(""))


@dataclass(frozen=True)
class Guesses:
    """What a model predicts for texts, the surest first.

    Attributes:
        ids: (n,), numbers of the texts.
        labels: (n,), the predicted class of each, or set of classes (`data.label_sets`).
        probabilities: (n,), that the label is right; of several classes that all are, and no
            others.
    """

    ids: NDArray[np.int64]
    labels: NDArray[np.object_]
    probabilities: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.ids)

    def only(self, mask: NDArray[np.bool_]) -> Guesses:
        """Those of a mask (n,)."""
        return Guesses(self.ids[mask], self.labels[mask], self.probabilities[mask])

    def from_probability(self, least: float) -> Guesses:
        """Those with a probability of `least` or more, at most MOST."""
        mask = self.probabilities >= least
        mask[MOST:] = False
        return self.only(mask)

    def sample(self, count: int) -> Guesses:
        """A random sample, the surest first; always the same."""
        mask = np.zeros(len(self), dtype=bool)
        mask[np.random.default_rng(0).permutation(len(self))[:count]] = True
        return self.only(mask)

    def by_class(self) -> dict[str, int]:
        """The number of texts that get each class, the most frequent first."""
        counts = Counter(name for label in self.labels.tolist() for name in names_in(label))
        return dict(counts.most_common())


class Checked(NamedTuple):
    """A model's guesses for texts whose label people gave, and whether each is right (n,)."""

    guesses: Guesses
    right: NDArray[np.bool_]

    def accuracy(self, least: float) -> Interval:
        """The share that is right of the guesses with a probability of `least` or more."""
        mask = self.guesses.probabilities >= least
        return wilson(int(self.right[mask].sum()), int(mask.sum()))


class Accepted(NamedTuple):
    """Guesses that were accepted together.

    Attributes:
        batch: For `LabelTask.undo`.
        by: Who gave them, see `by_model`.
        time: When, as ISO 8601 in UTC.
        texts: Number of texts.
    """

    batch: str
    by: str
    time: str
    texts: int


def find_guesses(
    model: Scorer,
    texts: TextFile,
    ids: NDArray[np.int64],
    several: bool,
    on_texts: Callable[[int], None] = lambda _: None,
) -> Guesses:
    """Predicts texts; those of which the model knows no word are left out.

    So are, where a text has one class, those with none or several predicted ones.

    Args:
        model: A trained classifier.
        texts: All texts.
        ids: Numbers of those that are predicted.
        several: Whether a text may have several classes.
        on_texts: Called with the number of texts that were predicted since the last call.
    """
    labels: list[str] = []
    probabilities = [np.zeros(0)]
    for start in range(0, len(ids), _BATCH):
        batch = ids[start : start + _BATCH]
        predictions = _predict(model, texts.take(batch))
        labels += predicted_labels(predictions, np.arange(len(batch)))
        probabilities.append(predictions.confidence)
        on_texts(len(batch))
    fits = [bool(label) and (several or len(names_in(label)) == 1) for label in labels]
    chances = np.concatenate(probabilities)
    order = np.argsort(-chances, kind="stable")
    order = order[np.array(fits, dtype=bool)[order]]
    return Guesses(ids[order], np.array(labels, dtype=object)[order], chances[order])


def accepted_batches(entries: Iterable[Labelled]) -> list[Accepted]:
    """The batches of labels by models among entries of a log, the latest first."""
    first: dict[str, Labelled] = {}
    counts: Counter[str] = Counter()
    for entry in entries:
        if is_by_model(entry.by):
            first.setdefault(entry.batch, entry)
            counts[entry.batch] += 1
    batches = [Accepted(name, one.by, one.time, counts[name]) for name, one in first.items()]
    return batches[::-1]


def check_guesses(guesses: Guesses, labels: Mapping[int, Labelled]) -> Checked:
    """Compares guesses with the labels of the same texts, by id."""
    right = [
        set(names_in(label)) == set(labels[n].names)
        for n, label in zip(guesses.ids.tolist(), guesses.labels.tolist(), strict=True)
    ]
    return Checked(guesses, np.array(right, dtype=bool))


def _predict(model: Scorer, texts: list[str]) -> RowPredictions:
    """The predictions for texts, without labels."""
    classes = tuple(str(name) for name in model.classes_)
    if model.thresholds_ is None:
        scores, factor = score_texts(model, texts)
        return Predictions(classes, np.zeros(len(texts), np.int64), scores, factor)
    chunks = list(predict_sets(model, ((text, "[]") for text in texts)))
    return MultilabelPredictions(
        classes,
        np.zeros((len(texts), len(classes)), dtype=bool),
        np.concatenate([chunk.probabilities for chunk in chunks]),
        model.thresholds_,
        np.concatenate([chunk.blank for chunk in chunks]),
    )

"""Scores of a classifier on labelled texts, as plain data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.metrics import precision_recall_fscore_support

from icaps.data.records import class_numbers
from icaps.errors import DataError
from icaps.inference import CHUNK
from icaps.nn import distributed

if TYPE_CHECKING:
    from icaps.evaluate.scorer import Scorer


def evaluate(classifier: Scorer, labelled: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Counts and scores of the classifier's predictions; each process predicts its share.

    Args:
        classifier: Fitted.
        labelled: Texts with the names of their classes, read once, as a stream.

    Returns:
        n; accuracy; macro_f1, over all of the model's classes; per_class, an object from class to
        precision, recall, f1, support; confusion, (J, J) counts with true classes as rows, in the
        order of classes.

    Raises:
        DataError: There is no text, or a label is none of the model's classes.
    """
    classes = [str(name) for name in classifier.classes_]
    return scores_of(_count(classifier, labelled, classes), classes)


def scores_of(confusion: NDArray[np.number], classes: Sequence[str]) -> dict[str, Any]:
    """What `evaluate` gives, of a confusion matrix (J, J), whose counts may be fractions.

    Raises:
        DataError: There is no text.
    """
    texts = confusion.sum().item()
    if not texts:
        raise DataError("There are no texts to score.")
    true, predicted = np.indices(confusion.shape).reshape(2, -1)
    table = precision_recall_fscore_support(
        true,
        predicted,
        labels=range(len(classes)),
        sample_weight=confusion.ravel(),
        zero_division=0,
    )
    columns = (column.tolist() for column in (*table[:3], confusion.sum(1)))
    return {
        "n": texts,
        "accuracy": confusion.trace().item() / texts,
        "macro_f1": float(table[2].mean()),
        "per_class": {
            name: {"precision": precision, "recall": recall, "f1": f1, "support": support}
            for name, precision, recall, f1, support in zip(classes, *columns, strict=True)
        },
        "classes": list(classes),
        "confusion": confusion.tolist(),
    }


def _count(
    classifier: Scorer, labelled: Iterable[tuple[str, str]], classes: list[str]
) -> NDArray[np.int64]:
    """How often each class (row) was taken for each (column) by all processes together."""
    confusion = torch.zeros(len(classes), len(classes), dtype=torch.int64)
    stream, mine = iter(labelled), distributed.share()
    while chunk := list(islice(stream, CHUNK)):
        true = class_numbers((label for _, label in chunk), classes)[mine]
        predicted = classifier.predict([text for text, _ in chunk[mine]])
        for label, guess in zip(true, class_numbers(map(str, predicted), classes), strict=True):
            confusion[label, guess] += 1
    counts: NDArray[np.int64] = distributed.add_up(confusion).numpy()
    return counts
